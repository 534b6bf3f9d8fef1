"""Tallies of a mask against a plain loop over it."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.numerics.tallies import LANES, Tallies, tallies


def check(bad: torch.Tensor, found: Tallies) -> None:
    """One loop over the mask in C order."""
    indices = list(itertools.product(*map(range, bad.shape)))
    wrong = [(position, index) for position, index in enumerate(indices) if bad[index]]
    assert (found.elements, found.bad) == (len(indices), len(wrong))
    for axis, size in enumerate(bad.shape):
        assert found.axes[axis] == tuple(sum(index[axis] == i for _, index in wrong) for i in range(size))
    assert [lane.width for lane in found.lanes] == list(LANES)
    for lane in found.lanes:
        residues = range(lane.width)
        assert lane.counts == tuple(sum(position % lane.width == r for position, _ in wrong) for r in residues)
        assert lane.sizes == tuple(len(range(r, len(indices), lane.width)) for r in residues)
    assert found.first_index == (wrong[0][1] if wrong else None)
    assert found.last_index == (wrong[-1][1] if wrong else None)


@given(shape=st.lists(st.integers(0, 7), max_size=3), seed=st.integers(0, 99), share=st.sampled_from((0.0, 0.1, 1.0)))
def test_every_count_against_the_loop(shape: list[int], seed: int, share: float) -> None:
    bad = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < share
    check(bad, tallies(bad))


@pytest.mark.parametrize("size", [127, 128, 129, 300])
def test_every_fourth_lane(size: int) -> None:
    bad = torch.arange(size) % 4 == 3
    check(bad, tallies(bad))
    lane = tallies(bad).lanes[1]
    assert (lane.width, lane.counts) == (4, (0, 0, 0, size // 4))


def test_a_view_is_counted_in_its_own_order() -> None:
    bad = torch.zeros(6, 40, dtype=torch.bool)
    bad[4, ::3] = True
    for view in (bad.t(), bad[::2, 1:], bad[4].expand(3, 40)):
        check(view, tallies(view))
