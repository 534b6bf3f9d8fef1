"""Every reading of one output against one reference: numbers that inform, none of them a gate.

Decides over which elements each number is taken and what its floor is. Deliberately knows no tolerance; classes,
bounds and the zone are compared elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.model.accuracy import ClassMismatch, Quantiles
from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.classes import unravel
from opsdebug_ci.numerics.cosine import cosine
from opsdebug_ci.numerics.float_errors import float_errors
from opsdebug_ci.numerics.formats import float_format, is_float_dtype
from opsdebug_ci.numerics.integer_errors import integer_errors
from opsdebug_ci.numerics.quantiles import NO_QUANTILES


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """The readings of `Accuracy`, defined there, without its judgement."""

    compared: int
    """Elements of the output; their classes are judged whether finite or not. Zero is never a pass."""

    finite: int
    """Elements finite on both sides, over which the errors below are taken; all of them for integers."""

    cosine: float | None
    """Cosine similarity over all elements; None when `finite` is not all of them, or there are none."""

    max_abs_err: float | None
    """Largest |actual - expected|, unit of the output; capped at the largest float64. None when `finite` is 0."""

    max_abs_index: tuple[int, ...] | None
    """The first place of it in C order."""

    rel_err: Quantiles
    """Relative error, dimensionless; for integers the divisor is at least 1."""

    ulp: Quantiles
    """Distance to the rounded reference in representable numbers; all None for integers."""

    significant_digits: float | None
    """-log10 of the median relative error, within 0 ... p*log10(2); None for integers."""

    misrounding_rate: float | None
    """Share of finite elements, 0 ... 1, that are not the rounded reference; None for integers."""

    classes: tuple[ClassMismatch, ...] = ()
    """Off-diagonal cells of the confusion matrix of the output and the rounded reference; none for integers."""


def read(actual: torch.Tensor, expected: torch.Tensor) -> Readings:
    """Take every reading of `actual` against `expected`, element by element.

    A pair enters the errors when both the output and the reference *rounded to the output dtype* are finite: NaN pairs,
    infinite pairs and class mismatches are left to `classes`. Errors are against the unrounded reference, so half an
    ulp is visible. For a format without infinity (float8_e4m3fn), overflow saturates by contract, so the reference is
    first limited to its range.

    Args:
        actual: output of any dtype the project compares, any shape, strides or device with float64.
        expected: same shape and device; for float outputs any float dtype, taken as exact, so float64 where it is not
            to be rounded already; the output's dtype otherwise. Nothing is copied but blocks of either.

    Returns:
        All readings; None and zero counts for an empty tensor.

    Raises:
        ShapeMismatchError: the shapes differ.
        InternalError: `expected` has another dtype than stated above.
    """
    if actual.shape != expected.shape:
        raise ShapeMismatchError(f"`actual` has shape {tuple(actual.shape)}, `expected` {tuple(expected.shape)}.")
    is_float = is_float_dtype(actual.dtype)
    if is_float_dtype(expected.dtype) != is_float or not (is_float or expected.dtype == actual.dtype):
        wanted = "a float dtype, best float64," if is_float else actual.dtype
        raise InternalError(f"`expected` has dtype {expected.dtype}; wanted {wanted} for a {actual.dtype} output.")
    if actual.numel() == 0:
        return _nothing()
    return (_read_floats if is_float else _read_integers)(actual, expected)


def _read_floats(actual: torch.Tensor, expected: torch.Tensor) -> Readings:
    errors = float_errors(actual, expected)
    shape = tuple(actual.shape)
    return Readings(
        compared=actual.numel(),
        finite=errors.elements,
        cosine=errors.cosine,
        max_abs_err=errors.largest,
        max_abs_index=None if errors.position is None else unravel(errors.position, shape),
        rel_err=errors.relative,
        ulp=errors.ulp,
        significant_digits=_significant_digits(errors.relative, float_format(actual.dtype)),
        misrounding_rate=errors.misrounded / errors.elements if errors.elements else None,
        classes=errors.classes,
    )


def _read_integers(actual: torch.Tensor, expected: torch.Tensor) -> Readings:
    errors = integer_errors(actual, expected)
    index = unravel(errors.position, tuple(actual.shape))
    return Readings(
        compared=actual.numel(),
        finite=actual.numel(),
        cosine=cosine(actual, expected),
        max_abs_err=float(abs(int(actual[index]) - int(expected[index]))),
        max_abs_index=index,
        rel_err=errors.relative,
        ulp=NO_QUANTILES,
        significant_digits=None,
        misrounding_rate=None,
    )


def _significant_digits(relative: Quantiles, number_format: FloatFormat) -> float | None:
    """Decimal digits that are right in the median: -log10(P50), at most the p*log10(2) a format holds, at least 0.

    Assumes a relative error of 10**-d leaves d digits (Higham, ASNA 2nd ed., section 1.2).
    """
    held = number_format.precision * math.log10(2)
    if relative.p50 is None:
        return None
    return held if relative.p50 == 0 else max(0.0, min(held, -math.log10(relative.p50)))


def _nothing() -> Readings:
    return Readings(
        compared=0,
        finite=0,
        cosine=None,
        max_abs_err=None,
        max_abs_index=None,
        rel_err=NO_QUANTILES,
        ulp=NO_QUANTILES,
        significant_digits=None,
        misrounding_rate=None,
    )
