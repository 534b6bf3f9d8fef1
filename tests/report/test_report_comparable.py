"""Which stored runs the history counted, in one line of every report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from report_notation import demo
from speed_notation import REGRESSED, compared_run

from opsdebug_ci.model import RunDocument
from opsdebug_ci.model.history import ComparableRuns, LeftOut
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.report import decode, encode, markdown, text
from opsdebug_ci.report.escape import md_text
from opsdebug_ci.report.performance import comparable_line

KEY = "2-0123456789ab"
TORCH = "torch 2.12.0 there, 2.13.0 here"
CORES = "4 cores there, 2 here"
SYSTEM = "system Linux aarch64 there, Linux x86_64 here"


def counted(number: int, *why: LeftOut, left_out: int = 0, other_machines: int = 0) -> ComparableRuns:
    return ComparableRuns(
        machine_key=KEY, counted=number, left_out=left_out, other_machines=other_machines, why=tuple(why)
    )


def reason(runs: int, *differs: str) -> LeftOut:
    return LeftOut(machines=1, runs=runs, differs=differs)


@pytest.mark.parametrize(
    ("comparable", "line"),
    [
        (counted(12), f"history: 12 stored runs of this machine {KEY}"),
        (counted(0), f"history: no stored run of this machine {KEY} yet: recording the first"),
        (
            counted(12, reason(5, TORCH), left_out=5, other_machines=2),
            f"history: 12 stored runs of this machine {KEY}; 5 of 2 other machines left out ({TORCH})",
        ),
        (
            counted(0, reason(1, TORCH, CORES), left_out=1, other_machines=1),
            f"history: no stored run of this machine {KEY} yet: recording the first; "
            f"1 of 1 other machine left out ({TORCH}; {CORES})",
        ),
        (
            counted(
                1, reason(3, TORCH, CORES, SYSTEM), reason(1, CORES), reason(1, SYSTEM), left_out=5, other_machines=3
            ),
            f"history: 1 stored run of this machine {KEY}; 5 of 3 other machines left out "
            f"(3 runs: {TORCH}; {CORES} and 1 more fact; 1 run: {CORES}; 1 run: others)",
        ),
    ],
)
def test_the_line(comparable: ComparableRuns, line: str) -> None:
    assert comparable_line(comparable) == line


def run(comparable: ComparableRuns | None) -> RunDocument:
    return replace(demo(), performance=PerformanceDocument(comparison=compared_run(*REGRESSED), comparable=comparable))


def test_every_report_has_it_and_one_without_history_has_not() -> None:
    comparable = counted(12, reason(5, TORCH), left_out=5, other_machines=2)
    line = f"12 stored runs of this machine {KEY}; 5 of 2 other machines left out ({TORCH})"
    assert f"\nhistory: {line}\n" in text(run(comparable))
    assert f"\n- history: {md_text(line)}" in markdown(run(comparable))
    assert "stored run" not in text(run(None)) + markdown(run(None))


def test_it_survives_json_and_an_older_document_has_none() -> None:
    document = run(counted(12, reason(5, TORCH), left_out=5, other_machines=2))
    assert decode(encode(document)) == document
    older = json.loads(encode(run(None)))
    del older["performance"]["comparable"]
    assert decode(json.dumps(older).encode()) == run(None)


def test_words_of_a_strange_store_cannot_move_the_cursor() -> None:
    strange = counted(0, reason(1, "torch \x1b[31m2 there, 3 here"), left_out=1, other_machines=1)
    assert "\x1b" not in comparable_line(strange)
