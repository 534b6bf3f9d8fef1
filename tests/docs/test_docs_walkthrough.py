"""docs/walkthrough.md as a person follows it: its module, its configuration and its commands, in a fresh directory."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/walkthrough.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


RUN, ATTRIBUTE, TRACE = (block.strip() for block in blocks("sh"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("walkthrough")
    (module,), (configuration,) = blocks("python"), blocks("toml")
    (directory / "opsdebug_operators.py").write_text(module)
    (directory / "opsdebug.toml").write_text(configuration)
    return directory


def follow(command: str, place: Path) -> tuple[int, str]:
    program, *words = shlex.split(command)
    assert program == "opsdebug"
    done = subprocess.run(
        [sys.executable, "-m", "opsdebug_ci", *words],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, done.stdout


def test_the_commands_are_spelled_as_the_field_spells_them() -> None:
    assert RUN == "opsdebug run --operator_name gelu_add_residual --verifier_mode reference_torch --dims B=32"
    assert ATTRIBUTE == (
        'opsdebug attribute --operator_name gelu_add_residual --attribute_range "[16, 70, 100..110]" --dims B=32'
    )
    assert TRACE == "opsdebug trace gelu_add_residual --checkpoint-mode all --dims B=32"


@pytest.mark.slow
def test_run_fails_with_percentiles_tail_and_region(place: Path) -> None:
    """Over the everyday family and two layouts of all: the others repeat what these say."""
    code, text = follow(f"{RUN} --inputs normal --layout contiguous,offset --diagnosis 0 -v", place)
    assert code == 1
    median = re.search(r"rel error P50 (\S+), P95 0\.\d+, P99 0\.\d+, max ", text)
    assert median is not None
    assert float(median[1]) < 2e-7  # a rounding: whether erf and gelu share their bits is the processor's affair
    assert re.search(r"ULP P50 [01], P95 [\d,]+, P99 [\d,]+, max ", text)
    found = re.search(r"([\d,]+) of 524,288 beyond tolerance in \[0\.\.31, 0\.\.127, 0\.\.127\], worst at \[", text)
    assert found is not None
    assert int(found[1].replace(",", "")) == pytest.approx(70_275, rel=0.02)  # 2 * P(|z| > 1.5) of 524,288
    assert "then: opsdebug attribute gelu_add_residual" in text
    assert "replay: opsdebug replay " in text


@pytest.mark.slow
def test_attribute_says_that_the_inputs_there_exceed_the_threshold(place: Path) -> None:
    code, text = follow(ATTRIBUTE, place)
    assert code == 0
    lines = text.splitlines()
    assert lines[0].startswith("ATTRIBUTE: bad where |x| > 3 (balanced accuracy 1.000; good up to 2.99")
    assert lines[1] == "  in the region |x| exceeds the threshold 3 at 1 of 1 bad elements and at 0 of 10 good ones"
    assert lines[-1].startswith("next: opsdebug trace gelu_add_residual --dims B=32,S=128,H=128")


@pytest.mark.slow
def test_trace_names_the_step_and_the_threshold(place: Path) -> None:
    code, text = follow(TRACE, place)
    assert code == 0
    first = text.splitlines()[0]
    assert first.startswith("TRACE: step `activation`: error jumps to 0.014")
    assert "where |x| > 3 (balanced accuracy 1.000" in first
    assert text.splitlines()[-1].startswith("next: opsdebug run gelu_add_residual")
