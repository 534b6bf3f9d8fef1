"""What shards say of speed, as one; and what of it gates."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shard_notation import RECORD, cases, divided, outcomes, run_of, shard_of

from opsdebug_ci.judge.merged_speed import merged_speed
from opsdebug_ci.judge.merging import merge
from opsdebug_ci.model import Gate, Stage, Verdict
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, Comparison, ComparisonRun, SpeedVerdict
from opsdebug_ci.report.document import case_document

JUDGED = {each.case.operator: each.case for each in cases("gelu:pass norm:pass erf:pass")}


def comparison(operator: str, verdict: str) -> Comparison:
    return Comparison(
        case=case_document(JUDGED[operator]),
        why=Comparing.CHANGE,
        base="base",
        verdict=SpeedVerdict(verdict),
        statement=f"{operator} is {verdict}",
        threshold=0.1,
        base_ns=100.0,
        head_ns=120.0,
        screen=None,
        confirm=None,
    )


def speed(text: str, **facts: object) -> PerformanceDocument:
    """`speed("gelu:regressed norm:same")`."""
    compared = tuple(comparison(*word.split(":")) for word in text.split())
    run = ComparisonRun(
        arms=(),
        comparisons=compared,
        controls=(),
        contaminated=None,
        probe_ratio=1.0,
        machine=RECORD.machine,
        processes=4,
        duration_s=2.0,
        seed=1,
    )
    return PerformanceDocument(comparison=replace(run, **facts), notes=("base is b1",))


def test_one_document_stays_as_it_is() -> None:
    alone = speed("gelu:same")
    assert merged_speed([alone]) is alone
    assert merged_speed([]) is None


def test_comparisons_are_put_together_the_worst_first() -> None:
    found = merged_speed(
        [speed("gelu:same norm:suspected"), PerformanceDocument(notes=("no speed",)), speed("erf:regressed")]
    )
    assert found is not None and found.comparison is not None
    assert [c.case.operator for c in found.comparison.comparisons] == ["erf", "norm", "gelu"]
    assert (found.comparison.processes, found.comparison.duration_s, found.comparison.complete) == (8, 4.0, True)
    assert found.notes == ("base is b1", "no speed")


def test_what_one_machine_could_not_do_is_kept() -> None:
    found = merged_speed([speed("gelu:same"), speed("norm:same", complete=False, contaminated="a busy machine")])
    assert found is not None and found.comparison is not None
    assert (found.comparison.complete, found.comparison.contaminated) == (False, "a busy machine")


def test_a_comparison_that_every_shard_has_is_there_once() -> None:
    found = merged_speed([speed("gelu:same"), speed("gelu:same")])
    assert found is not None and found.comparison is not None
    assert len(found.comparison.comparisons) == 1


@pytest.mark.parametrize(
    ("gate", "conclusion", "ending"),
    [(Gate.NEW, "regressed", (Verdict.FAIL, 1)), (Gate.NEVER, "pass", (Verdict.PASS, 0))],
)
def test_a_regression_of_any_shard_needs_a_person(gate: Gate, conclusion: str, ending: tuple[Verdict, int]) -> None:
    first, second = divided(cases("gelu:pass*4"), 2, gate=gate)
    slower = replace(second.run, performance=speed("gelu:regressed"), regressions=("gelu",))
    found = merge([first, replace(second, run=slower)], outcomes("taken taken"))
    assert (str(found.conclusion), found.document.regressions) == (conclusion, ("gelu",))
    assert (found.document.summary.verdict, found.document.summary.exit_code) == ending


def test_a_failure_is_worse_than_a_regression() -> None:
    run = replace(run_of(cases("gelu:fail")), performance=speed("gelu:regressed"), regressions=("gelu",))
    assert str(merge([shard_of(run)], outcomes("taken")).conclusion) == "fail"


@pytest.mark.parametrize(("settled", "conclusion"), [(True, "pass"), (False, "inconclusive")])
def test_a_night_that_speed_unsettles_is_no_pass(settled: bool, conclusion: str) -> None:
    first, second = divided(cases("gelu:pass*4"), 2, stage=Stage.FULL)
    ending = second.run.summary if settled else replace(second.run.summary, verdict=Verdict.INCONCLUSIVE, exit_code=4)
    found = merge([first, replace(second, run=replace(second.run, summary=ending))], outcomes("taken taken"))
    assert str(found.conclusion) == conclusion
    assert bool(found.reasons) is not settled
