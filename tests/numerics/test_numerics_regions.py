"""A region over tensors of other shapes, and what its elements are like; numpy says what is right."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from opsdebug_ci.model.attribution import Alignment
from opsdebug_ci.model.region import parse_region, region_text, resolve
from opsdebug_ci.numerics.regions import align, region_mask, region_of, summarise_values, tally

SHAPE = (3, 4, 5)
CPU = torch.device("cpu")


def mask(text: str, shape: tuple[int, ...] = SHAPE) -> torch.Tensor:
    return region_mask(resolve(parse_region(text), shape, "it"), shape, CPU)


def test_a_mask_is_true_inside_alone() -> None:
    assert mask("[1, *, 2..3]").nonzero().tolist() == [[1, row, column] for row in range(4) for column in (2, 3)]


def test_a_region_of_a_mask_is_the_smallest_that_holds_it() -> None:
    bad = torch.zeros(SHAPE, dtype=torch.bool)
    bad[0, 1, 4] = bad[2, 3, 2] = True
    assert region_text(region_of(bad)) == "[0..2, 1..3, 2..4]"
    assert region_of(torch.zeros(SHAPE, dtype=torch.bool)) is None
    assert region_of(torch.tensor(True)) == ()


def test_values_are_summarised_as_numpy_does() -> None:
    values = np.random.default_rng(0).normal(size=101).astype(np.float32)
    found = summarise_values(torch.from_numpy(values))
    wide = values.astype(np.float64)
    wanted = (wide.min(), wide.max(), wide.mean(), wide.std())
    assert (found.minimum, found.maximum, found.mean, found.deviation) == pytest.approx(wanted)
    assert found.size.p50 == np.sort(np.abs(wide))[50]
    assert (found.count, found.nan, found.infinite, found.zero, found.subnormal) == (101, 0, 0, 0, 0)


@pytest.mark.parametrize(("dtype", "tiny"), [(torch.float32, 1e-40), (torch.float16, 1e-6), (torch.bfloat16, 1e-39)])
def test_special_values_are_counted_and_left_out_of_the_numbers(dtype: torch.dtype, tiny: float) -> None:
    nan, inf = float("nan"), float("inf")
    found = summarise_values(torch.tensor([nan, inf, -inf, 0.0, -0.0, tiny, 1.0], dtype=dtype))
    assert (found.nan, found.infinite, found.zero, found.subnormal) == (1, 2, 2, 1)
    assert (found.minimum, found.maximum) == (0.0, 1.0)


def test_nothing_has_no_numbers() -> None:
    found = summarise_values(torch.empty(0))
    assert (found.count, found.minimum, found.mean, found.size.max) == (0, None, None, None)


@pytest.mark.parametrize("values", [torch.tensor([True, False, True]), torch.tensor([1, 0, 1])])
def test_integers_and_truths_are_numbers_too(values: torch.Tensor) -> None:
    assert summarise_values(values).mean == pytest.approx(2 / 3)


def test_rows_are_counted_where_the_region_touches_them() -> None:
    bad = torch.zeros(SHAPE, dtype=torch.bool)
    bad[1, 2, 2:4] = bad[1, 3, 2] = bad[0, 0, 0] = True
    found = tally(bad, mask("[1, *, 2..3]"))
    assert (found.elements, found.bad, found.rows, found.bad_rows, found.all_bad_rows) == (8, 3, 4, 2, 1)


@pytest.mark.parametrize(
    ("shape", "alignment", "inside"),
    [
        ((3, 4, 5), Alignment.ELEMENTS, 2),
        ((5,), Alignment.ELEMENTS, 2),
        ((4, 1), Alignment.ELEMENTS, 2),
        ((3, 4, 7), Alignment.LEADING, 7),
        ((3, 9), Alignment.LEADING, 9),
        ((8, 5), Alignment.TRAILING, 16),
        ((6, 7), Alignment.WHOLE, 42),
    ],
)
def test_inputs_are_aligned_by_the_axes_they_share(shape: tuple[int, ...], alignment: Alignment, inside: int) -> None:
    found = align("x", torch.ones(shape), SHAPE).summary(mask("[1, 2, 3..4]"))
    assert (found.alignment, found.inside.count) == (alignment, inside)


def test_rows_of_an_operand_are_the_features_of_its_rows_of_the_output() -> None:
    operand = torch.tensor([[1.0, -9.0], [2.0, 3.0], [0.0, 0.5]])
    features = {feature.name: feature.values for feature in align("a", operand, (3, 7)).features()}
    assert features["largest |.| of a"].tolist() == [[9.0], [3.0], [0.5]]
    assert features["mean of a"].tolist() == [[-4.0], [2.5], [0.25]]
