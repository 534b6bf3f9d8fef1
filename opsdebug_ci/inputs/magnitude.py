"""How large the values of the family `large` may be, by kind.

Decides one power of two per (dtype, kind, shape), with two bounds. Inside: nothing a correct operator forms in its
compute format may overflow. Outside: the result need not overflow the dtype itself, or every output would be infinite
and prove nothing. Deliberately knows the argument's own shape only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opsdebug_ci.inputs.recipe import Recipe
from opsdebug_ci.model.dtype import FloatFormat, compute_format
from opsdebug_ci.model.vocabulary import Kind

MARGIN_BITS = 3
"""Factor 8 left free everywhere: (x - mean) doubles and its square quadruples, a sum adds a bias and a residual; and
8 standard deviations of a sum of random signs (Hoeffding, JASA 58 (1963), thm. 2: beyond with P <= 2 exp(-32))."""

TERM_BITS = 20
"""Sums of up to 2**20 terms, all of one sign, stay finite inside."""

DERIVED_POWER = 3
"""A derivative cubes what its function takes the root of: that of 1/sqrt(v) is -1/(2 sqrt(v)**3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How an operator of one kind grows with the magnitude m of its arguments."""

    inside_power: int
    """Largest product formed inside: m ** inside_power."""

    inside_sum: bool
    """Such products are summed."""

    outside_power: int
    """Size of the result: m ** outside_power, times the square root of the number of terms below."""

    outside_terms: str
    """Terms of random sign in the result: `one`, `axis` (the longest axis) or `all` elements."""


_COPY = Growth(inside_power=1, inside_sum=False, outside_power=1, outside_terms="one")
_PRODUCT = Growth(inside_power=3, inside_sum=False, outside_power=2, outside_terms="one")
_WEIGHTED_MEAN = Growth(inside_power=2, inside_sum=True, outside_power=1, outside_terms="one")
_SUM = Growth(inside_power=2, inside_sum=True, outside_power=1, outside_terms="all")
_DOT = Growth(inside_power=2, inside_sum=True, outside_power=2, outside_terms="axis")

GROWTH: dict[Kind, Growth] = {
    Kind.EXACT: _COPY,
    Kind.INDEX: _COPY,
    Kind.ELEMENTWISE: _PRODUCT,  # a * b + c out, a * b * c or x**3 inside
    Kind.TRANSCENDENTAL: _PRODUCT,  # silu(a) * b out, x**3 inside tanh-GELU
    Kind.QUANTIZE: _PRODUCT,
    Kind.SOFTMAX: _WEIGHTED_MEAN,
    Kind.LOG_SOFTMAX: _WEIGHTED_MEAN,
    Kind.ATTENTION: _WEIGHTED_MEAN,  # q . k inside, a mean of v out
    Kind.NORM: _WEIGHTED_MEAN,  # sum of squares inside; equal magnitudes normalise to 2 at most, times a weight
    Kind.REDUCTION: _SUM,
    Kind.SCAN: _SUM,
    Kind.MATMUL: _DOT,
    Kind.AUTO: _DOT,  # unknown: the tightest
}
"""Every kind's growth."""


def large_exponent(recipe: Recipe) -> int:
    """Exponent e of the magnitude m = 2**e: at most max/8 of the dtype, at least 1.

    Inside: m**p * 2**20 * 8 <= max of the compute format, so with 2**x the largest power of two in it
    e = (x - 20 - 3) / p, e.g. float32 sums of squares: (127 - 23) / 2 = 52. Outside: m**p * sqrt(n) * 8 <= max of the
    dtype, e.g. a float16 matrix product with n = 128: (15 - 3 - 4) / 2 = 4. Whole-number arithmetic rounds each down.
    A format too narrow for m >= 1 may overflow outside.
    """
    growth = GROWTH[recipe.kind]
    inner = _top_exponent(compute_format(recipe.dtype)) - MARGIN_BITS - (TERM_BITS if growth.inside_sum else 0)
    own = _top_exponent(recipe.float_format) - MARGIN_BITS
    terms = {"one": 1, "axis": max((1, *recipe.shape)), "all": max(1, recipe.count)}[growth.outside_terms]
    root_bits = ((terms - 1).bit_length() + 1) // 2  # sqrt(terms) <= 2**root_bits
    inside_power = growth.inside_power * (DERIVED_POWER if recipe.derived else 1)
    return max(0, min(own, inner // inside_power, (own - root_bits) // growth.outside_power))


def _top_exponent(form: FloatFormat) -> int:
    """Exponent of the largest power of two not above the largest finite value."""
    return math.frexp(form.max_finite)[1] - 1
