"""docs/problems.md as a person follows it: every row's command, on its section's operator, in a fresh directory."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from opsdebug_ci.model.vocabulary import Cause

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/problems.md").read_text(encoding="utf-8")
TABLE, *SECTIONS = PAGE.split("\n## ")
CONFIGURATION = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


class Row(NamedTuple):
    """One row of the table."""

    symptom: str
    anchor: str
    command: str
    finding: str

    @property
    def commands(self) -> list[list[str]]:
        """Words of each command in the cell, without the program's name."""
        typed = [shlex.split(text) for text in re.findall(r"`([^`]+)`", self.command)]
        assert all(program == "opsdebug" for program, *_ in typed)
        return [words for _, *words in typed]

    @property
    def cause(self) -> str | None:
        """The cause it promises; None where none is named."""
        found = re.match(r"`(\w+)`: ", self.finding)
        return None if found is None else str(Cause(found[1]))

    @property
    def quoted(self) -> list[str]:
        """Words that must stand in the output, `…` for anything between."""
        return re.findall(r'"([^"]+)"', self.finding)


ROWS = [
    Row(*cells) for cells in re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \| (.+?) \| (.+?) \|$", TABLE, flags=re.MULTILINE)
]
VERDICTS = ["--diagnosis", "0"]
"""The pages quote what the verdicts say, not what is asked about failures afterwards."""

RUNS = [row for row in ROWS if [words[0] for words in row.commands] == ["run"]]
ATTRIBUTES = [row for row in ROWS if [words[0] for words in row.commands] == ["attribute"]]
PROFILES = [row for row in ROWS if [words[0] for words in row.commands] == ["profile"]]
STAGES = [row for row in ROWS if [words[0] for words in row.commands] == ["ci", "sql"]]


def module(row: Row) -> str:
    """The operators of the row's section."""
    text = next(section for section in SECTIONS if section.startswith(f"{row.symptom}\n"))
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return str(block)


def planted(row: Row, directory: Path) -> Path:
    (directory / "opsdebug_operators.py").write_text(module(row))
    (directory / "opsdebug.toml").write_text(CONFIGURATION[0])
    return directory


def called(words: list[str], place: Path, *program: str) -> tuple[int, str]:
    """Exit code and standard output, outside CI."""
    done = subprocess.run(
        [sys.executable, *(program or ("-m", "opsdebug_ci")), *words],
        cwd=place,
        env={name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "RUNNER_"))},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def stands_in(quoted: str, text: str) -> bool:
    pattern = ".*?".join(re.escape(part.strip()) for part in quoted.split("…"))
    return re.search(pattern, text) is not None


def row_named(symptom: str) -> Row:
    (row,) = (row for row in ROWS if row.symptom == symptom)
    return row


def test_every_row_is_run_by_one_of_the_tests() -> None:
    assert len(ROWS) == len(SECTIONS) == TABLE.count("\n| [") >= 5
    assert (len(RUNS), len(ATTRIBUTES), len(STAGES), len(PROFILES)) == (len(ROWS) - 4, 1, 1, 2)


def test_every_row_quotes_something() -> None:
    assert [row.symptom for row in ROWS if not row.quoted] == []
    assert [row.symptom for row in RUNS + STAGES if row.cause is None] == []


@pytest.mark.parametrize(
    ("quoted", "text", "stands"),
    [("a … c", "x a b c", True), ("a … c", "c b a", False), ("1.5", "1x5", False), ("2.9…", "2.95", True)],
)
def test_quotations_are_found_where_they_stand(quoted: str, text: str, stands: bool) -> None:
    assert stands_in(quoted, text) is stands


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row.anchor)
def test_run_names_the_cause_and_says_why(row: Row, tmp_path: Path) -> None:
    (words,) = row.commands
    code, text = called([*words, *VERDICTS], planted(row, tmp_path))
    assert code == 1
    first = text.split("\nfailures:\n")[1].splitlines()[0]
    assert first.startswith(f"  1. {words[1]}: {row.cause}: "), first
    assert [quoted for quoted in row.quoted if not stands_in(quoted, text)] == [], text


@pytest.mark.parametrize("row", ATTRIBUTES, ids=lambda row: row.anchor)
def test_attribute_tells_bad_elements_from_good_ones(row: Row, tmp_path: Path) -> None:
    (words,) = row.commands
    code, text = called(words, planted(row, tmp_path))
    assert code == 0
    assert [quoted for quoted in row.quoted if not stands_in(quoted, text)] == [], text


@pytest.mark.parametrize("row", PROFILES, ids=lambda row: row.anchor)
def test_profile_says_where_the_time_goes(row: Row, tmp_path: Path) -> None:
    (words,) = row.commands
    code, text = called([*words, "--budget", "2"], planted(row, tmp_path))
    assert code == 0
    assert [quoted for quoted in row.quoted if not stands_in(quoted, text)] == [], text
    assert (row.cause is None) == ("perf_cliff" not in text)


@pytest.mark.parametrize("row", ATTRIBUTES, ids=lambda row: row.anchor)
def test_run_gives_the_range_that_attribute_is_asked_about(row: Row, tmp_path: Path) -> None:
    (words,) = row.commands
    place = planted(row, tmp_path)
    asked = words.index("--range")
    code, text = called(["run", *words[1:asked], "-v", *VERDICTS], place)
    following = next(line for line in text.splitlines() if line.startswith("     then: opsdebug attribute "))
    assert code == 1
    assert words[asked + 1].strip("[]") in following


@pytest.mark.parametrize("row", STAGES, ids=lambda row: row.anchor)
def test_a_failure_that_was_recorded_is_known_at_the_next_commit(row: Row, tmp_path: Path) -> None:
    stage, query = row.commands
    place = planted(row, tmp_path)
    identity = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    ended = []
    for message in ("one", "two"):
        commit = ["git", *identity, "commit", "--quiet", "--allow-empty", "--message", message]
        subprocess.run(commit, cwd=place, check=True)
        ended.append(called(stage, place))
    (first_code, first), (second_code, second) = ended
    assert (first_code, second_code) == (1, 0)
    known, recorded = row.quoted
    assert not stands_in(known, first)
    assert stands_in(known, second), second
    code, told = called(query, place)
    assert code == 0
    assert stands_in(recorded, told), told
    assert {line.split()[-1] for line in told.splitlines() if line.startswith("v2:")} == {"2"}


def test_the_nan_passes_when_nobody_repeats(tmp_path: Path) -> None:
    row = row_named("A NaN that will not reproduce")
    (words,) = row.commands
    assert words[-2:] == ["--repeat", "50"]
    code, text = called(words[:-2], planted(row, tmp_path))
    assert (code, text.startswith("PASS: 0 of 1 case")) == (0, True)


def test_the_operator_that_suffers_is_not_the_one_that_is_named(tmp_path: Path) -> None:
    row = row_named("A later operator fails after an out-of-bounds write")
    (words,) = row.commands
    place = planted(row, tmp_path)
    service = (
        "import torch, opsdebug_operators as m\n"
        "before = m.add_table(torch.zeros(100))\n"
        "m.store(torch.zeros(100), m.POOL[0])\n"
        "print(int((m.add_table(torch.zeros(100)) != before).sum()))\n"
    )
    assert called([service], place, "-c") == (0, "12\n"), "the symptom: 12 elements of the neighbour are overwritten"
    _, text = called([*words, *VERDICTS], place)
    counts = {line.split()[0]: line.split()[1:4] for line in text.splitlines() if line.startswith(("store", "add_"))}
    assert counts == {"store": ["3", "0", "3"], "add_table": ["3", "3", "0"]}


def test_float32_passes_where_only_half_precision_is_wrong(tmp_path: Path) -> None:
    row = row_named("Only half precision is wrong")
    (words,) = row.commands
    code, text = called([*words, "--dtype", "float32"], planted(row, tmp_path))
    assert (code, text.startswith("PASS: 0 of 1 case")) == (0, True)
