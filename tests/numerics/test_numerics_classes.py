"""Classes against math and struct; planted class differences must each show in their own cell."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.model.accuracy import NUMBER_CLASSES, ClassMismatch
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.numerics.classes import classify, confusion, unravel
from opsdebug_ci.numerics.formats import torch_dtype

FLOATS = tuple(FLOAT_FORMATS)


def named_class(value: float, min_normal: float) -> str:
    """Class of one number by comparisons of Python floats."""
    if math.isnan(value):
        return "nan"
    sign = "-" if math.copysign(1, value) < 0 else "+"
    if math.isinf(value):
        return f"{sign}inf"
    if value == 0:
        return f"{sign}0"
    return "subnormal" if abs(value) < min_normal else "normal"


def names(codes: torch.Tensor) -> list[str]:
    return [NUMBER_CLASSES[code] for code in codes.tolist()]


def float32(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


@pytest.mark.parametrize("name", [n for n in FLOATS if FLOAT_FORMATS[n].bits <= 16])
def test_every_number_of_a_narrow_format(name: str) -> None:
    bits = FLOAT_FORMATS[name].bits
    values = torch.arange(2**bits).to(getattr(torch, f"int{bits}")).view(torch_dtype(name))
    expected = [named_class(v, FLOAT_FORMATS[name].min_normal) for v in values.to(torch.float64).tolist()]
    assert names(classify(values, FLOAT_FORMATS[name])) == expected


@given(value=st.floats(width=64), name=st.sampled_from(FLOATS))
@example(value=2.0**-14, name="float16")
@example(value=math.nextafter(2.0**-14, 0), name="float16")
def test_float64_values_are_classed_by_the_format_asked_for(value: float, name: str) -> None:
    codes = classify(torch.tensor([value], dtype=torch.float64), FLOAT_FORMATS[name])
    assert names(codes) == [named_class(value, FLOAT_FORMATS[name].min_normal)]


@given(value=st.floats(width=32))
def test_float32_values(value: float) -> None:
    assert names(classify(float32(value), FLOAT_FORMATS["float32"])) == [named_class(value, 2.0**-126)]


def test_a_wider_format_has_no_subnormals_in_a_narrower_tensor() -> None:
    assert names(classify(float32(2.0**-149, 1.0, 0.0), FLOAT_FORMATS["float64"])) == ["normal", "normal", "+0"]


PLANTED = [
    ("dropped NaN", 1.0, math.nan, "normal", "nan"),
    ("invented NaN", math.nan, 1.0, "nan", "normal"),
    ("overflow", math.inf, 3.0e38, "+inf", "normal"),
    ("clamped infinity", 3.4028234663852886e38, math.inf, "normal", "+inf"),
    ("sign of infinity", -math.inf, math.inf, "-inf", "+inf"),
    ("sign of zero", 0.0, -0.0, "+0", "-0"),
    ("flushed subnormal", 0.0, 2.0**-140, "+0", "subnormal"),
    ("underflow", -0.0, -1.0, "-0", "normal"),
]


@pytest.mark.parametrize(("defect", "actual", "expected", "got", "wanted"), PLANTED, ids=[p[0] for p in PLANTED])
def test_a_planted_class_difference_is_found(
    defect: str, actual: float, expected: float, got: str, wanted: str
) -> None:
    values = torch.ones(4, 5)
    broken, reference = values.clone(), values.clone()
    broken[2, 1], reference[2, 1] = actual, expected
    broken[3, 4], reference[3, 4] = actual, expected
    found = confusion(broken, reference)
    assert found == (ClassMismatch(expected=wanted, actual=got, count=2, first_index=(2, 1)),)


def test_equal_classes_are_silent() -> None:
    values = float32(math.nan, math.inf, -math.inf, 0.0, -0.0, 2.0**-140, 1.0)
    assert confusion(values, values.clone()) == ()
    near = float32(math.nan, math.inf, -math.inf, 0.0, -0.0, 2.0**-141, -7.0)
    assert confusion(near, values) == ()


def test_nan_payload_and_sign_are_not_compared() -> None:
    payloads = torch.tensor([0x7FC00001, -1], dtype=torch.int32).view(torch.float32)
    assert confusion(payloads, float32(math.nan, math.nan)) == ()


def test_several_cells_each_count_and_find_their_first() -> None:
    expected = float32(math.nan, 1.0, math.nan, math.inf, 1.0, math.nan)
    actual = float32(1.0, 0.0, 1.0, math.inf, 1.0, -0.0)
    assert confusion(actual, expected) == (
        ClassMismatch(expected="nan", actual="-0", count=1, first_index=(5,)),
        ClassMismatch(expected="nan", actual="normal", count=2, first_index=(0,)),
        ClassMismatch(expected="normal", actual="+0", count=1, first_index=(1,)),
    )


def test_views_give_logical_indices_and_scalars_the_empty_one() -> None:
    reference = torch.ones(3, 4)
    broken = reference.clone()
    broken[2, 0] = math.nan
    assert [m.first_index for m in confusion(broken.t(), reference.t())] == [(0, 2)]
    assert [m.first_index for m in confusion(torch.tensor(math.nan), torch.tensor(1.0))] == [()]
    assert confusion(torch.ones(0, 3), torch.ones(0, 3)) == ()


def test_other_shapes_or_dtypes_are_refused() -> None:
    with pytest.raises(ShapeMismatchError, match=r"\(2,\).*\(3,\)"):
        confusion(torch.ones(2), torch.ones(3))
    with pytest.raises(InternalError, match="round it first"):
        confusion(torch.ones(2), torch.ones(2, dtype=torch.float64))


@given(shape=st.lists(st.integers(1, 5), max_size=4), data=st.data())
def test_flat_positions_become_indices(shape: list[int], data: st.DataObject) -> None:
    size = math.prod(shape)
    position = data.draw(st.integers(0, size - 1), label="position")
    index = unravel(position, tuple(shape))
    assert torch.arange(size).reshape(shape)[index].item() == position
