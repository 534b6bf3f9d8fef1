"""From launches to verdicts, and when a run is not believed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pipeline_speed import arm, comparison, comparison_run, effect, launches

from opsdebug_ci.model import Case, Family, Layout
from opsdebug_ci.model.speed import Comparing, Round, SpeedVerdict
from opsdebug_ci.model.timing import Clocks, Visit
from opsdebug_ci.pipeline.comparison_document import document_of
from opsdebug_ci.pipeline.comparison_plan import Duel
from opsdebug_ci.pipeline.comparison_verdicts import contamination, doubted, judged
from opsdebug_ci.pipeline.experiment import Records, Series, launch_time
from opsdebug_ci.pipeline.speed_comparison import merged

CASE = Case(operator="softmax", dims={"N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0)
DUEL = Duel(series=Series(case=CASE, calls=10), why=Comparing.CHANGE, base="base", head="head")
QUIET = (100_000.0, 100_300.0, 99_900.0, 100_100.0)
FRESH = (*QUIET, 100_200.0, 99_800.0, 100_050.0, 100_150.0)


def records(
    screen: Sequence[float] = (),
    confirm: Sequence[float] = (),
    base: Sequence[float] = QUIET,
    fresh_base: Sequence[float] = FRESH,
) -> Records:
    kept = Records()
    kept.steps_ns[CASE.id] = 2.0
    kept.costs_s[CASE.id] = 1.25
    for name, part, minima in (
        ("base", Round.SCREEN, base),
        ("head", Round.SCREEN, screen),
        ("base", Round.CONFIRM, fresh_base if confirm else ()),
        ("head", Round.CONFIRM, confirm),
    ):
        kept.launches[CASE.id, name, part] = launches(name, part, minima)
    return kept


def slower(minima: Sequence[float], by: float) -> tuple[float, ...]:
    return tuple(value * (1 + by) for value in minima)


def test_a_confirmed_slowdown_is_a_regression_with_all_its_launches() -> None:
    found = judged(DUEL, records(slower(QUIET, 0.12), slower(FRESH, 0.12)), 0.1, tests=12)
    assert found.verdict is SpeedVerdict.REGRESSED
    assert found.statement.startswith("slower: +12 % [12, 12] against base, 100 us -> 112 us, confirmed in 8 fresh")
    assert (len(found.launches), found.cost_s, found.base_ns) == (24, 1.25, pytest.approx(100_075, rel=1e-3))


def test_the_same_code_is_the_same() -> None:
    assert judged(DUEL, records(QUIET), 0.1, tests=12).verdict is SpeedVerdict.SAME


def test_too_few_launches_say_nothing() -> None:
    found = judged(DUEL, records(QUIET[:3]), 0.1, tests=12)
    assert found.verdict is SpeedVerdict.INCONCLUSIVE
    assert found.statement == "too few launches within the budget"


def test_an_arm_that_cannot_be_timed_is_told() -> None:
    kept = records()
    kept.faults[CASE.id, "head"] = "the operator raised ValueError: no"
    found = judged(DUEL, kept, 0.1, tests=12)
    assert found.verdict is SpeedVerdict.INCONCLUSIVE
    assert found.statement == "could not be timed in head: the operator raised ValueError: no"


def test_a_control_that_alarms_silences_the_run() -> None:
    control = comparison("gelu", SpeedVerdict.REGRESSED, why=Comparing.CONTROL)
    doubt = contamination([control], effect(1.0, 0.99, 1.01))
    assert doubt == "gelu of the base was called regressed against itself"
    silenced = doubted(comparison("softmax", SpeedVerdict.REGRESSED), doubt)
    assert silenced.verdict is SpeedVerdict.INCONCLUSIVE
    assert silenced.statement.endswith("not believed, because gelu of the base was called regressed against itself")


@pytest.mark.parametrize(
    ("interval", "silent"), [((0.99, 1.03), True), ((1.021, 1.05), False), ((0.9, 0.97), False), ((0.9, 1.1), True)]
)
def test_what_both_arms_share_must_be_the_same(interval: tuple[float, float], silent: bool) -> None:
    quiet = comparison("gelu", SpeedVerdict.SAME, why=Comparing.CONTROL)
    assert (contamination([quiet], effect(sum(interval) / 2, *interval)) is None) is silent


def test_other_verdicts_are_believed_anyway() -> None:
    for verdict in (SpeedVerdict.SAME, SpeedVerdict.FASTER, SpeedVerdict.SUSPECTED):
        one = comparison("softmax", verdict)
        assert doubted(one, "reason") is one


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((SpeedVerdict.SAME, SpeedVerdict.FASTER), 0),
        ((SpeedVerdict.SUSPECTED, SpeedVerdict.NEW, SpeedVerdict.MISSING), 0),
        ((SpeedVerdict.SAME, SpeedVerdict.INCONCLUSIVE), 4),
        ((SpeedVerdict.INCONCLUSIVE, SpeedVerdict.REGRESSED), 1),
        ((), 4),
    ],
)
def test_the_exit_code_is_that_of_the_worst(verdicts: tuple[SpeedVerdict, ...], code: int) -> None:
    run = comparison_run((arm("base", "b"), arm("head", "h")), [comparison("softmax", one) for one in verdicts])
    assert document_of(run, None, again="opsdebug compare --base main").exit_code == code


def test_two_comparisons_of_one_head_become_one() -> None:
    first = comparison_run((arm("base", "b"), arm("head", "h")), [comparison("softmax", SpeedVerdict.SAME)])
    second = comparison_run((arm("old", "o"), arm("head", "h")), [comparison("gelu", SpeedVerdict.REGRESSED)])
    both = merged(first, second)
    assert [facts.name for facts in both.arms] == ["old", "base", "head"]
    assert [one.case.operator for one in both.comparisons] == ["gelu", "softmax"]
    assert (both.processes, both.duration_s) == (16, 20.0)


def test_visits_of_a_launch_are_one() -> None:
    visits = [
        Visit(
            calls=7,
            samples_ns=samples,
            first_call_ns=None,
            warm_calls=3,
            resolution_ns=20.0,
            cpu_share=1.0,
            clocks=Clocks(throttled=throttled),
        )
        for samples, throttled in (((5.0, 4.0, 9.0, 8.0, 7.0), None), ((3.0, 6.0, 2.0, 10.0, 11.0), True))
    ]
    found = launch_time("head", Round.SCREEN, 2, visits)
    assert (found.min_ns, found.p10_ns, found.median_ns, found.samples) == (2.0, 3.0, 6.5, 10)
    assert (found.calls, found.launch, found.throttled) == (7, 2, True)
