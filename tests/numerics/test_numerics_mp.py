"""The oracle against the decimal module (another library, 120 digits) and the C library."""

from __future__ import annotations

import decimal
import math
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opsdebug_ci.errors import EnvironmentLimitError, InternalError, UsageError
from opsdebug_ci.numerics.mp import FUNCTIONS, available, evaluate, sample_indices

ONE, TWO = Decimal(1), Decimal(2)


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with decimal.localcontext() as context:
        context.prec, context.Emax, context.Emin = 120, decimal.MAX_EMAX, decimal.MIN_EMIN
        yield


def series(x: Decimal, ratio: Callable[[int], Fraction], first: Decimal) -> Decimal:
    """first * (1 + r1*x*x + r1*r2*x**4 + ...) until terms vanish."""
    with decimal.localcontext() as context:
        context.prec = 400  # terms up to about 10**100 cancel
        term, total, n = first, Decimal(0), 1
        while abs(term) > Decimal(10) ** -250:
            total += term
            step = ratio(n)
            term, n = term * x * x * step.numerator / step.denominator, n + 1
        return total


def decimal_pi() -> Decimal:
    """Machin's formula with integers."""

    def arctan_inverse(n: int) -> int:
        unit, total, k = 10**140, 0, 0
        while unit // (n ** (2 * k + 1)) > 0:
            total += (-1) ** k * (unit // (n ** (2 * k + 1) * (2 * k + 1)))
            k += 1
        return total

    return Decimal(f"{4 * (4 * arctan_inverse(5) - arctan_inverse(239))}e-140")


PI = decimal_pi()


def sine(x: Decimal) -> Decimal:
    return series(x, lambda n: Fraction(-1, 2 * n * (2 * n + 1)), x)


def cosine(x: Decimal) -> Decimal:
    return series(x, lambda n: Fraction(-1, 2 * n * (2 * n - 1)), ONE)


def error_function(x: Decimal) -> Decimal:
    return 2 / PI.sqrt() * series(x, lambda n: Fraction(-(2 * n - 1), n * (2 * n + 1)), x)


def bessel(order: int) -> Callable[[Decimal], Decimal]:
    """Abramowitz and Stegun, 9.1.10."""
    return lambda x: series(x, lambda n: Fraction(-1, 4 * n * (n + order)), (x / 2) ** order if order else ONE)


def shifted(x: Decimal) -> tuple[list[Decimal], Decimal]:
    """x, x+1, ... below 60, and the first beyond, where the asymptotic series has 60 digits."""
    steps = [x + k for k in range(max(0, 60 - math.floor(x)))]
    return steps, x + len(steps)


BERNOULLI = [Fraction(*pair) for pair in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6),
    (-3617, 510), (43867, 798), (-174611, 330), (854513, 138), (-236364091, 2730), (8553103, 6),
    (-23749461029, 870), (8615841276005, 14322))]  # fmt: skip
"""B_2, B_4, ..."""


def log_gamma(x: Decimal) -> Decimal:
    """Abramowitz and Stegun, 6.1.15 and 6.1.41."""
    steps, z = shifted(x)
    total = (z - Decimal("0.5")) * z.ln() - z + (2 * PI).ln() / 2
    for k, b in enumerate(BERNOULLI, 1):
        total += Decimal(b.numerator) / b.denominator / (2 * k * (2 * k - 1)) / z ** (2 * k - 1)
    return total - sum(step.ln() for step in map(abs, steps))


def digamma(x: Decimal) -> Decimal:
    """Abramowitz and Stegun, 6.3.5 and 6.3.18."""
    steps, z = shifted(x)
    total = z.ln() - 1 / (2 * z)
    for k, b in enumerate(BERNOULLI, 1):
        total -= Decimal(b.numerator) / b.denominator / (2 * k) / z ** (2 * k)
    return total - sum(1 / step for step in steps)


def gelu(x: Decimal) -> Decimal:
    return x / 2 * (1 + error_function(x / TWO.sqrt()))


def gelu_tanh(x: Decimal) -> Decimal:
    inner = (2 / PI).sqrt() * (x + Decimal("0.044715") * x**3)
    return x / 2 * (1 + hyperbolic_tangent(inner))


def hyperbolic_tangent(x: Decimal) -> Decimal:
    return ((2 * x).exp() - 1) / ((2 * x).exp() + 1)


def mish(x: Decimal) -> Decimal:
    return x * hyperbolic_tangent((1 + x.exp()).ln())


EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "acosh": lambda x: (x + (x * x - 1).sqrt()).ln(),
    "asinh": lambda x: (x + (x * x + 1).sqrt()).ln(),
    "atanh": lambda x: ((1 + x) / (1 - x)).ln() / 2,
    "cos": cosine,
    "cosh": lambda x: (x.exp() + (-x).exp()) / 2,
    "digamma": digamma,
    "erf": error_function,
    "erfc": lambda x: 1 - error_function(x),
    "exp": lambda x: x.exp(),
    "exp2": lambda x: (x * TWO.ln()).exp(),
    "expm1": lambda x: x.exp() - 1,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "lgamma": log_gamma,
    "log": lambda x: x.ln(),
    "log10": lambda x: x.log10(),
    "log1p": lambda x: (1 + x).ln(),
    "log2": lambda x: x.ln() / TWO.ln(),
    "logsigmoid": lambda x: -(1 + (-x).exp()).ln(),
    "mish": mish,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / x.sqrt(),
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "silu": lambda x: x / (1 + (-x).exp()),
    "sin": sine,
    "sinh": lambda x: (x.exp() - (-x).exp()) / 2,
    "softplus": lambda x: (1 + x.exp()).ln(),
    "special_bessel_j0": bessel(0),
    "special_bessel_j1": bessel(1),
    "sqrt": lambda x: x.sqrt(),
    "tan": lambda x: sine(x) / cosine(x),
    "tanh": hyperbolic_tangent,
}
LIBM = {"acos": math.acos, "asin": math.asin, "atan": math.atan}
EXP_LIKE = ("exp", "exp2", "expm1", "cosh", "sinh", "sigmoid", "silu", "softplus", "logsigmoid", "mish")
RANGES = {
    "acosh": (1.0, 50.0),
    "atanh": (-0.999, 0.999),
    "digamma": (2.0, 50.0),
    "erfc": (-8.0, 8.0),
    "lgamma": (3.0, 50.0),
}


def range_of(name: str) -> tuple[float, float]:
    low, high = FUNCTIONS[name].domain
    return RANGES.get(name, (max(low, -12.0) if low else 1e-12, min(high, 12.0)))


def one(name: str, x: float) -> float:
    return evaluate(name, torch.tensor([x], dtype=torch.float64)).item()


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def test_every_function_has_a_second_path() -> None:
    assert set(EXACT) | set(LIBM) == set(FUNCTIONS)
    assert available() is None


@pytest.mark.parametrize("name", EXACT)
@given(data=st.data())
def test_rounded_once_from_the_exact_value(name: str, data: st.DataObject) -> None:
    low, high = range_of(name)
    x = data.draw(st.floats(low, high).filter(lambda v: abs(v) > 1e-12), label="x")
    assert one(name, x) == float(EXACT[name](Decimal(x)))


@pytest.mark.parametrize("name", EXP_LIKE)
@settings(max_examples=50)
@given(x=st.floats(-760, 760).filter(lambda v: abs(v) > 1))
@example(x=-744.9)
@example(x=-708.5)
@example(x=709.9)
def test_tails_subnormal_and_overflowing(name: str, x: float) -> None:
    with decimal.localcontext() as context:
        context.prec = 360  # 1 + exp(-760) needs 330
        assert same(one(name, x), float(EXACT[name](Decimal(x))))


@pytest.mark.parametrize("name", LIBM)
@given(x=st.floats(-1, 1))
def test_within_two_units_of_the_c_library(name: str, x: float) -> None:
    library = LIBM[name](x)
    assert abs(one(name, x) - library) <= 2 * math.ulp(library)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("gelu", -12.0, -6 * math.erfc(12 / math.sqrt(2))),  # the tail that a float64 1 + erf loses
        ("gelu", -8.0, -4 * math.erfc(8 / math.sqrt(2))),
        ("gelu", -20.0, -10 * math.erfc(20 / math.sqrt(2))),  # 1 + erf would need 90 digits
        ("sin", 1e22, -0.8522008497671888),  # argument reduction; Muller et al., Handbook, section 10.2
        ("log1p", 1e-300, 1e-300),
        ("expm1", -1e-300, -1e-300),
        ("exp2", -1074.0, 5e-324),
        ("log2", 2.0**-1074, -1074.0),
        ("rsqrt", 2.0**-1074, 2.0**537),
        ("atanh", -1.0, -math.inf),
        ("log1p", -1.0, -math.inf),
    ],
)
def test_known_hard_values(name: str, x: float, expected: float) -> None:
    assert one(name, x) == pytest.approx(expected, rel=1e-8, abs=0)


def test_the_framework_tail_is_a_defect_that_shows() -> None:
    x = torch.tensor([-8.0], dtype=torch.float64)
    framework = x * 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))
    assert abs(framework / evaluate("gelu", x) - 1).item() > 0.01


@pytest.mark.parametrize("x", [-708.7, -720.3, -740.123, -744.44])
def test_subnormal_results_are_the_nearest(x: float) -> None:
    exact = Decimal(x).exp()
    assert Fraction(one("exp", x)) == round(Fraction(exact) * 2**1074) * Fraction(1, 2**1074)


@pytest.mark.parametrize(
    ("name", "at_zero", "at_minus_zero", "at_minus_infinity", "at_infinity"),
    [
        ("exp", 1.0, 1.0, 0.0, math.inf),
        ("log", -math.inf, -math.inf, math.nan, math.inf),
        ("sqrt", 0.0, -0.0, math.nan, math.inf),
        ("rsqrt", math.inf, -math.inf, math.nan, 0.0),
        ("reciprocal", math.inf, -math.inf, -0.0, 0.0),
        ("sin", 0.0, -0.0, math.nan, math.nan),
        ("cos", 1.0, 1.0, math.nan, math.nan),
        ("tanh", 0.0, -0.0, -1.0, 1.0),
        ("gelu", 0.0, -0.0, -0.0, math.inf),
        ("silu", 0.0, -0.0, -0.0, math.inf),
        ("sigmoid", 0.5, 0.5, 0.0, 1.0),
        ("softplus", math.log(2), math.log(2), 0.0, math.inf),
        ("logsigmoid", -math.log(2), -math.log(2), -math.inf, -0.0),
        ("acos", math.pi / 2, math.pi / 2, math.nan, math.nan),
    ],
)
def test_special_values(
    name: str, at_zero: float, at_minus_zero: float, at_minus_infinity: float, at_infinity: float
) -> None:
    wanted = (at_zero, at_minus_zero, at_minus_infinity, at_infinity, math.nan)
    found = [one(name, x) for x in (0.0, -0.0, -math.inf, math.inf, math.nan)]
    assert all(same(a, b) for a, b in zip(found, wanted, strict=True)), (found, wanted)


@pytest.mark.parametrize(
    ("name", "x"), [("log", -1.0), ("sqrt", -5e-324), ("asin", 1.0000000000000002), ("acosh", 0.5)]
)
def test_outside_the_domain_is_nan(name: str, x: float) -> None:
    assert math.isnan(one(name, x))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_ends_of_float64_are_quick_and_have_the_right_sign(name: str) -> None:
    ends = torch.tensor([1.7e308, -1.7e308, 5e-324, -5e-324], dtype=torch.float64)
    values = evaluate(name, ends)
    low, high = FUNCTIONS[name].domain
    if name == "digamma":
        low = -1.0  # every large negative number is a pole
    assert torch.isnan(values).tolist() == [not low <= end <= high for end in ends.tolist()]


def test_shape_is_kept_and_global_precision_untouched() -> None:
    before = mpmath.mp.dps
    values = torch.linspace(1, 2, 6, dtype=torch.float64).reshape(2, 3).t()
    answer = evaluate("sqrt", values)
    assert answer.tolist() == [[float(Decimal(value).sqrt()) for value in row] for row in values.tolist()]
    assert evaluate("sqrt", torch.empty(0, 4, dtype=torch.float64)).shape == (0, 4)
    assert mpmath.mp.dps == before


def test_without_mpmath_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpmath", None)
    assert available() == "mpmath is not installed in the worker's interpreter"
    with pytest.raises(EnvironmentLimitError, match=r"mpmath is not installed.*\n  next: pip install mpmath"):
        evaluate("exp", torch.ones(1, dtype=torch.float64))


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UsageError, match="`function` is 'softmax'; wanted one of acos"):
        evaluate("softmax", torch.ones(1, dtype=torch.float64))
    with pytest.raises(InternalError, match=r"wanted torch\.float64"):
        evaluate("exp", torch.ones(1))


@example(numel=186630, count=75, stream=1047)  # the first element of a stretch whose end was rounded down
@given(numel=st.integers(0, 10**12), count=st.integers(0, 300), stream=st.integers(0, 2**64 - 1))
def test_samples_are_spread_and_distinct(numel: int, count: int, stream: int) -> None:
    numel = numel if numel > count else min(numel, 300)
    chosen = sample_indices(numel, count, stream).tolist()
    assert len(chosen) == min(numel, count)
    assert chosen == sorted(set(chosen))
    assert all(0 <= index < numel for index in chosen)
    # Stretch i is [i, i + 1) * numel / count with its ends rounded down.
    wide = [
        (Fraction(i * numel, count), Fraction((i + 1) * numel, count)) for i in range(count if numel > count else 0)
    ]
    assert all(low - 1 < index < high for index, (low, high) in zip(chosen, wide, strict=False))


def test_samples_are_the_same_everywhere_and_differ_by_stream() -> None:
    assert sample_indices(1000, 5, 7).tolist() == [92, 255, 520, 722, 830]
    assert sample_indices(1000, 5, 8).tolist() != [92, 255, 520, 722, 830]
    assert sample_indices(3, 5, 7).tolist() == [0, 1, 2]
