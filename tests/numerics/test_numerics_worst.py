"""The first largest of many, whatever the order of the blocks."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from opsdebug_ci.numerics.worst import Worst


@pytest.mark.parametrize(
    ("values", "position"),
    [
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0),
        ([0.0, 1.0, 3.0, 3.0, 3.0, 0.0], 2),
        ([0.0, 1.0, math.inf, 3.0, math.nan, math.nan], 4),
        ([0.0, math.inf, 2.0, 3.0, math.inf, 1.0], 1),
        ([0, 2**53, 2**53 + 1, 2**53 + 1, 0, 2**53], 2),
    ],
)
def test_the_first_largest_in_any_order_of_blocks(values: list[float], position: int) -> None:
    blocks = list(enumerate(torch.tensor(values).split(2)))
    for order in itertools.permutations(blocks):
        worst = Worst()
        for number, block in order:
            worst.note(block, 2 * number)
        assert worst.position == position
        assert str(worst.value) == str(values[position])


def test_places_say_where_the_elements_of_a_block_stand() -> None:
    worst = Worst()
    assert (worst.value, worst.position) == (None, None)
    worst.note(torch.tensor([1.0, 5.0]), 100, torch.tensor([3, 8]))
    assert (worst.value, worst.position) == (5.0, 108)
    worst.note(torch.tensor([5.0, 5.0]), 100, torch.tensor([2, 8]))
    assert worst.position == 102


@pytest.mark.parametrize("largest", [0.0, 5.0, math.inf, math.nan])
@pytest.mark.parametrize("sifted", [False, True])
def test_the_first_in_c_order_when_noted_in_another(largest: float, sifted: bool) -> None:
    """Six elements noted from the last to the first; those at 2 and 3 are the largest."""
    worst = Worst(lambda positions: 5 - positions)
    noted = torch.tensor([0.0, 0.0, largest, largest, 0.0, 0.0])
    for start in (0, 3):
        worst.note(noted[start : start + 3], start, torch.arange(3) if sifted else None)
    assert worst.position == (0 if largest == 0.0 else 2)
    assert str(worst.value) == str(largest)
