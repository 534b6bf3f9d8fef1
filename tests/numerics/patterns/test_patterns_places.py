"""Every rule of place and content against the failures planted for all of them, and against those of other kinds."""

from __future__ import annotations

import math

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
    assert all(_same_bytes(one, two) for one, two in zip(before, held, strict=True))
    return sorted(found, key=lambda clue: -clue.confidence)


def _same_bytes(one: torch.Tensor, two: torch.Tensor) -> bool:
    return torch.equal(one.contiguous().flatten().view(torch.uint8), two.contiguous().flatten().view(torch.uint8))


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


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float64, torch.uint8, torch.int64])
def test_every_dtype_is_looked_at_beside_every_argument(dtype: torch.dtype) -> None:
    wanted, wrong = (normal(8, 16, seed=seed).abs().mul(3).to(dtype) for seed in (0, 1))
    others = {str(kind): normal(8, 16, seed=2).abs().to(kind) for kind in (torch.complex64, torch.int32, torch.bool)}
    found = clues(failing(wrong, wanted, empty=torch.empty(0), number=math.inf, words="sum", **others))
    assert found == []
