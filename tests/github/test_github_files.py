from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError
from opsdebug_ci.github.outputs import encode_output, new_delimiter, write_outputs
from opsdebug_ci.github.summary import CUT_NOTICE, SUMMARY_LIMIT_BYTES, append_summary, fit_summary


def runner_reads(text: str) -> dict[str, str]:
    """Outputs as the runner parses the file: `name=value` lines and delimiter blocks."""
    outputs: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if match := re.fullmatch(r"([^=<]+)<<(.+)", line):
            body: list[str] = []
            for inner in lines:
                if inner == match[2]:
                    break
                body.append(inner)
            outputs[match[1]] = "\n".join(body)
        elif "=" in line:
            name, value = line.split("=", 1)
            outputs[name] = value
    return outputs


@pytest.mark.parametrize("value", ["fail", "x\nverdict=pass", "a<<b\nc\nb\nverdict=pass", "", "\n", "ü\n::error::x"])
def test_a_value_never_becomes_a_second_output(tmp_path: Path, value: str) -> None:
    path = tmp_path / "output"
    path.write_text("earlier=1\n", encoding="utf-8")
    write_outputs(path, {"verdict": value, "failures": "3"})
    assert runner_reads(path.read_text(encoding="utf-8")) == {"earlier": "1", "verdict": value, "failures": "3"}


def test_the_naive_form_would_be_fooled() -> None:
    assert runner_reads("name=x\nverdict=pass\n")["verdict"] == "pass"


def test_a_delimiter_inside_the_value_is_refused() -> None:
    with pytest.raises(InternalError, match="output `verdict` contains its delimiter"):
        encode_output("verdict", "one\nEND\ntwo", "END")


@pytest.mark.parametrize("name", ["", "Verdict", "a b", "a=b", "a\nb", "a<<b"])
def test_a_name_that_could_break_the_form_is_refused(name: str) -> None:
    with pytest.raises(InternalError, match="output name is"):
        encode_output(name, "x", "END")


def test_delimiters_are_not_guessable() -> None:
    assert len({new_delimiter() for _ in range(100)}) == 100
    assert re.fullmatch(r"opsdebug_[0-9a-f]{32}", new_delimiter())


def test_a_short_summary_is_left_alone() -> None:
    assert fit_summary("# Title\n\ntext ü\n") == "# Title\n\ntext ü\n"


@given(
    blocks=st.lists(
        st.sampled_from(["<details>\n<summary>x</summary>\n\n", "row ü €\n", "```\ncode\n```\n", "</details>\n"])
    ),
    limit=st.integers(0, 400),
)
def test_a_cut_summary_fits_and_leaves_nothing_open(blocks: list[str], limit: int) -> None:
    balanced = "".join(blocks) + "</details>\n" * max(0, blocks.count("<details>\n<summary>x</summary>\n\n"))
    fitted = fit_summary(balanced, limit)
    assert len(fitted.encode()) <= limit
    if fitted != balanced:
        assert fitted == "" or fitted.endswith(CUT_NOTICE)
        assert fitted.count("<details>") <= fitted.count("</details>")
        assert fitted.count("```") % 2 == 0


def test_a_cut_inside_a_code_block_closes_it() -> None:
    text = "<details>\n\n```text\n" + "line\n" * 1_000
    fitted = fit_summary(text, 500)
    assert fitted.endswith("line\n\n```\n\n</details>" + CUT_NOTICE)


def test_one_endless_line_is_cut_between_characters_and_tags() -> None:
    assert fit_summary("€" * 1_000, 300).startswith("€")
    assert "<deta" not in fit_summary("x" * 100 + "<details" * 100, 100 + 4 + len(CUT_NOTICE))


def test_the_file_never_exceeds_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    append_summary(path, "# First\n")
    append_summary(path, "<details>\n" + "| a | b |\n" * 600_000)
    append_summary(path, "# Third\n" * 1_000)
    data = path.read_bytes()
    assert len(data) <= SUMMARY_LIMIT_BYTES
    assert data.startswith(b"# First\n<details>\n")
    assert data.count(b"</details>") == 1
    data.decode()
