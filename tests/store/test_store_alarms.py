"""Which controls of the store count, and which way its verdicts went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from store_documents import MACHINE, run_document
from store_performance import HEAD, with_controls

from opsdebug_ci.model import RunDocument
from opsdebug_ci.model.controls import ControlCount, count_controls
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import SpeedVerdict
from opsdebug_ci.store.memory.alarms import Directions, alarm_counts, directions
from opsdebug_ci.store.places.backends import open_store


def controls(notation: str, run_id: str) -> RunDocument:
    """A run from `verdict verdict ...`, with `!contaminated` and `!cut` behind where it was so."""
    verdicts, *marks = notation.split(" !")
    document = with_controls(run_document("add:pass", run_id), verdicts, contaminated="contaminated" in marks)
    assert document.performance is not None and document.performance.comparison is not None
    run = replace(document.performance.comparison, complete="cut" not in marks)
    return replace(document, performance=PerformanceDocument(comparison=run))


def stored(place: Path, documents: Sequence[RunDocument]) -> Path:
    for document in documents:
        open_store(place).append(document)
    return place


CASES = [
    ("same same faster suspected", (0, 4)),
    ("same regressed", (1, 2)),
    ("inconclusive same", (0, 1)),
    ("same !contaminated", (0, 0)),
    ("same !cut", (0, 0)),
    ("same regressed !contaminated", (1, 2)),
    ("regressed !cut", (1, 1)),
]


@pytest.mark.parametrize(("notation", "expected"), CASES)
def test_one_run(tmp_path: Path, notation: str, expected: tuple[int, int]) -> None:
    document = controls(notation, "r1")
    assert document.performance is not None and document.performance.comparison is not None
    count = ControlCount(alarms=expected[0], of=expected[1])
    assert count_controls(document.performance.comparison) == count
    assert alarm_counts(stored(tmp_path / "s", [document])) == count


def test_all_runs_together(tmp_path: Path) -> None:
    documents = [controls(notation, f"r{number}") for number, (notation, _) in enumerate(CASES)]
    counts = [ControlCount(alarms=alarms, of=of) for _, (alarms, of) in CASES]
    assert alarm_counts(stored(tmp_path / "s", documents)) == sum(counts, start=ControlCount(alarms=0, of=0))


def test_of_one_machine(tmp_path: Path) -> None:
    here, there = controls("same same", "r1"), controls("regressed", "r2")
    there = replace(there, run=replace(there.run, machine=replace(MACHINE, key="m2")))
    store = stored(tmp_path / "s", [here, there])
    assert alarm_counts(store, "m1") == ControlCount(alarms=0, of=2)
    assert alarm_counts(store, "m2") == ControlCount(alarms=1, of=1)
    assert alarm_counts(store) == ControlCount(alarms=1, of=3)


def changed(verdict: SpeedVerdict, run_id: str, commit: str = HEAD) -> RunDocument:
    document = with_controls(run_document("add:pass", run_id), "same")
    assert document.performance is not None and document.performance.comparison is not None
    run = document.performance.comparison
    comparisons = (replace(run.comparisons[0], verdict=verdict), *run.comparisons[1:])
    arms = (*run.arms[:-1], replace(run.arms[-1], commit=commit))
    return replace(
        document, performance=PerformanceDocument(comparison=replace(run, comparisons=comparisons, arms=arms))
    )


def test_the_same_two_commits_count_once(tmp_path: Path) -> None:
    documents = [
        changed(SpeedVerdict.REGRESSED, "r1"),
        changed(SpeedVerdict.REGRESSED, "r2"),
        changed(SpeedVerdict.REGRESSED, "r3", commit="e" * 40),
        changed(SpeedVerdict.FASTER, "r4", commit="f" * 40),
        changed(SpeedVerdict.SAME, "r5", commit="9" * 40),
    ]
    assert directions(stored(tmp_path / "s", documents)) == Directions(regressed=2, faster=1)


def test_no_store_says_nothing(tmp_path: Path) -> None:
    assert alarm_counts(tmp_path / "s") == ControlCount(alarms=0, of=0)
    assert directions(tmp_path / "s") == Directions(regressed=0, faster=0)
