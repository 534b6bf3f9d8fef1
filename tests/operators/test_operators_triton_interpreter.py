"""The mended interpreter, value by value: every pattern of bfloat16 and float8, and what Triton's language defines.

The truth is found by looking: the nearest of all values of a format, in float64 or in exact integers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch

from opsdebug_ci.catalogue.triton_runtime import DEVICES, unavailable_reason
from opsdebug_ci.operators import limit_met, triton_interpreter

if unavailable_reason() is not None or DEVICES != ("cpu",):
    pytest.skip("kernels are not interpreted here", allow_module_level=True)

from interpreted_kernels import (
    adds_atomically,
    computes,
    converts,
    device_function,
    elementwise,
    last,
    products,
    reduces,
    scaled,
)

ALL = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
FINITE = np.arange(0x7F80, dtype=np.uint32)
VALUES = (FINITE << 16).view(np.float32).astype(np.float64)
PAST = 2.0**128
"""Where a value past the largest would stand."""


def nearest(values: np.ndarray) -> np.ndarray:
    """Nearest bfloat16 of float64 values, ties to the even code; infinity from halfway past the largest on."""
    table = np.append(VALUES, PAST)
    size = np.abs(values)
    below = np.clip(np.searchsorted(table, size, side="right") - 1, 0, len(table) - 2)
    down, up = size - table[below], table[below + 1] - size
    code = below + ((down > up) | ((down == up) & (below % 2 == 1)))
    code = np.where(np.isinf(size), 0x7F80, np.minimum(code, 0x7F80))
    code = np.where(np.isnan(values), 0x7FC0, code | (np.signbit(values).astype(np.int64) << 15))
    return (code.astype(np.uint32) << 16).view(np.float32)


def same(actual: torch.Tensor, expected: np.ndarray) -> bool:
    """Equal values, NaN where NaN is, zeros of equal sign."""
    got = actual.double().numpy()
    want = np.asarray(expected, dtype=np.float64)
    nan = np.isnan(want)
    return bool(np.array_equal(got, want, equal_nan=True) and (np.signbit(got) == np.signbit(want))[~nan].all())


def convert(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return elementwise(converts, [x], torch.empty(x.shape, dtype=dtype))


def compute(what: str, *operands: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    x, y, z = (*operands, operands[0], operands[0])[:3]
    return elementwise(computes, [x, y, z], torch.empty(x.shape, dtype=dtype or x.dtype), WHAT=what)


def halfway(dtype: type) -> np.ndarray:
    """Every bfloat16, every middle between two, and the numbers of `dtype` on either side of each middle."""
    middles = ((VALUES + np.append(VALUES[1:], PAST)) / 2).astype(dtype)
    beside = [np.nextafter(middles, dtype(0)), np.nextafter(middles, dtype(np.inf))]
    some = np.concatenate([VALUES.astype(dtype), middles, *beside, [dtype(np.inf), dtype(np.nan)]])
    return np.concatenate([some, -some])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int32])
def test_every_bfloat16_is_converted_exactly(dtype: torch.dtype) -> None:
    with np.errstate(all="ignore"):
        x = ALL[ALL.abs() < 2**31] if dtype is torch.int32 else ALL
        wide = x.double().numpy()
        expected = np.trunc(wide) + 0.0 if dtype is torch.int32 else wide.astype(str(dtype).removeprefix("torch."))
    assert same(convert(x, dtype), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_middle_rounds_to_the_even_bfloat16_and_its_neighbours_do_not(dtype: type) -> None:
    values = halfway(dtype)
    assert same(convert(torch.from_numpy(values), torch.bfloat16), nearest(values.astype(np.float64)))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_integers_become_the_nearest_bfloat16(dtype: torch.dtype) -> None:
    ends = torch.iinfo(dtype)
    random = torch.randint(max(ends.min, -(2**53)), min(ends.max, 2**53), (4096,), generator=seeded(1))
    x = torch.cat([random, torch.arange(0, 127), torch.tensor([min(ends.max, 2**53)])]).to(dtype)
    assert same(convert(x, torch.bfloat16), nearest(x.double().numpy()) + 0.0)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def patterns(seed: int, size: int = 1 << 17) -> torch.Tensor:
    """bfloat16 of random bits, and as many near 1 that meet in ties."""
    bits = torch.randint(-(2**15), 2**15, (size // 2,), generator=seeded(seed)).to(torch.int16).view(torch.bfloat16)
    close = torch.randint(-512, 512, (size // 2,), generator=seeded(seed + 99)).to(torch.bfloat16) / 64
    return torch.cat([bits, close])


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.fmax,
    "max_nan": np.maximum,
    "min": np.fmin,
    "less": np.less,
    "where": lambda a, b: np.where(a >= b, a, b),
    "neg": lambda a, _: -a,
    "abs": lambda a, _: np.abs(a),
    "tenth": lambda a, _: a * nearest(np.array([0.1])).astype(np.float64),
}
"""Operations by their truth in float64, where sums of close and products of all bfloat16 numbers are exact or, as
quotients, further from a middle than float64 errs."""


@pytest.mark.parametrize("what", BINARY)
def test_arithmetic_on_bfloat16_rounds_once(what: str) -> None:
    x, y = patterns(2), patterns(3)
    with np.errstate(all="ignore"):
        expected = nearest(np.asarray(BINARY[what](x.double().numpy(), y.double().numpy()), dtype=np.float64))
    zero = (
        0.0 if what in ("max", "max_nan", "min", "neg") else -0.0
    )  # which zero is larger is not defined, nor is that -x is no 0 - x
    assert same(compute(what, x, y) + zero, expected + np.float32(zero))


def test_every_bfloat16_is_compared_negated_and_kept() -> None:
    assert torch.equal(compute("equal", ALL, ALL, dtype=torch.int32), (ALL == ALL).int())  # noqa: PLR0124 - NaN
    assert same(compute("abs", ALL), ALL.double().abs().numpy())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_fma_rounds_once(dtype: torch.dtype) -> None:
    def some(seed: int) -> torch.Tensor:
        wide = torch.randn(3000, dtype=torch.float64, generator=seeded(seed))
        return (wide * 2.0 ** torch.randint(-6, 6, (3000,), generator=seeded(seed + 1))).to(dtype)

    x, y = some(4), some(6)
    z = torch.cat([-(x.double() * y.double())[:1500].to(dtype), some(8)[1500:]])
    exact = [
        Fraction(a) * Fraction(b) + Fraction(c) for a, b, c in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    ]
    got = [Fraction(v) for v in compute("fma", x, y, z).tolist()]
    for direction in (torch.tensor(torch.inf), torch.tensor(-torch.inf)):
        beside = torch.nextafter(compute("fma", x, y, z), direction.to(dtype)).tolist()
        pairs = zip(exact, got, beside, strict=True)
        assert all(abs(e - g) <= abs(e - Fraction(b)) for e, g, b in pairs)


FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("wide", [torch.float32, torch.float16, torch.bfloat16])
def test_every_float8_is_converted_and_rounded_as_hardware_does(dtype: torch.dtype, wide: torch.dtype) -> None:
    codes = torch.arange(256, dtype=torch.uint8).view(dtype)
    assert same(convert(codes, wide), codes.double().numpy())
    positive = codes[:128].float()
    positive = positive[positive.isfinite()]
    middles = (positive[1:] + positive[:-1]) / 2
    beyond = torch.tensor([positive.max() * 1.01, 1e4, 65504.0, torch.inf, torch.nan])
    x = torch.cat([positive, middles, middles * (1 + 2**-7), middles * (1 - 2**-7), beyond])
    x = torch.cat([x, -x]).to(wide)
    largest = positive.max().item()
    assert same(convert(x, dtype), x.float().clamp(-largest, largest).to(dtype).double().numpy())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_sums_round_at_every_step_of_a_tree(dtype: torch.dtype) -> None:
    x = torch.randn(1024, generator=seeded(10)).to(dtype)
    expected = x
    while len(expected) > 1:
        expected = expected[0::2] + expected[1::2]
    out = torch.empty(1, dtype=dtype)
    reduces[(1,)](x, out, SIZE=1024, WHAT="sum")
    assert torch.equal(out, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int32])
@pytest.mark.parametrize("what", ["max", "min", "argmax", "argmin", "cumsum", "cumsum_reverse", "cumprod", "sort"])
def test_reductions_and_scans(what: str, dtype: torch.dtype) -> None:
    x = torch.randint(-3, 4, (16,), generator=seeded(11)).to(dtype)
    flipped = x.double().flip(0)
    truth = {
        "max": x.max,
        "min": x.min,
        "argmax": lambda: (x == x.max()).int().argmax(),
        "argmin": lambda: (x == x.min()).int().argmax(),
        "cumsum": lambda: x.double().cumsum(0),
        "cumsum_reverse": lambda: flipped.cumsum(0).flip(0),
        "cumprod": lambda: x.double().cumprod(0),
        "sort": lambda: x.sort().values,
    }[what]()
    out = torch.empty(truth.shape, dtype=torch.int32 if what.startswith("arg") else dtype)
    reduces[(1,)](x, out, SIZE=16, WHAT=what)
    assert torch.equal(out.double(), truth.double())


@pytest.mark.parametrize("what", ["max", "min", "argmax"])
def test_a_row_of_nan_has_an_extreme_and_one_nan_is_passed_over(what: str) -> None:
    out = torch.zeros(1, dtype=torch.int32 if what == "argmax" else torch.float32)
    reduces[(1,)](torch.full((8,), torch.nan), out, SIZE=8, WHAT=what)
    assert what == "argmax" or out.isnan().all()
    reduces[(1,)](torch.tensor([1.0, torch.nan]), out, SIZE=2, WHAT=what)
    assert out.item() == (0 if what == "argmax" else 1)


def test_a_combining_function_of_ones_own_keeps_the_order() -> None:
    x = torch.randn(4, 256, generator=seeded(12))
    out = torch.empty(4 + 4 * 256)
    last[(1,)](x, out, ROWS=4, SIZE=256)
    assert torch.equal(out[:4], x[:, -1])
    assert torch.equal(out[4:].view(4, 256), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn])
def test_products_accumulate_values_and_not_patterns(dtype: torch.dtype) -> None:
    a, b = (torch.randint(-4, 5, (16, 16), generator=seeded(s)).float().to(dtype) for s in (13, 14))
    out = torch.empty(16, 16)
    products[(1,)](a, b, out, SIZE=16)
    assert torch.equal(out, a.float() @ b.float())


def test_atomic_sums_of_bfloat16_meet_in_one_place() -> None:
    to, old = torch.full((4,), 256, dtype=torch.bfloat16), torch.empty(16, dtype=torch.bfloat16)
    adds_atomically[(1,)](to, torch.arange(16) % 3, torch.ones(16, dtype=torch.bfloat16), old, SIZE=16)
    assert to.tolist() == [256] * 4  # 256 + 1 is a tie, which goes to the even 256, every time
    adds_atomically[(1,)](to, torch.arange(16) % 3, torch.full((16,), 2, dtype=torch.bfloat16), old, SIZE=16)
    assert to.tolist() == [268, 266, 266, 256]
    assert old[:6].tolist() == [256, 256, 256, 258, 258, 258]


@pytest.mark.parametrize("factor", [0.3, 1.0, -2.5, 3])
def test_a_scalar_argument_is_a_scalar_of_the_kernel(factor: float) -> None:
    x, out = torch.randn(16, generator=seeded(15)).to(torch.bfloat16), torch.empty(16)
    scaled[(1,)](x, out, factor, SIZE=16)
    wide = x.float() * torch.tensor(factor, dtype=torch.float32)
    assert torch.equal(out, wide)  # bfloat16 meets another type in float32, an integer too


@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.int64])
def test_integers_divide_toward_zero_and_wrap(dtype: torch.dtype) -> None:
    x = torch.randint(-100, 100, (512,), generator=seeded(16)).to(dtype)
    y = torch.randint(1, 9, (512,), generator=seeded(17)).to(dtype) * torch.where(torch.arange(512) % 2 > 0, 1, -1).to(
        dtype
    )
    assert torch.equal(compute("floordiv", x, y), torch.div(x, y, rounding_mode="trunc"))
    assert torch.equal(compute("mod", x, y), torch.fmod(x, y))
    assert torch.equal(compute("shift", x), x >> 3)
    most = torch.full((4,), torch.iinfo(dtype).max, dtype=dtype)
    assert torch.equal(compute("add", most, most), most + most)
    assert torch.equal(compute("mul", most, most), most * most)


def test_float16_overflows_to_infinity() -> None:
    x = torch.tensor([65504.0, 65519.0, 65520.0, 1e30, -65520.0, 2.0**-25, 2.0**-24 * 1.5])
    assert convert(x, torch.float16).tolist() == [65504, 65504, torch.inf, torch.inf, -torch.inf, 0, 2.0**-23]


@pytest.mark.parametrize("what", ["tanh", "round", "rsqrt", "isnan"])
def test_functions_of_libdevice(what: str) -> None:
    x = torch.tensor([0.5, 1.5, 2.5, 3.25, 7.0, 0.1, 100.0, torch.nan])
    wide = x.double()
    truth = {
        "tanh": wide.tanh(),
        "round": (wide + 0.5).floor(),
        "rsqrt": wide.rsqrt(),
        "isnan": wide.isnan().double(),
    }[what]
    out = torch.empty(8)
    device_function[(1,)](x, out, SIZE=8, WHAT=what)
    assert torch.equal(out.nan_to_num(9), truth.float().nan_to_num(9))


def test_what_the_interpreter_lacks_is_a_limit_and_a_mistake_is_not() -> None:
    with pytest.raises(Exception, match="byte_perm") as lacking:
        device_function[(1,)](torch.ones(8), torch.empty(8), SIZE=8, WHAT="byte_perm")
    assert limit_met(lacking.value) == (
        "limit of this machine: Triton's interpreter cannot run it (no `__nv_byte_perm` in interpreter mode)"
    )
    with pytest.raises(Exception, match="UnboundLocalError") as mistaken:
        device_function[(1,)](torch.ones(8), torch.empty(8), SIZE=8, WHAT="nothing")
    assert limit_met(mistaken.value) is None
    assert limit_met(NotImplementedError("of the operator's own")) is None


def test_a_driver_that_is_not_there_is_a_limit() -> None:
    with pytest.raises((AssertionError, RuntimeError)) as raised:
        torch.empty(1, device="cuda")
    assert str(limit_met(raised.value)).startswith("limit of this machine: no accelerator driver (")


def test_triton_is_not_imported_and_mended_when_it_was_before() -> None:
    lines = (
        "import sys",
        "from opsdebug_ci.operators import mend_when_imported, triton_interpreter",
        "assert 'triton' not in sys.modules",
        "import triton.language",
        "mend_when_imported()",
        "convert = sys.modules['triton.runtime.interpreter']._convert_float",
        "assert convert.__module__ == triton_interpreter.__name__",
    )
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", "\n".join(lines)], env=environment, check=True)
    assert triton_interpreter.unmended == []
