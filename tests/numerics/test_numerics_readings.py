"""Readings against a plain loop over Python floats, integers and rationals."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.model.accuracy import ClassMismatch, Quantiles
from opsdebug_ci.numerics.cosine import CHUNK
from opsdebug_ci.numerics.readings import Readings, read

NONE = Quantiles(p50=None, p95=None, p99=None, max=None)
ZERO = Quantiles(p50=0.0, p95=0.0, p99=0.0, max=0.0)
LARGEST = 1.7976931348623157e308
MIN_NORMAL = {"float16": 2.0**-14, "float32": 2.0**-126}
CODES = {"float16": ("<e", "<H", 11), "float32": ("<f", "<I", 24)}

elements = st.floats(-1e6, 1e6) | st.sampled_from((0.0, -0.0, 65519.0, 70000.0, math.inf, -math.inf, math.nan, 1e-7))


def float64(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def packed(value: float, name: str) -> float:
    """Round to the format by struct."""
    try:
        return float(struct.unpack(CODES[name][0], struct.pack(CODES[name][0], value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def position(value: float, name: str) -> int:
    """Place on the number line of the format."""
    magnitude = int(struct.unpack(CODES[name][1], struct.pack(CODES[name][0], abs(value)))[0])
    return -magnitude if value < 0 else magnitude


def ranked(errors: list[Any]) -> Quantiles:
    ordered = sorted(errors)
    p50, p95, p99 = (float(ordered[math.ceil(len(ordered) * q / 100) - 1]) for q in (50, 95, 99))
    return Quantiles(p50=p50, p95=p95, p99=p99, max=float(ordered[-1]))


def loop(actual: list[float], expected: list[float], name: str) -> Readings:
    """The definitions of `Accuracy`, one element at a time, for a flat tensor of float16 or float32."""
    rounded = [packed(y, name) for y in expected]
    usable = [i for i, (a, r) in enumerate(zip(actual, rounded, strict=True)) if math.isfinite(a) and math.isfinite(r)]
    mean_square = mpmath.fsum([mpmath.mpf(expected[i]) ** 2 for i in usable]) / max(1, len(usable))
    floor = max(2.0**-20 * float(mpmath.sqrt(mean_square)), MIN_NORMAL[name])
    absolute = [abs(Fraction(actual[i]) - Fraction(expected[i])) for i in usable]
    relative = [float(e / Fraction(max(abs(expected[i]), floor))) for e, i in zip(absolute, usable, strict=True)]
    distances = [abs(position(actual[i], name) - position(rounded[i], name)) for i in usable]
    held = CODES[name][2] * math.log10(2)
    if not usable:
        return nothing(len(actual))
    median = ranked(relative).p50 or 0.0
    return Readings(
        compared=len(actual),
        finite=len(usable),
        cosine=exact_cosine(actual, expected) if len(usable) == len(actual) else None,
        max_abs_err=float(max(absolute)),
        max_abs_index=(usable[max(range(len(usable)), key=lambda k: absolute[k])],),
        rel_err=ranked(relative),
        ulp=ranked(distances),
        significant_digits=held if median == 0 else max(0.0, min(held, -math.log10(median))),
        misrounding_rate=sum(d > 0 for d in distances) / len(usable),
    )


def exact_cosine(left: list[float], right: list[float]) -> float:
    squares = mpmath.fdot(left, left) * mpmath.fdot(right, right)
    if squares == 0:
        return float(any(left) == any(right))
    return float(mpmath.fdot(left, right) / mpmath.sqrt(squares))


def nothing(compared: int) -> Readings:
    return Readings(
        compared=compared,
        finite=0,
        cosine=None,
        max_abs_err=None,
        max_abs_index=None,
        rel_err=NONE,
        ulp=NONE,
        significant_digits=None,
        misrounding_rate=None,
    )


def agree(found: Readings, wanted: Readings) -> None:
    """Equal but for the last bits of float64 arithmetic, which also decide where the worst of two near-equals is."""
    for field in ("compared", "finite", "ulp", "misrounding_rate"):
        assert getattr(found, field) == getattr(wanted, field), field
    for field in ("cosine", "max_abs_err", "significant_digits"):
        assert close(getattr(found, field), getattr(wanted, field)), field
    for field in ("p50", "p95", "p99", "max"):
        assert close(getattr(found.rel_err, field), getattr(wanted.rel_err, field)), field


def close(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-13)


@pytest.mark.parametrize("name", ["float16", "float32"])
@given(data=st.data())
def test_every_reading_against_the_loop(name: str, data: st.DataObject) -> None:
    expected = data.draw(st.lists(elements, min_size=1, max_size=40), label="expected")
    noise = st.sampled_from((0.0, 0.0, 2.0**-11, -(2.0**-10), 0.5))
    perturbed = [data.draw(elements | noise.map(lambda n, y=y: y * (1 + n)), label="actual") for y in expected]
    actual = torch.tensor(perturbed, dtype=torch.float64).to(getattr(torch, name))
    found = read(actual, float64(*expected))
    wanted = loop(actual.to(torch.float64).tolist(), expected, name)
    agree(found, wanted)
    at = found.max_abs_index
    assert close(None if at is None else abs(actual[at].item() - expected[at[0]]), wanted.max_abs_err)


def test_the_rounded_reference_is_as_good_as_it_gets() -> None:
    expected = torch.linspace(1, 2, 1000, dtype=torch.float64)
    found = read(expected.to(torch.float32), expected)
    assert (found.ulp, found.misrounding_rate, found.compared, found.finite) == (ZERO, 0.0, 1000, 1000)
    assert found.max_abs_err is not None
    assert 0 < found.max_abs_err <= 2.0**-24
    assert found.significant_digits == pytest.approx(24 * math.log10(2), abs=0.5)


def test_an_exact_answer_has_no_error_and_all_digits() -> None:
    values = torch.arange(-4, 5).to(torch.float16).reshape(3, 3)
    assert read(values, values.to(torch.float64)) == Readings(
        compared=9,
        finite=9,
        cosine=1.0,
        max_abs_err=0.0,
        max_abs_index=(0, 0),
        rel_err=ZERO,
        ulp=ZERO,
        significant_digits=11 * math.log10(2),
        misrounding_rate=0.0,
    )


def test_a_double_rounding_shows_as_misrounding() -> None:
    expected = torch.full((8,), 1 + 2.0**-11 + 2.0**-40, dtype=torch.float64)
    twice = expected.to(torch.float32).to(torch.float16)
    assert read(twice, expected).misrounding_rate == 1.0
    assert read(twice, expected).ulp == Quantiles(p50=1.0, p95=1.0, p99=1.0, max=1.0)
    once = torch.full((8,), 1 + 2.0**-10, dtype=torch.float16)
    assert read(once, expected).misrounding_rate == 0.0


def test_one_wrong_element_is_found_where_it_is() -> None:
    expected = torch.ones(6, 7, dtype=torch.float64)
    actual = expected.to(torch.float32)
    actual[4, 2] = 1.5
    found = read(actual, expected)
    assert (found.max_abs_err, found.max_abs_index) == (0.5, (4, 2))
    assert found.ulp == Quantiles(p50=0.0, p95=0.0, p99=float(2**22), max=float(2**22))
    assert found.misrounding_rate == 1 / 42
    assert read(actual.t(), expected.t()).max_abs_index == (2, 4)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [(math.nan, math.nan), (math.inf, math.inf), (math.nan, 1.0), (1.0, math.nan), (math.inf, 65504.0), (65504.0, 7e4)],
)
def test_pairs_that_are_not_finite_stay_out_of_the_errors(actual: float, expected: float) -> None:
    output = torch.tensor([1.0, actual, 1.25], dtype=torch.float16)
    found = read(output, float64(1.0, expected, 1.0))
    assert (found.compared, found.finite) == (3, 2)
    assert (found.max_abs_err, found.max_abs_index, found.misrounding_rate) == (0.25, (2,), 0.5)
    assert found.ulp.max == 256.0


def test_cosine_is_undefined_beside_a_non_finite_element() -> None:
    output = torch.tensor([1.0, math.nan], dtype=torch.float16)
    assert read(output, float64(1.0, math.nan)).cosine is None
    assert read(output.nan_to_num(2.0), float64(1.0, 2.0)).cosine == 1.0


def test_nothing_finite_is_compared_but_not_read() -> None:
    dropped = ClassMismatch(expected="normal", actual="nan", count=1, first_index=(1,))
    found = read(torch.full((2,), math.nan), float64(math.nan, 1.0))
    assert found == replace(nothing(2), classes=(dropped,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_of_an_empty_tensor_nothing_is_compared(dtype: torch.dtype) -> None:
    reference = torch.float64 if dtype == torch.float32 else dtype
    assert read(torch.empty(0, 4, dtype=dtype), torch.empty(0, 4, dtype=reference)) == nothing(0)


def test_the_two_zeros_are_equal_here() -> None:
    found = read(torch.tensor([-0.0, 0.0]), float64(0.0, -0.0))
    assert (found.ulp, found.rel_err, found.misrounding_rate, found.cosine) == (ZERO, ZERO, 0.0, 1.0)


def test_the_floor_keeps_zero_crossings_from_dominating() -> None:
    expected = torch.ones(4, dtype=torch.float64)
    expected[0] = 0.0
    actual = expected.to(torch.float32)
    actual[0] = 2.0**-24
    assert read(actual, expected).rel_err.max == pytest.approx(2.0**-4 / math.sqrt(3 / 4))
    tiny = torch.zeros(4, dtype=torch.float64)
    assert read(tiny.to(torch.float32) + 2.0**-140, tiny).rel_err.max == 2.0**-14  # floor: min normal


def test_the_ends_of_float64_saturate() -> None:
    found = read(float64(-LARGEST), float64(LARGEST))
    assert found.max_abs_err == LARGEST
    assert found.rel_err.max == pytest.approx(1.0)
    assert found.ulp.max == float(2**63)
    assert found.significant_digits == 0.0
    assert read(float64(1e300), float64(1e-300)).rel_err.max == LARGEST


def test_saturating_format_is_read_within_its_range() -> None:
    output = torch.tensor([448.0, -448.0, 2.0]).to(torch.float8_e4m3fn)
    found = read(output, float64(1e10, -500.0, 2.0))
    assert (found.max_abs_err, found.misrounding_rate, found.finite, found.cosine) == (0.0, 0.0, 3, 1.0)
    wrong = torch.tensor([416.0, -448.0, 2.0]).to(torch.float8_e4m3fn)
    assert read(wrong, float64(1e10, -500.0, 2.0)).max_abs_err == 32.0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float64])
def test_every_float_format_reads_one_ulp(dtype: torch.dtype) -> None:
    expected = float64(1.0, 1.0, 1.0)
    actual = expected.clone()
    actual[1] = 1.0 + torch.finfo(dtype).eps
    found = read(actual.to(dtype), expected)
    assert (found.ulp.max, found.max_abs_err, found.max_abs_index) == (1.0, torch.finfo(dtype).eps, (1,))


def test_integers_are_compared_as_integers() -> None:
    found = read(torch.tensor([2**53 + 1, 5]), torch.tensor([2**53, 5]))
    assert (found.max_abs_err, found.max_abs_index, found.finite) == (1.0, (0,), 2)
    assert found.rel_err.max == 2.0**-53
    assert (found.ulp, found.significant_digits, found.misrounding_rate) == (NONE, None, None)
    in_float64 = torch.tensor([2**53 + 1]).to(torch.float64) - 2.0**53
    assert in_float64.item() == 0.0  # the defect this guards against
    narrow = read(torch.tensor([2**24 + 1], dtype=torch.int32), torch.tensor([2**24], dtype=torch.int32))
    assert narrow.max_abs_err == 1.0


@given(pairs=st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)] * 2), min_size=1, max_size=30))
def test_int64_against_python_integers(pairs: list[tuple[int, int]]) -> None:
    actual, expected = ([pair[side] for pair in pairs] for side in (0, 1))
    found = read(torch.tensor(actual), torch.tensor(expected))
    absolute = [abs(a - y) for a, y in pairs]
    capped = [min(e, 2**63 - 1) for e in absolute]
    assert found.max_abs_index == (capped.index(max(capped)),)
    assert found.max_abs_err == float(absolute[capped.index(max(capped))])
    square = Fraction(sum(y * y for y in expected), len(expected))
    floor = max(2.0**-20 * math.sqrt(square), 1.0)
    relative = ranked([e / max(abs(y), floor) for e, y in zip(capped, expected, strict=True)])
    assert found.rel_err.max == pytest.approx(relative.max, rel=1e-12)
    assert found.rel_err.p50 == pytest.approx(relative.p50, rel=1e-12)


def test_bool_and_bytes() -> None:
    flags = read(torch.tensor([True, False, True]), torch.tensor([True, True, True]))
    assert (flags.max_abs_err, flags.max_abs_index) == (1.0, (1,))
    octets = read(torch.tensor([0, 255], dtype=torch.uint8), torch.tensor([255, 255], dtype=torch.uint8))
    assert (octets.max_abs_err, octets.max_abs_index, octets.rel_err.max) == (255.0, (0,), 1.0)


@pytest.mark.parametrize("size", [2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1])
def test_the_last_element_of_the_last_chunk_counts(size: int) -> None:
    expected = torch.ones(size, dtype=torch.float64)
    actual = expected.to(torch.float32)
    actual[-1] = 3.0
    found = read(actual, expected)
    assert (found.max_abs_err, found.max_abs_index, found.misrounding_rate) == (2.0, (size - 1,), 1 / size)
    counts = torch.zeros(size, dtype=torch.int32)
    counts[-1] = 7
    assert read(counts, torch.zeros(size, dtype=torch.int32)).max_abs_index == (size - 1,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_of_equal_errors_the_first_is_named_across_chunks(dtype: torch.dtype) -> None:
    expected = torch.zeros(CHUNK + 5, dtype=torch.float64 if dtype == torch.float32 else dtype)
    actual = torch.zeros(CHUNK + 5, dtype=dtype)
    actual[3], actual[7], actual[CHUNK + 1] = -2, 2, 2
    assert read(actual, expected).max_abs_index == (3,)


def test_views_read_as_their_contiguous_copies() -> None:
    generator = torch.Generator().manual_seed(3)
    expected = torch.randn(6, 10, dtype=torch.float64, generator=generator)
    actual = expected.to(torch.bfloat16)
    found = read(actual.t()[::2], expected.t()[::2])
    assert found == read(actual.t()[::2].contiguous(), expected.t()[::2].contiguous())
    assert found.compared == 30
    assert read(torch.tensor(1.5), torch.tensor(1.0, dtype=torch.float64)).max_abs_index == ()
    assert read(torch.ones(1).expand(5), torch.ones(5, dtype=torch.float64)).compared == 5


def test_arguments_are_left_as_they_are() -> None:
    actual, expected = torch.tensor([1.0, -2.0], requires_grad=True), float64(1.0, 500.0)
    read(actual, expected)
    assert actual.tolist() == [1.0, -2.0]
    assert expected.tolist() == [1.0, 500.0]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ShapeMismatchError, match=r"\(2,\).*\(3,\)"):
        read(torch.ones(2), torch.ones(3, dtype=torch.float64))
    with pytest.raises(InternalError, match=r"wanted a float dtype, best float64, for a torch\.float16 output"):
        read(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.int64))
    with pytest.raises(InternalError, match=r"wanted torch\.int32 for a torch\.int32 output"):
        read(torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.int64))


DTYPES = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]


def noisy(name: str, size: int, noise: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """A reference in float64, and an output some ulps beside it."""
    generator = torch.Generator().manual_seed(size)
    expected = torch.randn(size, dtype=torch.float64, generator=generator)
    step = torch.finfo(getattr(torch, name)).eps * noise
    output = expected * (1 + step * torch.randn(size, dtype=torch.float64, generator=generator))
    return output.to(getattr(torch, name)), expected


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (2, 1, 5), (3, 3)])
def test_every_shape_reads_as_the_flat_one(name: str, shape: tuple[int, ...]) -> None:
    actual, expected = noisy(name, math.prod(shape))
    found, flat = read(actual.reshape(shape), expected.reshape(shape)), read(actual, expected)
    assert replace(found, max_abs_index=None, classes=()) == replace(flat, max_abs_index=None, classes=())
    assert found.compared == math.prod(shape)
    assert (found.max_abs_index is None) == (math.prod(shape) == 0)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_a_narrow_reference_reads_as_its_widened_copy(name: str) -> None:
    actual, expected = noisy(name, 2 * CHUNK + 3)
    for narrow in (expected.float(), expected.to(actual.dtype)):
        assert read(actual, narrow) == read(actual, narrow.double())


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@pytest.mark.parametrize("hole", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", ["actual", "expected", "both"])
def test_what_is_not_finite_is_left_out_wherever_it_stands(name: str, hole: float, side: str) -> None:
    actual, expected = noisy(name, 5 * CHUNK)
    keep = torch.ones(actual.numel(), dtype=torch.bool)
    keep[[0, 3 * CHUNK - 1, 3 * CHUNK, 4 * CHUNK + 7]] = False
    rest = read(actual[keep], expected[keep])
    for values in {"actual": [actual], "expected": [expected], "both": [actual, expected]}[side]:
        values[~keep] = hole
    found = read(actual, expected)
    assert rest.max_abs_index is not None
    assert found.max_abs_index == (int(keep.nonzero()[rest.max_abs_index[0]]),)
    ignored = {"compared": 0, "cosine": None, "max_abs_index": None, "classes": ()}
    assert replace(found, **ignored, rel_err=NONE, significant_digits=None) == replace(
        rest, **ignored, rel_err=NONE, significant_digits=None
    )
    assert found.rel_err.max == pytest.approx(rest.rel_err.max, rel=1e-12)  # sums of other blocks: another last bit
    assert found.cosine is None
    assert [cell.count for cell in found.classes] == ([] if side == "both" else [4])


def test_classes_are_told_from_every_block() -> None:
    expected = torch.ones(3 * CHUNK, dtype=torch.float64)
    actual = expected.float()
    actual[5], expected[5] = -0.0, 0.0
    actual[2 * CHUNK + 1], actual[CHUNK] = 0.0, 1e-40
    assert read(actual, expected).classes == (
        ClassMismatch(expected="+0", actual="-0", count=1, first_index=(5,)),
        ClassMismatch(expected="normal", actual="+0", count=1, first_index=(2 * CHUNK + 1,)),
        ClassMismatch(expected="normal", actual="subnormal", count=1, first_index=(CHUNK,)),
    )


@pytest.mark.parametrize("view", ["turned", "strided", "expanded"])
def test_long_views_read_as_their_contiguous_copies(view: str) -> None:
    flat, truth = noisy("float32", 6 * CHUNK)
    actual, expected = (
        {
            "turned": values.reshape(3, -1).t(),
            "strided": values.reshape(-1, 3)[:, 1],
            "expanded": values[: CHUNK // 2].expand(5, CHUNK // 2),
        }[view]
        for values in (flat, truth)
    )
    found, copied = read(actual, expected), read(actual.contiguous(), expected.contiguous())
    assert replace(found, cosine=None) == replace(copied, cosine=None)
    assert found.cosine == pytest.approx(copied.cosine, rel=1e-12)


def test_extreme_magnitudes_have_their_cosine_and_floor() -> None:
    for scale in (1e300, 1e-300, 5e-324):
        expected = float64(4.0, -8.0, 16.0) * scale
        actual = expected.clone()
        actual[1] *= 0.5
        found = read(actual, expected)
        assert found.cosine == pytest.approx(exact_cosine([4.0, -4.0, 16.0], [4.0, -8.0, 16.0]))
        assert found.max_abs_index == (1,)
    assert read(float64(0.0, 1e-200), float64(0.0, 0.0)).cosine == 0.0


@pytest.mark.parametrize("name", ["float16", "float32"])
@pytest.mark.parametrize("hole", [None, math.nan])
def test_places_of_a_transposed_pair_are_those_of_its_copy(name: str, hole: float | None) -> None:
    """The same largest error and the same class mismatch stand in many places, first in memory not first in C order."""
    flat, truth = noisy(name, 5 * CHUNK)
    actual, expected = (values.reshape(-1, 5).clone() for values in (flat, truth))
    actual[[3, 1, -1], [0, 4, 2]], expected[[3, 1, -1], [0, 4, 2]] = 64.0, 0.5
    actual[[9, 7], [0, 4]], expected[[9, 7], [0, 4]] = -0.0, 0.0
    if hole is not None:
        actual[[8, 6], [1, 3]] = hole
    found, copied = read(actual.t(), expected.t()), read(actual.t().contiguous(), expected.t().contiguous())
    assert found.max_abs_index == (0, 3)
    assert found.classes[0].first_index == (0, 9)
    assert len(found.classes) == (1 if hole is None else 2)
    if found.cosine is not None:
        assert found.cosine == pytest.approx(copied.cosine, rel=1e-12)
    assert replace(found, cosine=None) == replace(copied, cosine=None)
