"""Distances against counting representable numbers in plain Python."""

from __future__ import annotations

import math
import struct

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.numerics.formats import torch_dtype
from opsdebug_ci.numerics.ulp import NO_DISTANCE, finite_distance, ordered, ulp_distance

FLOATS = tuple(FLOAT_FORMATS)
SMALL = tuple(name for name, f in FLOAT_FORMATS.items() if f.bits <= 16)


def every_finite_value(name: str) -> torch.Tensor:
    """All finite numbers of a format of at most 16 bits, ascending and without repeats (-0 and +0 are one)."""
    bits = FLOAT_FORMATS[name].bits
    values = torch.arange(2**bits).to(getattr(torch, f"int{bits}")).view(torch_dtype(name)).to(torch.float64)
    return torch.unique(values[values.isfinite()]).to(torch_dtype(name))


def distance(name: str, left: float, right: float) -> int:
    dtype = torch_dtype(name)
    actual, expected = (torch.tensor([v], dtype=torch.float64).to(dtype) for v in (left, right))
    return int(ulp_distance(actual, expected)[0])


def struct_position(value: float, code: str) -> int:
    """Position of a float on the number line of its format, from its packed bytes."""
    (bits,) = struct.unpack(code.upper().translate(str.maketrans("FDE", "IQH")), struct.pack(code, abs(value)))
    return -int(bits) if math.copysign(1, value) < 0 else int(bits)


@pytest.mark.parametrize("name", SMALL)
def test_neighbours_are_one_apart_over_the_whole_format(name: str) -> None:
    values = every_finite_value(name)
    positions = ordered(values)
    assert positions.numel() > 200
    assert torch.equal(positions, torch.arange(positions.numel()) - positions.numel() // 2)
    assert ulp_distance(values[1:], values[:-1]).tolist() == [1] * (positions.numel() - 1)


@given(left=st.floats(allow_nan=False, allow_infinity=False), right=st.floats(allow_nan=False, allow_infinity=False))
def test_float64_distances_match_the_packed_bytes(left: float, right: float) -> None:
    exact = abs(struct_position(left, ">d") - struct_position(right, ">d"))
    assert distance("float64", left, right) == min(exact, NO_DISTANCE)


floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(left=floats32, right=floats32)
def test_float32_distances_match_the_packed_bytes(left: float, right: float) -> None:
    assert distance("float32", left, right) == abs(struct_position(left, ">f") - struct_position(right, ">f"))


@given(value=st.floats(allow_nan=False, allow_infinity=False, max_value=1e308))
def test_the_next_number_is_one_away(value: float) -> None:
    assert distance("float64", value, math.nextafter(value, math.inf)) == 1


@pytest.mark.parametrize(
    ("name", "from_zero_to_one"),
    [("bfloat16", 16256), ("float16", 15360), ("float32", 1065353216), ("float8_e4m3fn", 56), ("float8_e5m2", 60)],
)
def test_zero_to_one_counts_every_number_between(name: str, from_zero_to_one: int) -> None:
    assert distance(name, 0.0, 1.0) == distance(name, -1.0, -0.0) == from_zero_to_one
    assert distance(name, -1.0, 1.0) == 2 * from_zero_to_one


@pytest.mark.parametrize("name", FLOATS)
def test_the_two_zeros_are_no_distance_apart(name: str) -> None:
    assert distance(name, 0.0, -0.0) == 0


@pytest.mark.parametrize("name", FLOATS)
def test_infinity_is_not_one_step_from_the_largest_number(name: str) -> None:
    largest = FLOAT_FORMATS[name].max_finite
    beyond = math.inf if FLOAT_FORMATS[name].has_infinity else math.nan
    assert distance(name, largest, beyond) == NO_DISTANCE
    assert distance(name, beyond, beyond) == NO_DISTANCE
    assert distance(name, math.nan, 1.0) == NO_DISTANCE
    assert distance(name, -beyond, -largest) == NO_DISTANCE
    assert distance(name, -largest, -beyond) == NO_DISTANCE
    assert distance(name, largest, largest) == 0


def test_opposite_ends_of_float64_saturate_instead_of_wrapping() -> None:
    largest = FLOAT_FORMATS["float64"].max_finite
    assert distance("float64", -largest, largest) == NO_DISTANCE
    assert distance("float64", -2.0, 2.0) == NO_DISTANCE  # exactly 2**63
    assert distance("float64", -2.0, math.nextafter(2.0, 0)) == NO_DISTANCE  # 2**63 - 1, the cap itself
    assert distance("float64", -1.0, 1.0) == 2 * 0x3FF0000000000000


def test_views_and_scalars_keep_their_shape() -> None:
    values = torch.arange(12, dtype=torch.float32).reshape(3, 4).t()
    assert ulp_distance(values, values + 0).tolist() == [[0] * 3] * 4
    assert ulp_distance(torch.tensor(1.0), torch.tensor(1.0)).shape == ()
    assert ulp_distance(torch.ones(0, 3), torch.ones(0, 3)).shape == (0, 3)


def test_other_shapes_or_dtypes_are_refused() -> None:
    with pytest.raises(ShapeMismatchError, match=r"\(2,\).*\(3,\)"):
        ulp_distance(torch.ones(2), torch.ones(3))
    with pytest.raises(InternalError, match="round it first"):
        ulp_distance(torch.ones(2), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2])
def test_finite_distances_are_the_distances(dtype: torch.dtype) -> None:
    largest = torch.finfo(dtype).max
    right = torch.tensor([0.0, 1.0, largest, -1.0, -largest, -0.0], dtype=torch.float64).to(dtype)
    left = torch.tensor([1.0, 0.5, 0.0, -largest, -1.0, -1.0], dtype=torch.float64).to(dtype)
    assert finite_distance(left, right).tolist() == ulp_distance(left, right).tolist()
    assert finite_distance(left, right).dtype != torch.int64 or dtype == torch.float64
    negated = (-left.to(torch.float64)).to(dtype)
    assert finite_distance(negated, right).tolist() == ulp_distance(negated, right).tolist()
    assert finite_distance(left[:0], right[:0]).tolist() == []
