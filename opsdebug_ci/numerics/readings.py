"""Every reading of one output against one reference: numbers that inform, none of them a gate.

Decides over which elements each number is taken and what its floor is. Deliberately knows no tolerance; classes,
bounds and the zone are compared elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.classes import unravel
from opsdebug_ci.numerics.cosine import CHUNK, cosine, largest_magnitude, square_sum
from opsdebug_ci.numerics.float_errors import float_errors, relative_floor
from opsdebug_ci.numerics.formats import float_format, is_finite, is_float_dtype, rounded
from opsdebug_ci.numerics.quantiles import NO_QUANTILES, quantiles


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


def read(actual: torch.Tensor, expected: torch.Tensor) -> Readings:
    """Take every reading of `actual` against `expected`, element by element.

    A pair enters the errors when both the output and the reference *rounded to the output dtype* are finite: NaN pairs,
    infinite pairs and class mismatches are left to `classes`. Errors are against the unrounded reference, so half an
    ulp is visible. For a format without infinity (float8_e4m3fn), overflow saturates by contract, so the reference is
    first limited to its range.

    Args:
        actual: output of any dtype the project compares, any shape, strides or device with float64.
        expected: same shape and device; float64 and not yet rounded for float outputs, the output's dtype otherwise.

    Returns:
        All readings; None and zero counts for an empty tensor.

    Raises:
        ShapeMismatchError: the shapes differ.
        InternalError: `expected` has another dtype than stated above.
    """
    if actual.shape != expected.shape:
        raise ShapeMismatchError(f"`actual` has shape {tuple(actual.shape)}, `expected` {tuple(expected.shape)}.")
    wanted = torch.float64 if is_float_dtype(actual.dtype) else actual.dtype
    if expected.dtype != wanted:
        raise InternalError(f"`expected` has dtype {expected.dtype}; wanted {wanted} for a {actual.dtype} output.")
    if actual.numel() == 0:
        return _nothing_finite(0)
    got, reference = actual.detach().reshape(-1), expected.detach().reshape(-1)
    if is_float_dtype(actual.dtype):
        return _read_floats(got, reference, tuple(actual.shape))
    return _read_integers(got, reference, tuple(actual.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class _IntegerErrors:
    """Absolute and relative errors of flat integers."""

    largest: float
    """Largest absolute error."""

    position: int
    """The first element that has it."""

    relative: torch.Tensor
    """Relative error per element, float64."""


def _read_floats(actual: torch.Tensor, expected: torch.Tensor, shape: tuple[int, ...]) -> Readings:
    number_format = float_format(actual.dtype)
    sizes = largest_magnitude(actual), largest_magnitude(expected)
    positions = None
    if not _all_finite(sizes, actual.dtype):
        positions = (is_finite(actual) & is_finite(rounded(expected, actual.dtype))).nonzero().flatten()
        actual, expected = actual[positions], expected[positions]
        if actual.numel() == 0:
            return _nothing_finite(math.prod(shape))
        sizes = largest_magnitude(actual), largest_magnitude(expected)
    if not number_format.has_infinity and sizes[1] > number_format.max_finite:
        expected = expected.clamp(-number_format.max_finite, number_format.max_finite)
        sizes = sizes[0], number_format.max_finite
    errors = float_errors(actual, expected, sizes)
    return Readings(
        compared=math.prod(shape),
        finite=actual.numel(),
        cosine=errors.cosine if positions is None else None,
        max_abs_err=errors.largest,
        max_abs_index=unravel(errors.position if positions is None else int(positions[errors.position]), shape),
        rel_err=errors.relative,
        ulp=errors.ulp,
        significant_digits=_significant_digits(errors.relative, number_format),
        misrounding_rate=errors.misrounded / actual.numel(),
    )


def _all_finite(sizes: tuple[float, float], dtype: torch.dtype) -> bool:
    """Whether everything of these largest magnitudes is finite, the second also once rounded: rounding is monotonic."""
    bound = rounded(torch.tensor(sizes[1:], dtype=torch.float64), dtype)
    return math.isfinite(sizes[0]) and bool(is_finite(bound))


def _read_integers(actual: torch.Tensor, expected: torch.Tensor, shape: tuple[int, ...]) -> Readings:
    """Integers and bool, subtracted as int64 and never rounded: 2**53 + 1 differs from 2**53."""
    errors = _integer_errors(actual, expected)
    return Readings(
        compared=actual.numel(),
        finite=actual.numel(),
        cosine=cosine(actual, expected),
        max_abs_err=errors.largest,
        max_abs_index=unravel(errors.position, shape),
        rel_err=quantiles(errors.relative),
        ulp=NO_QUANTILES,
        significant_digits=None,
        misrounding_rate=None,
    )


def _integer_errors(actual: torch.Tensor, expected: torch.Tensor) -> _IntegerErrors:
    """|a - y| and |a - y| / max(|y|, 2**-20 * RMS(y), 1), differences exact in int64 as far as they fit."""
    size = largest_magnitude(expected)
    floor = relative_floor(square_sum(expected, size), size, expected.numel(), 1.0)
    relative = torch.empty(actual.numel(), dtype=torch.float64, device=actual.device)
    largest, position = -1.0, 0
    for start in range(0, actual.numel(), CHUNK):
        a, y = (side[start : start + CHUNK].to(torch.int64) for side in (actual, expected))
        error = torch.maximum(a, y) - torch.minimum(a, y)
        error.masked_fill_(error < 0, torch.iinfo(torch.int64).max)  # wrapped: beyond 2**63
        largest, position = _worse(largest, position, error, start)
        torch.div(error, y.to(torch.float64).abs_().clamp_(min=floor), out=relative[start : start + CHUNK])
    exact = abs(int(actual[position]) - int(expected[position]))
    return _IntegerErrors(largest=float(exact), position=position, relative=relative)


def _worse(largest: float, position: int, error: torch.Tensor, start: int) -> tuple[float, int]:
    """The larger of what was found so far and the first largest element of a chunk that begins at `start`."""
    where = int(error.argmax())
    here = error[where].item()  # an int64 error stays an int, compared exactly
    return (here, start + where) if here > largest else (largest, position)


def _significant_digits(relative: Quantiles, number_format: FloatFormat) -> float | None:
    """Decimal digits that are right in the median: -log10(P50), at most the p*log10(2) a format holds, at least 0.

    Assumes a relative error of 10**-d leaves d digits (Higham, ASNA 2nd ed., section 1.2).
    """
    held = number_format.precision * math.log10(2)
    if relative.p50 is None:
        return None
    return held if relative.p50 == 0 else max(0.0, min(held, -math.log10(relative.p50)))


def _nothing_finite(compared: int) -> Readings:
    return Readings(
        compared=compared,
        finite=0,
        cosine=None,
        max_abs_err=None,
        max_abs_index=None,
        rel_err=NO_QUANTILES,
        ulp=NO_QUANTILES,
        significant_digits=None,
        misrounding_rate=None,
    )
