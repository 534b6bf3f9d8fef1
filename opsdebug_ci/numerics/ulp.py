"""Distance between two numbers of one format, counted in representable numbers (units in the last place).

Decides the integer distance only. Deliberately leaves classes (an infinity beside the largest finite number, -0
beside +0) to `classes`, and the size of one unit at a value to `formats.ulp_of`.
"""

from __future__ import annotations

import torch

from opsdebug_ci.errors import InternalError, ShapeMismatchError
from opsdebug_ci.numerics.formats import float_format, magnitude_bits, max_finite_bits, signed_bits

NO_DISTANCE: int = torch.iinfo(torch.int64).max
"""Distance where there is none (an element is not finite), and cap of float64 distances, which reach 2**64."""


def ordered(values: torch.Tensor) -> torch.Tensor:
    """Map each element to an integer that grows with it, neighbours one apart: the magnitude bits, signed.

    Dawson, "Comparing floating point numbers, 2012 edition" (sign-magnitude to two's complement); works because the
    bit patterns of one sign are ordered as their values (IEEE 754-2019, 3.4).

    Args:
        values: any float dtype, any shape. NaN maps beyond the infinities, on the side of its sign bit.

    Returns:
        int64, same shape; +0 and -0 are both 0.
    """
    return _narrow(values).to(torch.int64)


def ulp_distance(actual: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Number of steps from one representable number to the next between `actual` and `expected`.

    Args:
        actual: any float dtype.
        expected: same dtype and shape; a wider reference is rounded first (`formats.rounded`).

    Returns:
        int64, same shape, dimensionless, 0 ... NO_DISTANCE. 0 between +0 and -0. NO_DISTANCE where either element is
        NaN or infinite, equal ones included; float64 distances above NO_DISTANCE (numbers of opposite sign, both
        beyond about 2 in magnitude) are capped to it.

    Raises:
        ShapeMismatchError: the shapes differ.
        InternalError: the dtypes differ.
    """
    if actual.shape != expected.shape:
        raise ShapeMismatchError(f"`actual` has shape {tuple(actual.shape)}, `expected` {tuple(expected.shape)}.")
    if actual.dtype != expected.dtype:
        raise InternalError(f"`actual` has dtype {actual.dtype} but `expected` {expected.dtype}; round it first.")
    left, right = _narrow(actual), _narrow(expected)
    largest = max_finite_bits(float_format(actual.dtype))
    above, below = torch.maximum(left, right), torch.minimum(left, right)
    distance = above.to(torch.int64) - below  # wraps to negative from 2**63 on
    undefined = (above > largest) | (below < -largest)
    return distance.masked_fill_(undefined | (distance < 0), NO_DISTANCE)


def finite_distance(actual: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """`ulp_distance` of finite elements, in the width of the format where no pair differs in sign.

    Args:
        actual: any float dtype, any shape; every element finite.
        expected: same dtype and shape; every element finite.

    Returns:
        Nonnegative integers, same shape: the difference of the bit patterns where all pairs agree in sign, which
        cannot overflow, else int64 as `ulp_distance` returns it.
    """
    left, right = signed_bits(actual), signed_bits(expected)
    steps = left - right
    if actual.numel():
        low, high = torch.aminmax(steps)
        number_format = float_format(actual.dtype)
        # Patterns that differ in sign are at least this far apart, wrapped around or not.
        apart = (1 << (number_format.bits - 1)) - max_finite_bits(number_format)
        if max(-int(low), int(high)) >= apart and int((left ^ right).amin()) < 0:
            return ulp_distance(actual, expected)
    return steps.abs_()


def _narrow(values: torch.Tensor) -> torch.Tensor:
    """`ordered` in the width of the format."""
    magnitude = magnitude_bits(values)
    return torch.where(signed_bits(values) < 0, -magnitude, magnitude)
