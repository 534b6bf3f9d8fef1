"""Which of the seven classes each element falls into, and where output and reference differ in it.

Decides the confusion matrix. Deliberately does not decide which of its cells a contract allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.model.accuracy import NUMBER_CLASSES, ClassMismatch
from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.blocks import Blocks
from opsdebug_ci.numerics.formats import (
    float_format,
    magnitude_bits,
    max_finite_bits,
    rounded,
    signed_bits,
)
from opsdebug_ci.numerics.places import array_of, places_of

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
    magnitude, negative = array_of(magnitude_bits(values)), array_of(signed_bits(values)) < 0
    largest = max_finite_bits(float_format(values.dtype))
    nan = largest + int(float_format(values.dtype).has_infinity)
    codes = torch.full(values.shape, NORMAL, dtype=torch.int8, device=values.device)
    code = array_of(codes)
    code[magnitude < _min_normal_bits(number_format, values.dtype)] = SUBNORMAL
    code[magnitude == 0] = POSITIVE_ZERO
    code[(magnitude == 0) & negative] = NEGATIVE_ZERO
    code[magnitude > largest] = POSITIVE_INFINITY
    code[(magnitude > largest) & negative] = NEGATIVE_INFINITY
    code[magnitude > nan] = NAN
    return codes


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

    def cells(start: int, sides: tuple[torch.Tensor, ...]) -> list[ClassCell]:
        return class_cells(sides[0], sides[1], lambda places: start + places)

    found = [cell for block in Blocks(actual, expected).each(lambda: cells) for cell in block]
    return merged(found, tuple(actual.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCell:
    """One off-diagonal cell of the confusion matrix of a block."""

    expected: int
    """Code of the reference's class."""

    actual: int
    """Code of the output's class."""

    count: int
    """Elements in this cell."""

    first: int
    """Flat C-order position, in the whole tensor, of the first of them."""


def class_cells(
    actual: torch.Tensor, expected: torch.Tensor, positions_of: Callable[[torch.Tensor], torch.Tensor]
) -> list[ClassCell]:
    """Off-diagonal cells of one block, or of some elements of it.

    Args:
        actual: flat, any float dtype.
        expected: same dtype and shape, rounded.
        positions_of: from places in the block to flat C-order positions in the whole tensor, both int64.
    """
    got, wanted = signed_bits(actual), signed_bits(expected)
    if torch.equal(got, wanted):
        return []
    number_format = float_format(actual.dtype)
    different = array_of(got) != array_of(wanted)
    places = places_of(different & (_is_unusual(actual, number_format) | _is_unusual(expected, number_format)))
    if places.numel() == 0:
        return []
    codes = classify(actual[places], number_format), classify(expected[places], number_format)
    differing = places_of(array_of(codes[0]) != array_of(codes[1]))
    if differing.numel() == 0:
        return []
    places, pairs = places[differing], (codes[1].to(torch.int64) * len(NUMBER_CLASSES) + codes[0])[differing]
    return [_cell(pair, positions_of(places[pairs == pair])) for pair in torch.unique(pairs).tolist()]


def merged(cells: Iterable[ClassCell], shape: tuple[int, ...]) -> tuple[ClassMismatch, ...]:
    """The cells of all blocks of a tensor of `shape`, in the order of NUMBER_CLASSES, expected first."""
    together: dict[tuple[int, int], list[ClassCell]] = {}
    for cell in cells:
        together.setdefault((cell.expected, cell.actual), []).append(cell)
    return tuple(
        ClassMismatch(
            expected=NUMBER_CLASSES[wanted],
            actual=NUMBER_CLASSES[got],
            count=sum(cell.count for cell in found),
            first_index=unravel(min(cell.first for cell in found), shape),
        )
        for (wanted, got), found in sorted(together.items())
    )


def unravel(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Index of the element at a flat C-order position; the empty tuple for a scalar. No NaN policy: integers only."""
    index = []
    for size in reversed(shape):
        position, remainder = divmod(position, size)
        index.append(remainder)
    return tuple(reversed(index))


def _cell(pair: int, positions: torch.Tensor) -> ClassCell:
    wanted, got = divmod(pair, len(NUMBER_CLASSES))
    return ClassCell(expected=wanted, actual=got, count=positions.numel(), first=int(positions.amin()))


def _is_unusual(values: torch.Tensor, number_format: FloatFormat) -> Any:
    """Whether an element is anything but normal: a mask for `places_of`."""
    magnitude = array_of(magnitude_bits(values))
    return (magnitude < _min_normal_bits(number_format, values.dtype)) | (magnitude > max_finite_bits(number_format))


@cache
def _min_normal_bits(number_format: FloatFormat, dtype: torch.dtype) -> int:
    """Magnitude bits, in `dtype`, of the smallest normal number of another format (0 where it underflows there)."""
    smallest = rounded(torch.tensor([number_format.min_normal], dtype=torch.float64), dtype)
    return int(magnitude_bits(smallest)[0])
