"""Cuts of tensors: every element once, in C order, in views and in several threads."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.numerics.blocks import BLOCK, Blocks


def starts_and_sizes(blocks: Blocks) -> list[tuple[int, int]]:
    return blocks.each(lambda: lambda start, sides: (start, sides[0].numel()))


@given(shape=st.lists(st.integers(0, 9), max_size=4), turned=st.booleans())
def test_small_tensors_are_one_block_in_c_order(shape: list[int], turned: bool) -> None:
    values = torch.arange(math.prod(shape)).reshape(shape)
    values = values.permute(tuple(reversed(range(values.ndim)))) if turned else values
    seen = Blocks(values).each(lambda: lambda start, sides: (start, sides[0].tolist()))
    assert seen == ([(0, values.flatten().tolist())] if values.numel() else [])


VIEWS = {
    "flat": torch.arange(3 * BLOCK + 5),
    "turned": torch.arange(3 * BLOCK).reshape(BLOCK, 3).t(),
    "strided": torch.arange(2 * 5 * BLOCK).reshape(5, BLOCK, 2)[..., 1],
    "expanded": torch.arange(7).expand(BLOCK // 2, 7),
    "long rows": torch.arange(4 * (BLOCK + 3)).reshape(2, 2, BLOCK + 3)[:, 1:],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_element_comes_once_in_its_place(name: str, threads: int) -> None:
    values = VIEWS[name]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = Blocks(values).each(lambda: lambda start, sides: (start, sides[0].clone()))
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert torch.equal(torch.cat([block for _, block in found]), values.flatten())
    sizes = [block.numel() for _, block in found]
    assert [start for start, _ in found] == [sum(sizes[:number]) for number in range(len(sizes))]
    assert max(sizes) <= BLOCK


def test_contiguous_blocks_are_views_of_the_tensor() -> None:
    values = torch.zeros(2, BLOCK)
    Blocks(values).each(lambda: lambda start, sides: sides[0].fill_(start))
    assert values[:, 5].tolist() == [0.0, float(BLOCK)]


def test_sides_are_cut_alike_whatever_their_strides() -> None:
    left = torch.arange(6 * BLOCK).reshape(6, BLOCK)
    right = left.t().contiguous().t()
    assert all(Blocks(left, right).each(lambda: lambda _, sides: torch.equal(*sides)))
    assert starts_and_sizes(Blocks(left, right)) == starts_and_sizes(Blocks(right, left))


def test_an_exception_of_a_thread_is_raised() -> None:
    def work(start: int, sides: tuple[torch.Tensor, ...]) -> None:
        if start == 3 * BLOCK:
            raise ZeroDivisionError(sides[0].numel())

    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError, match=str(BLOCK)):
        Blocks(torch.zeros(5 * BLOCK)).each(lambda: work)
    assert torch.get_num_threads() == before


def test_a_sample_is_taken_by_position() -> None:
    values = torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1)
    positions = torch.tensor([0, 23, 7])
    assert Blocks(values).sample(positions)[0].tolist() == values.flatten()[positions].tolist()


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_sides_that_lie_alike_come_as_they_lie(axes: tuple[int, ...]) -> None:
    """No copy, and every position leads back to its element."""
    values = torch.arange(5 * BLOCK).reshape(5, BLOCK // 128, 128).permute(axes)
    blocks = Blocks(values, values.double(), any_order=True)
    turn = blocks.in_c_order
    assert turn is not None

    def work(start: int, sides: tuple[torch.Tensor, ...]) -> bool:
        places = turn(start + torch.arange(sides[0].numel()))
        return torch.equal(values.flatten()[places], sides[0]) and sides[0]._is_view()

    assert blocks.each(lambda: work) == [True] * 5
    positions = torch.tensor([0, 3 * BLOCK + 7, 11])
    assert torch.equal(blocks.sample(positions)[0], values.flatten()[turn(positions)])


def test_sides_that_lie_otherwise_come_in_c_order() -> None:
    values = torch.arange(24).reshape(4, 6)
    for sides in ((values, values.clone()), (values.t(), values.t().contiguous()), (values[:, ::2], values[:, 1::2])):
        blocks = Blocks(*sides, any_order=True)
        assert blocks.in_c_order is None
        assert blocks.each(lambda: lambda start, parts: parts[0].tolist()) == [sides[0].flatten().tolist()]
