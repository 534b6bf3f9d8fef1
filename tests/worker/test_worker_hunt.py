"""Hunting what fails once in many launches: every odd launch is counted, and the odd output is what gets compared."""

from __future__ import annotations

import itertools
import time

import pytest
from worker_notation import case_of, run, unary

from opsdebug_ci import Contract
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Blame, Cause, Status, Verdict
from opsdebug_ci.model.hunt import HuntReading


def one_in_ten(wrong):
    """2 * x, and in every tenth launch what `wrong` makes of it."""
    counter = itertools.count(1)

    def operator(x):
        result = x + x
        return wrong(result) if next(counter) % 10 == 0 else result

    return operator


def nudged(result):
    result[0] += 1
    return result


def raising(result):
    raise RuntimeError("once in ten")


def test_every_odd_launch_is_counted() -> None:
    observation = run(unary(one_in_ten(nudged)), repeats=100)
    # two launches belong to the plan of any case, so the tenth of all is the ninth of the hunt
    assert observation.hunt is not None
    assert (observation.hunt.launches, observation.hunt.distinct, observation.hunt.raised) == (100, 2, 0)
    assert observation.hunt.odd == 10
    assert observation.repeat_mismatches == 1


def test_the_odd_output_is_compared_with_the_references() -> None:
    operator = unary(one_in_ten(nudged), contract=Contract(deterministic=False))
    observation = run(operator, repeats=30)
    assert [output.rejected for output in observation.outputs] == [1]
    assert judge(case_of(operator), observation, operator.contract).verdict is Verdict.FAIL


def test_an_exception_in_a_later_launch_is_the_operators() -> None:
    operator = unary(one_in_ten(raising))
    observation = run(operator, repeats=50)
    judgement = judge(case_of(operator), observation, operator.contract)
    assert (observation.status, judgement.verdict) == (Status.RAISED, Verdict.FAIL)
    top = judgement.findings[0]
    assert (top.cause, top.blame) == (Cause.NONDETERMINISM_RACE, Blame.OPERATOR)
    assert top.statement.startswith("the operator failed in 5 of 50 launches on the same inputs (10 %, 95 %: 4.35 to ")
    assert top.statement.endswith(", 5 of them by an exception, although the contract promises `deterministic=True`")
    assert top.next.endswith(" --repeat 50")


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_steady_operator_has_nothing_odd(deterministic: bool) -> None:
    operator = unary(lambda x: x + x, contract=Contract(deterministic=deterministic))
    observation = run(operator, repeats=200)
    assert observation.hunt == HuntReading(launches=200, odd=0, distinct=1)
    assert judge(case_of(operator), observation, operator.contract).verdict is Verdict.PASS


def test_a_hunt_ends_when_its_time_is_over() -> None:
    def slow(x):
        time.sleep(0.02)
        return x + x

    observation = run(unary(slow), repeats=10_000, hunt_s=0.2)
    assert observation.hunt is not None
    assert 2 <= observation.hunt.launches < 20
