"""Failures recorded at a baseline commit, with every case of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_documents import run_document

from opsdebug_ci.model import RecordedFailure
from opsdebug_ci.model.vocabulary import Stage
from opsdebug_ci.store.memory.recorded_failures import MOST_CASES, recorded_failures
from opsdebug_ci.store.places.backends import open_store


def history(store: Path, *runs: str, **facts: object) -> None:
    """Store runs written `commit | cases`."""
    for number, line in enumerate(runs):
        commit, _, cases = line.partition(" | ")
        open_store(store).append(run_document(cases, f"r{number}", **{"commit": commit, **facts}))


def failure(fingerprint: str, operator: str, commit: str, cases: str) -> RecordedFailure:
    return RecordedFailure(
        fingerprint=fingerprint, operator=operator, cause="unknown", commit=commit, cases=tuple(cases.split())
    )


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(
            ["c3 | add:fail/f1 add:crash/f1 add:pass gelu:timeout/f2"],
            [failure("f1", "add", "c3", "add-0 add-1"), failure("f2", "gelu", "c3", "gelu-3")],
            id="by cause, with all cases",
        ),
        pytest.param(
            ["c3 | add:fail/f1", "c3 | add:pass add:fail/f1"],
            [failure("f1", "add", "c3", "add-0 add-1")],
            id="of all runs of the commit",
        ),
        pytest.param(["c1 | add:fail/f1", "c2 | add:pass"], [], id="repaired since"),
        pytest.param(["c1 | add:fail/f1", "c3 | gelu:pass"], [failure("f1", "add", "c1", "add-0")], id="of the last"),
        pytest.param(["c3 | add:skipped add:error add:inconclusive"], [], id="what did not fail"),
        pytest.param(["c9 | add:fail/f1"], [], id="another line of history"),
        pytest.param(["c3 | add:fail"], [], id="a failure of no cause"),
    ],
)
def test_what_is_recorded(tmp_path: Path, runs: list[str], expected: list[RecordedFailure]) -> None:
    history(tmp_path, *runs)
    assert recorded_failures(tmp_path, ("c3", "c2", "c1")) == tuple(expected)


def test_runs_of_changes_and_by_hand_are_no_record(tmp_path: Path) -> None:
    history(tmp_path / "a", "c3 | add:fail/f1", event="pull_request", pull_request=7)
    history(tmp_path / "b", "c3 | add:fail/f1", stage=Stage.RUN)
    assert recorded_failures(tmp_path / "a", ("c3",)) == recorded_failures(tmp_path / "b", ("c3",)) == ()


def test_nothing_where_there_is_no_store(tmp_path: Path) -> None:
    assert recorded_failures(tmp_path / "none", ("c3",)) == ()
    history(tmp_path, "c3 | add:fail/f1")
    assert recorded_failures(tmp_path, ()) == ()


def test_a_failure_of_too_many_cases_is_not_told_in_part(tmp_path: Path) -> None:
    history(tmp_path, f"c3 | {' '.join(['add:fail/f1'] * (MOST_CASES + 1))} gelu:fail/f2")
    assert [each.operator for each in recorded_failures(tmp_path, ("c3",))] == ["gelu"]
