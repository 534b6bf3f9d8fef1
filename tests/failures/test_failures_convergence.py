"""Groups whose failures shrink to the same sizes are one; others stay apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from failures_notation import wrong, wrote
from judge_notation import case

from opsdebug_ci.failures import group
from opsdebug_ci.failures.convergence import End, united
from opsdebug_ci.model import Group, Judgement

TAIL, SCALE = wrong(cause="tail_mask", dims="B=1,S=300"), wrong(cause="wrong_scale", dims="B=1,S=511")
SMALLEST, NEXT = case(dims="B=1,S=129"), case(dims="B=1,S=128")


def groups_of(*judgements: Judgement) -> tuple[Group, ...]:
    found = tuple(each for judgement in judgements for each in group([judgement]))
    assert len({each.fingerprint for each in found}) == len(judgements)
    return found


def test_the_same_sizes_beside_the_same_passing_ones_make_one() -> None:
    tail, scale = groups_of(TAIL, SCALE)
    elsewhere = End(smallest=replace(SMALLEST, seed=7), passing=replace(NEXT, seed=7))
    ends = {tail.fingerprint: End(smallest=SMALLEST, passing=NEXT), scale.fingerprint: elsewhere}
    (lead,), taken = united((tail, scale), ends)
    assert (lead.fingerprint, lead.count, lead.cause) == (tail.fingerprint, 2, tail.cause)
    assert lead.members == (tail.fingerprint, scale.fingerprint)
    assert lead.cases == (TAIL.case.id, SCALE.case.id)
    assert lead.why.endswith("1 case named `wrong_scale` shrinks to the same sizes")
    assert taken == {scale.fingerprint: tail.fingerprint}


@pytest.mark.parametrize(
    ("second", "end"),
    [
        pytest.param(SCALE, None, id="not shrunk"),
        pytest.param(SCALE, End(smallest=SMALLEST, passing=None), id="no neighbour, another case"),
        pytest.param(SCALE, End(smallest=case(dims="B=1,S=257"), passing=NEXT), id="other sizes"),
        pytest.param(SCALE, End(smallest=SMALLEST, passing=case(dims="B=1,S=127")), id="another neighbour"),
        pytest.param(wrong(cause="wrong_scale", name="out1"), End(smallest=SMALLEST, passing=NEXT), id="output"),
        pytest.param(wrong(cause="wrong_scale", operator="gelu"), End(smallest=SMALLEST, passing=NEXT), id="operator"),
        pytest.param(wrote(), End(smallest=SMALLEST, passing=NEXT), id="memory"),
    ],
)
def test_anything_else_stays_apart(second: Judgement, end: End | None) -> None:
    tail, other = groups_of(TAIL, second)
    smallest = replace(SMALLEST, seed=3) if second is SCALE else SMALLEST
    ends = {tail.fingerprint: End(smallest=smallest, passing=NEXT)} | ({} if end is None else {other.fingerprint: end})
    assert united((tail, other), ends) == ((tail, other), {})


def test_one_smallest_case_is_enough() -> None:
    tail, scale = groups_of(TAIL, SCALE)
    ends = {each.fingerprint: End(smallest=SMALLEST, passing=None) for each in (tail, scale)}
    assert [each.count for each in united((tail, scale), ends)[0]] == [2]


def test_several_that_end_alike_are_told_in_one_phrase() -> None:
    named = [
        wrong(cause=cause, dims="B=1,S=511", dtype=dtype)
        for cause in ("wrong_scale", "unknown")
        for dtype in ("float32", "float16")
    ]
    groups = groups_of(TAIL, *named)
    ends = {each.fingerprint: End(smallest=SMALLEST, passing=NEXT) for each in groups}
    (lead,), taken = united(groups, ends)
    assert (lead.count, len(taken)) == (5, 4)
    assert lead.why.endswith("; 4 cases named `wrong_scale`, `unknown` shrink to the same sizes")
    assert lead.why.count("shrink") == 1
