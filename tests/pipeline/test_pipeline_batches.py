"""Which cases a slow operator gets, and which it does not; no clock is turned, costs are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from opsdebug_ci.model import Case, Family, Layout, Observation, ReferenceKind, Status
from opsdebug_ci.model.vocabulary import Direction
from opsdebug_ci.pipeline.batches import FIRST, OPERATOR_S, Rations, batches, growing_batches


def case(operator: str, seed: int, *, n: int = 64, direction: Direction = Direction.FORWARD) -> Case:
    return Case(
        operator=operator,
        dims={"N": n},
        dtype="float32",
        layout=Layout.CONTIGUOUS,
        inputs=Family.NORMAL,
        seed=seed,
        device="cpu",
        direction=direction,
        checks=tuple(ReferenceKind),
    )


def plan(operator: str, count: int = 72) -> list[Case]:
    return [case(operator, seed) for seed in range(count)]


def ran(
    cases: Sequence[Case], cost_s: Callable[[Case], float], total_s: float | None = None
) -> tuple[list[Case], Rations]:
    """Run cases whose costs are known."""
    rations, done = Rations(cases, total_s), []
    for batch in growing_batches(cases):
        wanted, cut = rations.parted(batch)
        assert sorted(each.id for each in batch) == sorted(
            [each.id for each in wanted] + [each.id for each, _ in cut]
        ), "a case runs or is told, once"
        assert {observation.status for _, observation in cut} <= {Status.SKIPPED}
        for each in wanted:
            cost_ns = round(cost_s(each) * 1e9)
            rations.pay(each, Observation(case_id=each.id, status=Status.RAN, processor_ns=cost_ns))
        done += wanted
    return done, rations


def test_batches_double_and_lose_nothing() -> None:
    cases = [*plan("one"), *plan("two", 3)]
    grown = growing_batches(cases)
    assert [Counter(each.operator for each in batch)["one"] for batch in grown] == [6, 6, 12, 24, 24]
    assert [len(batch) - sum(each.operator == "one" for each in batch) for batch in grown] == [3, 0, 0, 0, 0]
    assert sorted(each.id for batch in grown for each in batch) == sorted(each.id for each in cases)


def test_gradients_are_spread_over_the_batches_although_a_plan_has_them_last() -> None:
    cases = [*plan("one", 42), *(case("one", seed, direction=Direction.BACKWARD) for seed in range(6))]
    grown = growing_batches(cases)
    assert [sum(each.direction is Direction.BACKWARD for each in batch) for batch in grown] == [1, 1, 1, 3]


def test_batches_of_a_fixed_size_keep_the_order() -> None:
    assert [[each.seed for each in batch] for batch in batches(plan("one", 5), 2)] == [[0, 1], [2, 3], [4]]
    assert batches(plan("one", 5), None) == [plan("one", 5)]


def test_an_operator_that_costs_little_runs_whole() -> None:
    done, rations = ran(plan("quick"), lambda each: 0.1)
    assert (len(done), rations.told()) == (72, ())


def test_a_slow_operator_gets_the_first_cases_that_fit_its_share_and_the_others_are_not_touched() -> None:
    done, rations = ran([*plan("slow"), *plan("quick")], lambda each: 1.1 if each.operator == "slow" else 0.02)
    assert [each.seed for each in done if each.operator == "slow"] == list(range(round(OPERATOR_S)))
    assert sum(each.operator == "quick" for each in done) == 72
    assert rations.told() == ("slow, 60 cases not run: slow; `--budget SECONDS` sets how long all may take",)


def test_the_first_batch_runs_whatever_it_costs() -> None:
    done, rations = ran(plan("slow"), lambda each: 40.0)
    assert [each.seed for each in done] == list(range(FIRST))
    rations = Rations(plan("slow"), None)
    for each in done:
        rations.pay(each, Observation(case_id=each.id, status=Status.RAN, processor_ns=40 * 10**9))
    _, cut = rations.parted(plan("slow")[FIRST:])
    assert {observation.reason for _, observation in cut} == {
        "not run: cases before it used the 12 s of processor time that this operator has"
    }


@pytest.mark.parametrize("load", [0.8, 1.0, 1.3])
def test_a_busy_machine_changes_nothing_in_what_is_run(load: float) -> None:
    assert len(ran(plan("slow"), lambda each: 0.5 * load)[0]) == 24


def test_a_first_case_that_pays_for_imports_is_not_taken_for_the_price() -> None:
    done, _ = ran(plan("quick"), lambda each: 3.0 if each.seed == 0 else 0.05)
    assert len(done) == 72


def test_a_size_that_is_much_more_work_is_left_out_and_cheaper_ones_go_on() -> None:
    cases = [case("looped", seed, n=64 * (100 if seed == 7 else 1)) for seed in range(24)]
    done, _ = ran(cases, lambda each: 0.25 * each.dims["N"] / 64)
    assert [each.seed for each in done] == [seed for seed in range(24) if seed != 7]


def test_a_budget_is_divided_so_that_what_one_does_not_need_is_the_others() -> None:
    cases = [*plan("slow"), *plan("quick"), *plan("slower")]
    costs = {"quick": 1 / 64, "slow": 0.5, "slower": 4.0}
    done, _ = ran(cases, lambda each: costs[each.operator], total_s=70.0)
    counts = Counter(each.operator for each in done)
    assert counts["quick"] == 72
    assert counts["slow"] > 24, "more than a third of the budget"
    assert sum(costs[operator] * count for operator, count in counts.items()) <= 70.0


def test_a_case_that_killed_its_worker_has_no_price() -> None:
    rations = Rations(plan("dies"), None)
    for each in plan("dies")[:FIRST]:
        rations.pay(each, Observation(case_id=each.id, status=Status.CRASHED))
    assert rations.parted(plan("dies")[FIRST:])[1] == []


def test_when_time_is_over_only_an_operator_without_its_first_batch_lacks_cases() -> None:
    cases = [*plan("sound", 10), *plan("begun", 10)]
    rations = Rations(cases, 60.0)
    for each in (*cases[:FIRST], cases[10]):
        rations.pay(each, Observation(case_id=each.id, status=Status.RAN, processor_ns=10**7))
    left = rations.give_up(cases)
    assert [(each.operator, each.seed) for each, _ in left] == [("sound", seed) for seed in range(FIRST, 10)]
    assert {observation.reason for _, observation in left} == {"not run: the time for all operators was over"}
