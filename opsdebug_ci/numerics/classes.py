"""Which of the seven classes each element falls into, and where output and reference differ in it.

Decides the confusion matrix. Deliberately does not decide which of its cells a contract allows.
"""

from __future__ import annotations

import torch

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.model.accuracy import NUMBER_CLASSES, ClassMismatch
from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.formats import float_format, magnitude_bits, max_finite_bits, rounded, signed_bits

NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY, POSITIVE_ZERO, NEGATIVE_ZERO, SUBNORMAL, NORMAL = range(7)
"""Codes of the classes: positions in NUMBER_CLASSES."""


def classify(values: torch.Tensor, number_format: FloatFormat) -> torch.Tensor:
    """Class of every element, IEEE 754-2019, 5.7.2 (`class`) with the sign dropped where it does not matter.

    Args:
        values: any float dtype, any shape.
        number_format: decides what is subnormal: 0 < |x| < its smallest normal number. A value beyond its largest
            finite one is still `normal`; round first to see the overflow.

    Returns:
        int8 codes, same shape: positions in NUMBER_CLASSES.
    """
    magnitude, negative = magnitude_bits(values), signed_bits(values) < 0
    largest = max_finite_bits(float_format(values.dtype))
    nan = largest + int(float_format(values.dtype).has_infinity)
    codes = torch.full(values.shape, NORMAL, dtype=torch.int8, device=values.device)
    codes.masked_fill_(magnitude < _min_normal_bits(number_format, values.dtype), SUBNORMAL)
    codes.masked_fill_((magnitude == 0) & negative, NEGATIVE_ZERO)
    codes.masked_fill_((magnitude == 0) & ~negative, POSITIVE_ZERO)
    codes.masked_fill_((magnitude > largest) & negative, NEGATIVE_INFINITY)
    codes.masked_fill_((magnitude > largest) & ~negative, POSITIVE_INFINITY)
    return codes.masked_fill_(magnitude > nan, NAN)


def confusion(actual: torch.Tensor, expected: torch.Tensor) -> tuple[ClassMismatch, ...]:
    """Off-diagonal cells of the confusion matrix of classes, in the order of NUMBER_CLASSES, expected first.

    Args:
        actual: output, any float dtype.
        expected: reference rounded to the same dtype, same shape. NaN payloads and signs are not compared.

    Returns:
        One entry per non-empty cell, with its count and first index in C order; empty when all classes agree.

    Raises:
        ShapeMismatchError: the shapes differ.
        InternalError: the dtypes differ.
    """
    if actual.shape != expected.shape:
        raise ShapeMismatchError(f"`actual` has shape {tuple(actual.shape)}, `expected` {tuple(expected.shape)}.")
    if actual.dtype != expected.dtype:
        raise InternalError(f"`actual` has dtype {actual.dtype} but `expected` {expected.dtype}; round it first.")
    if torch.equal(signed_bits(actual), signed_bits(expected)):
        return ()
    number_format = float_format(actual.dtype)
    got, wanted = classify(actual, number_format).flatten(), classify(expected, number_format).flatten()
    where = (got != wanted).nonzero().flatten()
    cells = wanted[where].to(torch.int64) * len(NUMBER_CLASSES) + got[where]
    return tuple(
        _mismatch(int(cell), where[cells == cell], tuple(actual.shape)) for cell in torch.unique(cells).tolist()
    )


def unravel(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Index of the element at a flat C-order position; the empty tuple for a scalar. No NaN policy: integers only."""
    index = []
    for size in reversed(shape):
        position, remainder = divmod(position, size)
        index.append(remainder)
    return tuple(reversed(index))


def _mismatch(cell: int, positions: torch.Tensor, shape: tuple[int, ...]) -> ClassMismatch:
    wanted, got = divmod(cell, len(NUMBER_CLASSES))
    return ClassMismatch(
        expected=NUMBER_CLASSES[wanted],
        actual=NUMBER_CLASSES[got],
        count=positions.numel(),
        first_index=unravel(int(positions[0]), shape),
    )


def _min_normal_bits(number_format: FloatFormat, dtype: torch.dtype) -> int:
    """Magnitude bits, in `dtype`, of the smallest normal number of another format (0 where it underflows there)."""
    smallest = rounded(torch.tensor([number_format.min_normal], dtype=torch.float64), dtype)
    return int(magnitude_bits(smallest)[0])
