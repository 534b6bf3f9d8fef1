"""Rounding and spacing against exact rationals: no torch arithmetic decides what is right."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError, UsageError
from opsdebug_ci.model.dtype import DTYPE_NAMES, FLOAT_FORMATS, FloatFormat
from opsdebug_ci.numerics.formats import (
    dtype_name,
    float_format,
    is_finite,
    is_float_dtype,
    magnitude_bits,
    max_finite_bits,
    round_to,
    rounded,
    signed_bits,
    torch_dtype,
    ulp_of,
)

FORMATS = tuple(FLOAT_FORMATS.values())
NARROW = tuple(f for f in FORMATS if f.precision < 24)


def exponent_of(value: Fraction) -> int:
    """floor(log2 |value|), by integers."""
    magnitude = abs(value)
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if magnitude >= Fraction(2) ** guess else guess - 1


def exact_spacing(value: float, number_format: FloatFormat) -> Fraction:
    smallest = Fraction(2) ** (number_format.min_exponent - number_format.precision + 1)
    if value == 0:
        return smallest
    top = Fraction(number_format.max_finite)
    exponent = exponent_of(min(abs(Fraction(value)), top))
    return max(smallest, Fraction(2) ** (exponent - number_format.precision + 1))


def exact_rounding(value: float, number_format: FloatFormat) -> float:
    """Nearest number of the format, ties to even, by rationals; overflow as in `rounded`."""
    if math.isnan(value):
        return value
    top = Fraction(number_format.max_finite)
    overflow = math.inf if number_format.has_infinity else number_format.max_finite
    if math.isinf(value):
        return math.copysign(overflow, value)
    spacing = exact_spacing(value, number_format)
    nearest = round(abs(Fraction(value)) / spacing) * spacing  # Python rounds a Fraction half to even
    return math.copysign(overflow if nearest > top else float(nearest), value)


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def float64(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@st.composite
def near_ties(draw: st.DrawFn, number_format: FloatFormat) -> float:
    """A midpoint between two neighbours of the format, exact or off by a little."""
    low = number_format.min_exponent - number_format.precision
    high = min(math.frexp(number_format.max_finite)[1], 1021)
    exponent = draw(st.integers(low, high), label="exponent")
    significand = draw(st.integers(2**number_format.precision, 2 ** (number_format.precision + 1)), label="significand")
    nudge = draw(st.sampled_from((0, 1, -1)), label="nudge") * 2.0 ** draw(st.integers(-45, -20), label="nudge size")
    sign = draw(st.sampled_from((1.0, -1.0)), label="sign")
    return sign * math.ldexp(significand + nudge, exponent - number_format.precision)


@pytest.mark.parametrize("name", DTYPE_NAMES)
def test_every_format_name_has_a_dtype_and_back(name: str) -> None:
    assert dtype_name(torch_dtype(name)) == name
    assert is_float_dtype(torch_dtype(name)) is (name in FLOAT_FORMATS)


def test_unknown_formats_are_refused_with_what_was_wanted() -> None:
    with pytest.raises(UsageError, match=r"`dtype` is 'float128'; wanted one of float64"):
        torch_dtype("float128")
    with pytest.raises(UsageError, match=r"`dtype` is torch.complex64"):
        dtype_name(torch.complex64)
    with pytest.raises(UsageError, match=r"`dtype` is int32; wanted a floating-point format"):
        float_format(torch.int32)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_bit_facts_agree_with_torch(number_format: FloatFormat) -> None:
    dtype = torch_dtype(number_format.name)
    top = float64(number_format.max_finite, -number_format.max_finite, math.nan, 0.0, -0.0).to(dtype)
    assert magnitude_bits(top)[0].item() == max_finite_bits(number_format)
    assert top[0].to(torch.float64).item() == number_format.max_finite
    assert is_finite(top).tolist() == [True, True, False, True, True]
    assert signed_bits(top)[4].item() == -(2 ** (number_format.bits - 1))
    infinity = float64(math.inf).to(dtype)
    assert is_finite(infinity).item() is not number_format.has_infinity


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
@given(data=st.data())
def test_rounding_happens_once(number_format: FloatFormat, data: st.DataObject) -> None:
    values = st.floats(width=64) | near_ties(number_format)
    value = data.draw(values, label="value")
    answer = round_to(float64(value), torch_dtype(number_format.name)).item()
    assert same(answer, exact_rounding(value, number_format)), (answer, exact_rounding(value, number_format))


@given(value=st.floats(width=64))
@example(value=1.0 + 2.0**-24 + 2.0**-50)
def test_float32_rounding_agrees_with_struct(value: float) -> None:
    try:
        expected = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        expected = math.copysign(math.inf, value)
    assert same(round_to(float64(value), torch.float32).item(), expected)


@given(value=st.floats(width=64) | near_ties(FLOAT_FORMATS["float16"]))
def test_float16_rounding_agrees_with_struct(value: float) -> None:
    try:
        expected = struct.unpack("<e", struct.pack("<e", value))[0]
    except OverflowError:
        expected = math.copysign(math.inf, value)
    assert same(round_to(float64(value), torch.float16).item(), expected)


@pytest.mark.parametrize("number_format", NARROW, ids=lambda f: f.name)
@pytest.mark.parametrize("length", [1, 16, 67])
def test_double_rounding_is_a_defect_that_shows(number_format: FloatFormat, length: int) -> None:
    half_ulp = 2.0**-number_format.precision
    value = 1.0 + half_ulp + 2.0**-40  # just above a tie: nearest is 1 + ulp
    once = torch.full((length,), 1.0 + 2 * half_ulp, dtype=torch.float64)
    values = torch.full((length,), value, dtype=torch.float64)
    dtype = torch_dtype(number_format.name)
    twice = values.to(torch.float32).to(dtype).to(torch.float64)
    assert torch.equal(round_to(values, dtype), once)
    assert not torch.equal(twice, once)
    assert exact_rounding(value, number_format) == once[0].item()


@pytest.mark.parametrize("number_format", NARROW, ids=lambda f: f.name)
def test_every_number_of_a_narrow_format_is_its_own_rounding(number_format: FloatFormat) -> None:
    bits = torch.arange(2**number_format.bits).to(getattr(torch, f"int{number_format.bits}"))
    values = bits.view(torch_dtype(number_format.name))
    values = values[is_finite(values)]
    assert values.numel() > 200
    assert torch.equal(signed_bits(rounded(values.to(torch.float64), values.dtype)), signed_bits(values))


def test_float8_without_infinity_overflows_as_the_cast_from_float32_does() -> None:
    values = float64(448.0, 464.0, 464.0000001, 480.0, 1e10, -1e300, math.inf)
    cast = values.to(torch.float32).clamp(-1e30, 1e30).to(torch.float8_e4m3fn).to(torch.float64)
    assert torch.equal(round_to(values, torch.float8_e4m3fn), cast)


def test_rounding_keeps_shape_and_takes_views() -> None:
    values = torch.linspace(-3, 3, 24, dtype=torch.float64).reshape(4, 6).t()[::2]
    answer = round_to(values, torch.bfloat16)
    assert answer.shape == values.shape
    expected = [[exact_rounding(v, FLOAT_FORMATS["bfloat16"]) for v in row] for row in values.tolist()]
    assert answer.tolist() == expected


def test_rounding_wants_the_unrounded_value() -> None:
    with pytest.raises(InternalError, match=r"wanted torch\.float64"):
        round_to(torch.ones(2), torch.float16)
    with pytest.raises(InternalError, match=r"wanted torch\.float64"):
        ulp_of(torch.ones(2), FLOAT_FORMATS["float16"])


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
@given(data=st.data())
def test_spacing_is_exact(number_format: FloatFormat, data: st.DataObject) -> None:
    finite = st.floats(allow_nan=False, allow_infinity=False)
    value = data.draw(finite | near_ties(number_format), label="value")
    assert Fraction(ulp_of(float64(value), number_format).item()) == exact_spacing(value, number_format)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
def test_spacing_at_the_edges(number_format: FloatFormat) -> None:
    edges = (0.0, -0.0, number_format.min_subnormal, number_format.min_normal, 1.0, -number_format.max_finite)
    expected = [float(exact_spacing(edge, number_format)) for edge in edges]
    assert ulp_of(float64(*edges), number_format).tolist() == expected
    assert torch.isnan(ulp_of(float64(math.nan, math.inf, -math.inf), number_format)).all()


@pytest.mark.parametrize("number_format", NARROW, ids=lambda f: f.name)
def test_ties_round_alike_in_a_crowd_of_numbers_of_the_format(number_format: FloatFormat) -> None:
    dtype = torch_dtype(number_format.name)
    bits = torch.arange(2**number_format.bits).to(getattr(torch, f"int{number_format.bits}")).view(dtype)
    numbers = bits[is_finite(bits)].to(torch.float64).unique()
    ties = ((numbers[1:] + numbers[:-1]) / 2)[:: 1 + numbers.numel() // 997]  # a prime: all binades, both parities
    odd = torch.cat([ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40), float64(0.0, -0.0, 1e39, -1e39, math.inf)])
    answers = round_to(torch.cat([numbers.repeat(16), odd]), dtype)[-odd.numel() :].tolist()
    wanted = [exact_rounding(value, number_format) for value in odd.tolist()]
    assert all(map(same, answers, wanted))
