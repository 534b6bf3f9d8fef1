"""Rounding once; truth is exact rational arithmetic over every value of the narrow formats."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdebug_ci.inputs.rounding import float_tensor, nearest, torch_dtype
from opsdebug_ci.model.dtype import DTYPE_NAMES, FLOAT_FORMATS

NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def grid(name: str) -> list[float]:
    """Every non-negative finite value of a format, ascending, from its bit patterns; even codes win ties."""
    dtype = torch_dtype(name)
    bits = FLOAT_FORMATS[name].bits
    codes = torch.arange(2 ** (bits - 1), dtype=torch.int32).to(torch.int16 if bits == 16 else torch.uint8)
    values = codes.view(dtype).to(torch.float64)
    return [value for value in values.tolist() if math.isfinite(value)]


GRIDS = {name: grid(name) for name in NARROW}


def rounded(value: float, name: str) -> float:
    """Nearest grid value, ties to the even code, saturating."""
    values = GRIDS[name]
    magnitude = abs(value)
    above = bisect_left(values, magnitude)
    if above == len(values):
        return math.copysign(values[-1], value)
    if above == 0:
        return math.copysign(values[0], value)
    down, up = (Fraction(magnitude) - Fraction(values[above - 1])), (Fraction(values[above]) - Fraction(magnitude))
    code = above - 1 if down < up or (down == up and (above - 1) % 2 == 0) else above
    return math.copysign(values[code], value)


@pytest.mark.parametrize("name", NARROW)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_nearest_agrees_with_exact_rationals(name: str, data: st.DataObject) -> None:
    exponent = data.draw(st.integers(FLOAT_FORMATS[name].min_exponent - 12, 20), label="exponent")
    mantissa = data.draw(st.integers(-(2**53), 2**53), label="mantissa")
    value = math.ldexp(mantissa, exponent - 53)
    actual = float(nearest(np.array([value]), FLOAT_FORMATS[name])[0])
    expected = rounded(value, name)
    assert (actual, math.copysign(1, actual)) == (expected, math.copysign(1, expected))


@pytest.mark.parametrize("name", NARROW)
def test_midpoints_go_to_the_even_code(name: str) -> None:
    values = GRIDS[name]
    middles = np.array([(low + high) / 2 for low, high in pairwise(values)])
    expected = [values[i] if i % 2 == 0 else values[i + 1] for i in range(len(middles))]
    assert nearest(middles, FLOAT_FORMATS[name]).tolist() == expected


def test_a_value_that_double_rounding_gets_wrong() -> None:
    # Just above a float16 midpoint by less than float32 sees: rounding through float32 falls back on the tie.
    value = 1.0 + 2.0**-11 + 2.0**-40
    assert float_tensor(np.array([value]), (1,), "float16").item() == 1.0 + 2.0**-10
    assert np.float16(np.float32(value)) == 1.0


@pytest.mark.parametrize("name", tuple(FLOAT_FORMATS))
def test_special_values(name: str) -> None:
    form = FLOAT_FORMATS[name]
    made = float_tensor(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308]), (6,), name).to(torch.float64)
    top = math.inf if form.has_infinity else form.max_finite
    assert math.isnan(made[0].item())
    assert made[1:3].tolist() == [top, -top]
    assert torch.signbit(made[3:5]).tolist() == [False, True]
    assert made[5].item() == (1e308 if name == "float64" else form.max_finite)


@pytest.mark.parametrize("name", DTYPE_NAMES)
def test_every_name_has_a_dtype(name: str) -> None:
    assert str(torch_dtype(name)) == f"torch.{name}"
