"""Every rule of place and content against the failures planted for all of them, and against those of other kinds."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import failing, normal
from patterns_planted import CLEAN, PLANTED

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns import (
    argument_use,
    bad_slice,
    block_scale,
    empty_segment,
    extreme_block,
    index_argument,
    mask_region,
    offset,
    permutation,
    reduction_block,
    row_tail,
    scale,
    source_index,
    suffix,
    vector_lane,
    wraparound,
    zero_fill,
)

RULES = {
    rule.__name__: rule
    for rule in (
        argument_use,
        bad_slice,
        block_scale,
        empty_segment,
        extreme_block,
        index_argument,
        mask_region,
        offset,
        permutation,
        reduction_block,
        row_tail,
        scale,
        source_index,
        suffix,
        vector_lane,
        wraparound,
        zero_fill,
    )
}

ALSO: dict[str, set[str]] = {
    "last columns": {"bad_slice"},
    "last rows": {"bad_slice"},
    "rows from 512": {"bad_slice", "row_tail"},
    "block edge": {"bad_slice"},
    "halves": {"source_index"},
    "row off by one": {"source_index"},
    "end of rows not looked at": {"source_index"},
    "index wraps": {"source_index", "bad_slice"},
    "no rows": {"bad_slice"},
    "ignored targets": {"vector_lane"},
}
"""Rules that see the same from another side."""


def clues(failure: Failure) -> list[Clue]:
    """What all of them say, the tensors being as before afterwards."""
    held = (failure.actual, failure.expected, failure.bad, *failure.tensors.values())
    before = [tensor.clone() for tensor in held]
    found = [clue for rule in RULES.values() for clue in rule(failure)]
    assert all(torch.equal(one.nan_to_num(), two.nan_to_num()) for one, two in zip(before, held, strict=True))
    return sorted(found, key=lambda clue: -clue.confidence)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_failure_is_named_and_no_other_rule_speaks(name: str) -> None:
    rule, cause, make = PLANTED[name]
    found = clues(make())
    assert (found[0].rule, found[0].cause) == (rule, cause)
    assert {clue.rule for clue in found} - ALSO.get(name, set()) == {rule}


@pytest.mark.parametrize("name", CLEAN)
def test_other_failures_leave_all_silent(name: str) -> None:
    assert clues(CLEAN[name]()) == []


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (5, 1, 3)])
def test_small_outputs_break_no_rule(shape: tuple[int, ...]) -> None:
    wanted = normal(*shape)
    wrong = wanted + normal(*shape, seed=1) + 1
    assert clues(failing(wrong, wanted, x=wanted, n=torch.tensor([0, 1, 2]))) == []
