"""Scalar functions to more than fifty digits by mpmath: the reference that shares no code with torch.

Decides the true value of a function of one float64 number, correctly rounded to float64. Deliberately has no opinion
on tensors, reductions or NaN policy; sampling keeps it affordable.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from opsdebug_ci.errors import EnvironmentLimitError, InternalError, UsageError

DIGITS = 60
"""Decimal digits of every evaluation: 53 bits need 16, the rest decides all but one rounding in 10**40."""

_FAR = 10_000
"""exp(x) over- or underflows float64 long before |x| gets here, even times or divided by any float64."""

_EXPONENT_RANGE = 1100
"""Binary exponents limited to +-1100 round the same: float64 ends at 2**-1074 and 2**1024."""

_SIGNIFICAND_BITS = 256
"""More than the bits of DIGITS digits, so that a significand becomes an integer without loss."""

Context = Any
"""An mpmath context; mpmath ships no types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarFunction:
    """A function of one real number and its values where the formula does not apply."""

    formula: Callable[[Context, Any], Any]
    """Value at a finite non-zero number inside the domain, given an mpmath context and the number."""

    zero: float
    """Value at +0. At -0 it is the same, negated where `odd_zero`."""

    odd_zero: bool
    """Whether f(-0) = -f(+0): signed zeros and poles keep the sign of their argument."""

    limits: tuple[float, float]
    """Values at -inf and +inf: IEEE 754-2019, 9.2.1 where listed there, else the limit; NaN where there is none."""

    domain: tuple[float, float] = (-math.inf, math.inf)
    """Arguments below or above give NaN."""


def available() -> str | None:
    """None when mpmath can be imported in this interpreter, else the reason why the oracle cannot be used."""
    return None if importlib.util.find_spec("mpmath") else "mpmath is not installed in the worker's interpreter"


def sample_indices(numel: int, count: int, stream: int) -> torch.Tensor:
    """Choose flat positions spread over a tensor: one at random from each of `count` equal stretches.

    Random bits are raw Philox 4x64-10 words (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
    doi:10.1145/2063384.2063405), so they do not depend on the version of numpy.

    Args:
        numel: elements to choose from, >= 0.
        count: how many are wanted, >= 0.
        stream: key of the random stream, 0 ... 2**64 - 1.

    Returns:
        int64, ascending, without repeats; every position when `numel <= count`.
    """
    if numel <= count or count == 0:
        return torch.arange(min(numel, count))
    words = np.random.Philox(key=stream).random_raw(count).tolist()
    edges = [i * numel // count for i in range(count + 1)]
    chosen = [low + word % (high - low) for low, high, word in zip(edges, edges[1:], words, strict=False)]
    return torch.tensor(chosen, dtype=torch.int64)


def evaluate(function: str, values: torch.Tensor) -> torch.Tensor:
    """Evaluate one of FUNCTIONS at every element with DIGITS digits, rounded once to float64.

    Equivalent to rounding the exact value to nearest, ties to even (IEEE 754-2019, 4.3.1), except where 60 digits do
    not tell on which side of a tie it lies.

    Args:
        function: a name in FUNCTIONS.
        values: float64, any shape. NaN gives NaN; infinities give the function's limit.

    Returns:
        float64 on the CPU, same shape; NaN outside the domain, infinite at poles and on overflow.

    Raises:
        UsageError: no such function.
        InternalError: `values` is not float64.
        EnvironmentLimitError: mpmath is missing.
    """
    if function not in FUNCTIONS:
        raise UsageError(f"`function` is {function!r}; wanted one of {', '.join(FUNCTIONS)}.")
    if values.dtype != torch.float64:
        raise InternalError(f"`values` has dtype {values.dtype}; wanted torch.float64.")
    if reason := available():
        raise EnvironmentLimitError(f"{reason}.", next_step="pip install mpmath, or leave the precise reference out")
    rule, context = FUNCTIONS[function], _context()
    answers = [_value(rule, context, x) for x in values.detach().reshape(-1).tolist()]
    return torch.tensor(answers, dtype=torch.float64).reshape(values.shape)


@functools.lru_cache(maxsize=1)
def _context() -> Context:
    """Our own mpmath context, so that nobody's global precision matters."""
    context = importlib.import_module("mpmath").mp.clone()
    context.dps = DIGITS
    return context


def _value(rule: ScalarFunction, context: Context, x: float) -> float:
    low, high = rule.domain
    if math.isnan(x) or not low <= x <= high:
        return math.nan
    if math.isinf(x):
        return rule.limits[x > 0]
    if x == 0:
        return -rule.zero if rule.odd_zero and math.copysign(1.0, x) < 0 else rule.zero
    return _nearest(context, rule.formula(context, context.mpf(x)))


def _nearest(c: Context, value: Any) -> float:
    """Round an mpmath number once to float64: Python divides integers correctly rounded, subnormal results included.

    mpmath's own conversion rounds to 53 bits first and so rounds subnormal results twice.
    """
    if not c.isfinite(value) or value == 0:
        return float(value)
    fraction, exponent = c.frexp(value)
    significand = int(c.ldexp(fraction, _SIGNIFICAND_BITS))
    shift = max(-_EXPONENT_RANGE, min(_EXPONENT_RANGE, exponent)) - _SIGNIFICAND_BITS
    try:
        return float((significand << max(shift, 0)) / (1 << max(-shift, 0)))
    except OverflowError:
        return math.copysign(math.inf, significand)


def _near(x: Any) -> Any:
    """Limit an exponent to where exp still tells over- and underflow apart from everything else."""
    return max(-_FAR, min(_FAR, x))


def _gelu(c: Context, x: Any) -> Any:
    """x * Phi(x), by the complementary error function so that the negative tail keeps its digits."""
    return x * c.erfc(_near(-x / c.sqrt(2))) / 2


def _gelu_tanh(c: Context, x: Any) -> Any:
    """x/2 * (1 + tanh(u)) = x / (1 + exp(-2u)) with the u of Hendrycks and Gimpel, arXiv:1606.08415, section 2."""
    return x / (1 + c.exp(_near(-2 * c.sqrt(2 / c.pi) * (x + c.mpf("0.044715") * x**3))))


def _softplus(c: Context, x: Any) -> Any:
    return max(x, 0) + c.log1p(c.exp(_near(-abs(x))))


def _mish(c: Context, x: Any) -> Any:
    """x * tanh(softplus(x)) = x * q / (q + 2) with q = exp(x) * (exp(x) + 2)."""
    q = c.exp(_near(x)) * (c.exp(_near(x)) + 2)
    return x * q / (q + 2)


def _digamma(c: Context, x: Any) -> Any:
    return c.nan if x <= 0 and c.isint(x) else c.digamma(x)


def _log_gamma(c: Context, x: Any) -> Any:
    """log |gamma(x)|, infinite at its poles."""
    return c.inf if x <= 0 and c.isint(x) else c.re(c.loggamma(x))


def _row(formula: Callable[[Context, Any], Any], zero: float, limits: tuple[float, float]) -> ScalarFunction:
    return ScalarFunction(formula=formula, zero=zero, odd_zero=zero in (0.0, math.inf), limits=limits)


def _on(low: float, high: float, whole: ScalarFunction) -> ScalarFunction:
    return replace(whole, domain=(low, high))


def _table() -> dict[str, ScalarFunction]:
    inf, nan, half_pi, ln2, row, on = math.inf, math.nan, 1.5707963267948966, 0.6931471805599453, _row, _on
    return {
        "acos": on(-1, 1, row(lambda c, x: c.acos(x), half_pi, (nan, nan))),
        "acosh": on(1, inf, row(lambda c, x: c.acosh(x), nan, (nan, inf))),
        "asin": on(-1, 1, row(lambda c, x: c.asin(x), 0.0, (nan, nan))),
        "asinh": row(lambda c, x: c.asinh(x), 0.0, (-inf, inf)),
        "atan": row(lambda c, x: c.atan(x), 0.0, (-half_pi, half_pi)),
        "atanh": on(-1, 1, row(lambda c, x: c.atanh(x), 0.0, (nan, nan))),
        "cos": row(lambda c, x: c.cos(x), 1.0, (nan, nan)),
        "cosh": row(lambda c, x: c.cosh(_near(x)), 1.0, (inf, inf)),
        "digamma": replace(row(_digamma, -inf, (nan, inf)), odd_zero=True),
        "erf": row(lambda c, x: c.erf(x), 0.0, (-1.0, 1.0)),
        "erfc": row(lambda c, x: c.erfc(_near(x)), 1.0, (2.0, 0.0)),
        "exp": row(lambda c, x: c.exp(_near(x)), 1.0, (0.0, inf)),
        "exp2": row(lambda c, x: c.power(2, _near(x)), 1.0, (0.0, inf)),
        "expm1": row(lambda c, x: c.expm1(_near(x)), 0.0, (-1.0, inf)),
        "gelu": row(_gelu, 0.0, (-0.0, inf)),
        "gelu_tanh": row(_gelu_tanh, 0.0, (-0.0, inf)),
        "lgamma": replace(row(_log_gamma, inf, (inf, inf)), odd_zero=False),
        "log": on(0, inf, row(lambda c, x: c.log(x), -inf, (nan, inf))),
        "log10": on(0, inf, row(lambda c, x: c.log(x) / c.log(10), -inf, (nan, inf))),
        "log1p": on(-1, inf, row(lambda c, x: c.log1p(x), 0.0, (nan, inf))),
        "log2": on(0, inf, row(lambda c, x: c.log(x) / c.log(2), -inf, (nan, inf))),
        "logsigmoid": row(lambda c, x: -_softplus(c, -x), -ln2, (-inf, -0.0)),
        "mish": row(_mish, 0.0, (-0.0, inf)),
        "reciprocal": row(lambda c, x: c.one / x, inf, (-0.0, 0.0)),
        "rsqrt": on(0, inf, row(lambda c, x: 1 / c.sqrt(x), inf, (nan, 0.0))),
        "sigmoid": row(lambda c, x: 1 / (1 + c.exp(_near(-x))), 0.5, (0.0, 1.0)),
        "silu": row(lambda c, x: x / (1 + c.exp(_near(-x))), 0.0, (-0.0, inf)),
        "sin": row(lambda c, x: c.sin(x), 0.0, (nan, nan)),
        "sinh": row(lambda c, x: c.sinh(_near(x)), 0.0, (-inf, inf)),
        "softplus": row(_softplus, ln2, (0.0, inf)),
        "special_bessel_j0": row(lambda c, x: c.besselj(0, x), 1.0, (0.0, 0.0)),
        "special_bessel_j1": row(lambda c, x: c.besselj(1, x), 0.0, (-0.0, 0.0)),
        "sqrt": on(0, inf, row(lambda c, x: c.sqrt(x), 0.0, (nan, inf))),
        "tan": row(lambda c, x: c.tan(x), 0.0, (nan, nan)),
        "tanh": row(lambda c, x: c.tanh(x), 0.0, (-1.0, 1.0)),
    }


FUNCTIONS: dict[str, ScalarFunction] = _table()
"""The functions the oracle knows, by torch's name; `gelu_tanh` is gelu with approximate="tanh"."""
