"""Right elements in wrong places."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal, only, replaced

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import permutation
from opsdebug_ci.numerics.patterns.placement import coordinates, flattened
from opsdebug_ci.numerics.patterns.rearrangements import rearrangements

X = normal(10, 64)
SQUARE = normal(24, 24)
HEADS = normal(2, 8, 16, 4)
STEPPED = normal(2000)
LAYOUT = Cause.LAYOUT_PERMUTATION


@pytest.mark.parametrize(
    ("wrong", "right", "cause", "words"),
    [
        (SQUARE.T, SQUARE, LAYOUT, "axes 0 and 1 are exchanged"),
        (X.T.reshape(10, 64), X, LAYOUT, "axes 0 and 1 lie transposed in memory"),
        (X.reshape(64, 10).T, X, LAYOUT, "axes 0 and 1 were read as if they lay transposed"),
        (HEADS.transpose(1, 2).reshape(2, 8, 16, 4), HEADS, LAYOUT, "axes 1 and 2 lie transposed in memory"),
        (X.flip(1), X, LAYOUT, "reversed along axis 1"),
        (X.flip(0), X, LAYOUT, "reversed along axis 0"),
        (X.roll(32, 1), X, LAYOUT, "the two halves are exchanged along axis 1"),
        (X.view(10, 32, 2).flip(2).view(10, 64), X, LAYOUT, "neighbours are exchanged in pairs along axis 1"),
        (X.view(10, 2, 32).mT.reshape(10, 64), X, LAYOUT, "halves lie where pairs should"),
        (X.view(10, 32, 2).mT.reshape(10, 64), X, LAYOUT, "pairs lie where halves should"),
        (X.roll(1, 1), X, Cause.STRIDE_VIEW, "the previous place along axis 1"),
        (X.roll(-1, 0), X, Cause.STRIDE_VIEW, "the next place along axis 0"),
        (X[:, :1].expand(10, 64), X, Cause.BROADCASTING, "index 0 along axis 1"),
        (STEPPED[:1000], STEPPED[::2], Cause.STRIDE_VIEW, "stride ratio 1/2"),
        (STEPPED[::2], STEPPED[:1000], Cause.STRIDE_VIEW, "stride ratio 2"),
        (
            X[:, :8].repeat(1, 8),
            X[:, :8].repeat_interleave(8, 1),
            Cause.BROADCASTING,
            "groups of 8 are tiled where they should be repeated",
        ),
        (
            X[:, :8].repeat_interleave(8, 1),
            X[:, :8].repeat(1, 8),
            Cause.BROADCASTING,
            "groups of 8 are repeated where they should be tiled",
        ),
    ],
)
def test_a_rearrangement_is_named(wrong: torch.Tensor, right: torch.Tensor, cause: Cause, words: str) -> None:
    found = only(permutation, failing(wrong.contiguous(), right.contiguous()))
    assert found.cause is cause
    assert words in found.statement


def test_the_same_values_in_no_known_order() -> None:
    order = torch.randperm(640, generator=torch.Generator().manual_seed(1))
    clue = only(permutation, failing(X.flatten()[order].view(10, 64), X))
    assert (clue.cause, clue.confidence) == (LAYOUT, 0.75)


def test_part_of_an_output_is_not_rearranged() -> None:
    wrong = replaced(HEADS, (slice(None), slice(4, None)), HEADS[:, :4])
    assert causes(permutation, failing(wrong, HEADS)) == []


@pytest.mark.parametrize(
    "wrong",
    [X + normal(10, 64, seed=1), normal(10, 64, seed=2), X * 2, replaced(X, slice(3, None), 0.0)],
    ids=["noise", "other numbers", "factor", "zeros"],
)
def test_other_errors_leave_it_silent(wrong: torch.Tensor) -> None:
    assert causes(permutation, failing(wrong, X)) == []


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bfloat16, torch.float16])
def test_narrow_formats_are_compared(dtype: torch.dtype) -> None:
    right = normal(40, 40).to(dtype)
    assert causes(permutation, failing(right.T.contiguous(), right)) == [LAYOUT]
    assert causes(permutation, failing(normal(40, 40, seed=1).to(dtype), right)) == []


def test_few_distinct_values_tell_nothing() -> None:
    right = (normal(64, 64) > 1).to(torch.int64)
    assert causes(permutation, failing(right.flip(1), right)) == []


@pytest.mark.parametrize("shape", [(7,), (4, 6), (4, 4), (2, 3, 8), (1, 5)])
def test_sources_lie_inside(shape: tuple[int, ...]) -> None:
    at = coordinates(torch.arange(torch.Size(shape).numel()), shape)
    assert torch.equal(flattened(at, shape), torch.arange(torch.Size(shape).numel()))
    for way in rearrangements(shape):
        sources, known = way.sources(at)
        assert bool(((sources >= 0) & (sources < torch.Size(shape).numel())).all())
        assert known.dtype is torch.bool
