from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.github.workflow_commands import (
    Annotation,
    Level,
    escape_data,
    escape_property,
    render_annotation,
    render_annotations,
    repository_path,
    resume_commands,
    stop_commands,
)


def remark(level: Level = Level.ERROR, **fields: object) -> Annotation:
    return Annotation(level=level, **({"title": "gelu: tail_mask", "message": "3 elements wrong"} | fields))  # type: ignore[arg-type]


def decoded(line: str) -> tuple[str, dict[str, str], str]:
    """What the runner reads from a command line: its own rules, written anew."""
    match = re.fullmatch(r"::([a-z-]+) ([^:\r\n]*)::([^\r\n]*)", line)
    assert match, line

    def data(text: str) -> str:
        return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")

    def value(text: str) -> str:
        return data(text.replace("%3A", ":").replace("%2C", ","))

    fields = dict(field.split("=", 1) for field in match[2].split(","))
    return match[1], {name: value(text) for name, text in fields.items()}, data(match[3])


def test_a_whole_annotation() -> None:
    line = render_annotation(remark(file="kernels/gelu.py", line=12, title="gelu: a,b", message="100% wrong\nnext: x"))
    assert line == "::error file=kernels/gelu.py,line=12,title=gelu%3A a%2Cb::100%25 wrong%0Anext: x"


def test_escapes() -> None:
    assert escape_data("50%\r\n:,") == "50%25%0D%0A:,"
    assert escape_property("50%\r\n:,") == "50%25%0D%0A%3A%2C"


@given(title=st.text(min_size=1, max_size=40), message=st.text(max_size=80))
def test_no_text_makes_a_second_command(title: str, message: str) -> None:
    line = render_annotation(remark(title=title, message=message))
    assert len(line.splitlines()) == 1
    name, fields, _ = decoded(line)
    assert name == "error"
    assert list(fields) == ["title"]
    line.encode()


@given(title=st.text(alphabet="abc:,%= ", min_size=1, max_size=40).map(str.strip), message=st.text(alphabet="ab:%\r\n"))
def test_the_runner_reads_back_what_was_meant(title: str, message: str) -> None:
    _, fields, data = decoded(render_annotation(remark(title=title, message=message, file="src/a:b,c.py", line=1)))
    assert fields == {"file": "src/a:b,c.py", "line": "1", "title": " ".join(title.split())}
    assert data == message


@pytest.mark.parametrize("path", ["kernels/gelu.py", "a b/ü.py", "..name/x.py", "-x.py"])
def test_paths_inside_the_repository_are_kept(path: str) -> None:
    assert repository_path(path) == path


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x.py", "a/../../x.py", "C:\\a\\b.py", "C:/a/b.py", "a\\b.py", "a\nb.py", "a\u202eb"]
)
def test_other_paths_lose_their_location_not_their_remark(path: str) -> None:
    assert repository_path(path) is None
    assert render_annotation(remark(file=path, line=3)) == "::error title=gelu%3A tail_mask::3 elements wrong"


@pytest.mark.parametrize("line", [0, -1, None])
def test_an_impossible_line_is_dropped(line: int | None) -> None:
    assert render_annotation(remark(file="a.py", line=line)) == (
        "::error file=a.py,title=gelu%3A tail_mask::3 elements wrong"
    )


def test_long_names_and_messages_are_cut() -> None:
    _, fields, data = decoded(render_annotation(remark(title="x" * 100_000, message="y" * 300_000)))
    assert fields["title"] == "x" * 199 + "…"
    assert data == "y" * 3_999 + "…"


def test_ten_of_each_level_and_a_word_about_the_rest() -> None:
    lines = render_annotations([remark()] * 1_000 + [remark(Level.WARNING)] * 11)
    assert [line.split(" ", 1)[0] for line in lines] == ["::error"] * 10 + ["::warning"] * 10 + ["991"]
    assert lines[-1] == "991 more annotations are in the job summary only"
    assert len(render_annotations([remark()] * 10)) == 10


def test_stop_and_resume() -> None:
    assert (stop_commands("t0k3n"), resume_commands("t0k3n")) == ("::stop-commands::t0k3n", "::t0k3n::")
