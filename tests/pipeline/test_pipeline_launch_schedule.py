"""What is launched in the time there is, on a planted machine: what showed first, and by far with few launches."""

from __future__ import annotations

import pytest
from launch_notation import PlantedMachine, plan

from opsdebug_ci.model.speed import SpeedVerdict
from opsdebug_ci.pipeline.arm_look import visits_of
from opsdebug_ci.pipeline.launch_schedule import Allowance
from opsdebug_ci.pipeline.speed_question import CONFIRMING_S, PULL_REQUEST_S

OTHERS = ("gelu", "silu", "norm", "matmul", "sort")
ALL = frozenset(("softmax", *OTHERS))
PULL_REQUEST = Allowance(budget_s=PULL_REQUEST_S, confirming_s=CONFIRMING_S)


def loaded(**facts: object) -> PlantedMachine:
    """Two cores with much else to do: looking took 20 s, a launch of three arms takes 14 s, one of two 9 s."""
    return PlantedMachine(starting_s=4.4, visits_s=0.05, now_s=20.0, slower={"softmax": 14.0}, **facts)  # type: ignore[arg-type]


def test_fourteen_times_as_long_is_confirmed_on_a_machine_that_starts_processes_slowly() -> None:
    machine = loaded()
    schedule, told = machine.compare(plan("softmax", *OTHERS, control="gelu"), PULL_REQUEST)
    assert told["softmax"].verdict is SpeedVerdict.REGRESSED
    assert "confirmed in 4 fresh launches" in told["softmax"].statement
    assert {one.verdict for name, one in told.items() if name != "softmax"} == {SpeedVerdict.SAME}
    assert schedule.complete
    assert machine.parts() == [("screen", ALL, 4), ("confirm", frozenset({"softmax"}), 4)]


def test_nothing_is_confirmed_beyond_a_budget_that_somebody_set() -> None:
    machine = loaded()
    schedule, told = machine.compare(plan("softmax", *OTHERS, control="gelu"), Allowance(budget_s=PULL_REQUEST_S))
    assert told["softmax"].verdict is SpeedVerdict.INCONCLUSIVE
    assert "not confirmed in the time there was" in told["softmax"].statement
    assert not schedule.complete
    assert max(began_s for began_s, _, _ in machine.begun) < PULL_REQUEST_S


def test_more_time_is_for_what_showed_by_far_alone() -> None:
    machine = PlantedMachine(starting_s=4.4, now_s=20.0, slower={"softmax": 1.13, "gelu": 14.0})
    _, told = machine.compare(plan("softmax", "gelu", *OTHERS[1:], control="silu"), PULL_REQUEST)
    assert told["gelu"].verdict is SpeedVerdict.REGRESSED
    assert told["softmax"].verdict is SpeedVerdict.INCONCLUSIVE
    late = [operators for began_s, _, operators in machine.begun if began_s >= PULL_REQUEST_S]
    assert set(late) == {frozenset({"gelu"})}


def test_what_showed_is_confirmed_before_noise_is_measured_again() -> None:
    machine = PlantedMachine(starting_s=1.0, slower={"softmax": 14.0}, noise={"gelu": 0.2})
    _, told = machine.compare(plan("softmax", *OTHERS, control="silu"), Allowance(budget_s=None))
    assert told["softmax"].verdict is SpeedVerdict.REGRESSED
    parts = machine.parts()
    first = next(index for index, (part, operators, _) in enumerate(parts) if part == "screen" and operators != ALL)
    assert any(part == "confirm" and "softmax" in operators for part, operators, _ in parts[:first])


def test_noise_that_shows_in_more_launches_is_confirmed_before_there_are_still_more() -> None:
    machine = PlantedMachine(starting_s=1.0, slower={"softmax": 1.25}, noise={"softmax": 0.08, "gelu": 0.3})
    machine.compare(plan("softmax", *OTHERS, control="silu"), Allowance(budget_s=None))
    confirmed = [index for index, (_, part, _) in enumerate(machine.begun) if part == "confirm"]
    screened = [index for index, (_, part, _) in enumerate(machine.begun) if part == "screen"]
    assert confirmed and min(confirmed) < max(screened)


def test_with_time_for_one_the_largest_is_confirmed_first() -> None:
    slower = {"softmax": 1.15, "gelu": 14.0, "silu": 3.0}
    machine = PlantedMachine(starting_s=3.0, visits_s=1.0, slower=slower)
    _, told = machine.compare(plan("softmax", *OTHERS, control="norm"), Allowance(budget_s=140.0))
    assert told["gelu"].verdict is SpeedVerdict.REGRESSED
    assert machine.parts()[1][1] <= {"gelu", "silu"}


def test_usual_shifts_keep_eight_launches() -> None:
    machine = PlantedMachine(starting_s=1.0, slower={"softmax": 1.15, "gelu": 14.0})
    _, told = machine.compare(plan("softmax", *OTHERS, control="norm"), Allowance(budget_s=None))
    assert "confirmed in 8 fresh launches" in told["softmax"].statement
    assert "confirmed in 4 fresh launches" in told["gelu"].statement
    assert machine.parts()[1:] == [
        ("confirm", frozenset({"softmax", "gelu"}), 4),
        ("confirm", frozenset({"softmax"}), 4),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_same_code_is_not_called_slower(seed: int) -> None:
    machine = PlantedMachine(starting_s=1.0, noise=dict.fromkeys(ALL, 0.05), seed=seed)
    _, told = machine.compare(plan("softmax", *OTHERS, control="norm"), PULL_REQUEST)
    assert SpeedVerdict.REGRESSED not in {one.verdict for one in told.values()}


def test_where_not_all_fit_some_are_screened_whole() -> None:
    """Visits take ten times as long as was reckoned with, which the first launch shows."""
    machine = PlantedMachine(starting_s=2.0, visits_s=2.0)
    schedule, told = machine.compare(plan("softmax", *OTHERS, control="norm"), Allowance(budget_s=90.0))
    assert not schedule.complete
    assert [one.verdict for one in told.values()].count(SpeedVerdict.SAME) >= 3
    assert told["norm"].verdict is told["~norm"].verdict is SpeedVerdict.SAME
    assert max(began_s for began_s, _, _ in machine.begun) < 90.0


def test_arms_that_take_long_are_visited_once_a_launch() -> None:
    assert (visits_of(0.5), visits_of(3.9), visits_of(4.1)) == (2, 2, 1)
