"""Rates, coordinates, samples, and which failures have a place at all."""

from __future__ import annotations

import math

import pytest
import torch
from patterns_notation import failing, normal, replaced

from opsdebug_ci.numerics.patterns.constants import constants
from opsdebug_ci.numerics.patterns.placement import bad_places, placed, rates, slices_text

RIGHT = normal(5, 8, 3)
BAD = normal(5, 8, 3, seed=1) > 1


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rates_are_those_of_a_loop(axis: int) -> None:
    wanted = [float(BAD.select(axis, index).float().mean()) for index in range(BAD.shape[axis])]
    assert rates(BAD, axis).tolist() == pytest.approx(wanted)


def test_samples_are_bad_places_spread_over_all() -> None:
    bad = torch.ones(10_000, dtype=torch.bool)
    places = bad_places(bad, 100)
    assert 50 <= len(places) <= 100
    assert int(places[-1]) > 9_800
    assert len(set((places % 4).tolist())) == 4
    assert bad_places(BAD, 1000).tolist() == BAD.flatten().nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (replaced(RIGHT, (0, 0), 9.0), RIGHT),
        (RIGHT + 1, RIGHT),
        (replaced(RIGHT, 0, 1.0), replaced(RIGHT, 0, math.nan)),
        (torch.tensor(2.0), torch.tensor(1.0)),
    ],
    ids=["three", "all", "NaN wanted", "no dimension"],
)
def test_some_failures_have_no_place(wrong: torch.Tensor, right: torch.Tensor) -> None:
    assert placed(failing(wrong, right)) is None


def test_others_have_one() -> None:
    failure = failing(replaced(RIGHT, 0, math.nan), RIGHT)
    assert placed(failure) is failure.bad


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        (7, 7, "the last of 8"),
        (6, 7, "the last 2 of 8"),
        (0, 2, "the first 3 of 8"),
        (3, 3, "index 3 of 8"),
        (3, 4, "3..4"),
    ],
)
def test_stretches_in_words(first: int, last: int, words: str) -> None:
    assert words in slices_text(1, 8, first, last)


def test_constants_are_positive_but_one_and_finite() -> None:
    found = list(constants(failing(RIGHT + 1, RIGHT, x=RIGHT, alpha=0.5, flag=True, nothing=0.0)))
    assert [one.name for one in found if one.value <= 0] == ["-1"]
    assert all(math.isfinite(one.value) and one.value != 1 for one in found)
    assert {"1/alpha", "sqrt(7/8)", "8/3", "1/2"} <= {one.name for one in found}
