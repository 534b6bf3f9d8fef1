"""Number formats as tensors hold them: names, bit patterns, rounding and spacing.

Decides how a float64 value is rounded to a narrower format: once, to nearest, ties to even. Deliberately knows
nothing about errors or tolerances, and takes the precision of each format from `model.dtype`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from opsdebug_ci.errors import InternalError, UsageError
from opsdebug_ci.model.dtype import DTYPE_NAMES, FLOAT_FORMATS, FloatFormat, is_float
from opsdebug_ci.numerics.places import array_of, places_of

_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPE_NAMES}
_NAMES: dict[torch.dtype, str] = {dtype: name for name, dtype in _DTYPES.items()}
_BIT_DTYPES: dict[int, torch.dtype] = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}

_FLOAT64_MANTISSA_BITS = 52
_FLOAT64_BIAS = 1023
_FLOAT64_EXPONENT_MASK = 0x7FF
_FLOAT32_MANTISSA_BITS = 23
_FLOAT32_BIAS = 127
_FLOAT32_INFINITY = 0xFF << _FLOAT32_MANTISSA_BITS
_SPACING_SHIFT = 52
"""A spacing of float64 lies in 2**-1074 ... 2**971; times 2**52 it is normal, so its exponent field says all."""


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of a format name such as `bfloat16`.

    Raises:
        UsageError: the project does not compare this format.
    """
    if name not in _DTYPES:
        raise UsageError(f"`dtype` is {name!r}; wanted one of {', '.join(DTYPE_NAMES)}.")
    return _DTYPES[name]


def dtype_name(dtype: torch.dtype) -> str:
    """The format name of a torch dtype, e.g. `float16` for `torch.float16`.

    Raises:
        UsageError: the project does not compare this dtype (complex numbers, for instance).
    """
    if dtype not in _NAMES:
        raise UsageError(
            f"`dtype` is {dtype}; wanted one of {', '.join(DTYPE_NAMES)}.",
            next_step="let the operator return real numbers, e.g. torch.view_as_real of a complex output",
        )
    return _NAMES[dtype]


def is_float_dtype(dtype: torch.dtype) -> bool:
    """Whether a dtype is one of the floating-point formats; False for integers and bool.

    Raises:
        UsageError: the project does not compare this dtype.
    """
    return is_float(dtype_name(dtype))


def float_format(dtype: torch.dtype) -> FloatFormat:
    """The facts of a floating-point dtype.

    Raises:
        UsageError: not a floating-point format of `model.dtype`.
    """
    name = dtype_name(dtype)
    if name not in FLOAT_FORMATS:
        raise UsageError(f"`dtype` is {name}; wanted a floating-point format: {', '.join(FLOAT_FORMATS)}.")
    return FLOAT_FORMATS[name]


def signed_bits(values: torch.Tensor) -> torch.Tensor:
    """The bit pattern of each element, as the signed integer of the same width; the sign bit makes it negative.

    Args:
        values: any float dtype, any shape. NaN and infinities are patterns like any other.

    Returns:
        int8, int16, int32 or int64, same shape, sharing memory.
    """
    return values.detach().view(_BIT_DTYPES[float_format(values.dtype).bits])


def magnitude_bits(values: torch.Tensor) -> torch.Tensor:
    """The bit pattern of |x|: grows with |x| from 0, through the infinity, to the NaNs (IEEE 754-2019, 3.4).

    Args:
        values: any float dtype, any shape; NaN allowed.

    Returns:
        Nonnegative integers of the same width and shape.
    """
    return signed_bits(values) & ((1 << (float_format(values.dtype).bits - 1)) - 1)


def max_finite_bits(number_format: FloatFormat) -> int:
    """Magnitude bits of the largest finite value; anything above is an infinity or a NaN.

    IEEE 754-2019, 3.4: the all-ones exponent is not finite. float8_e4m3fn spends only its last pattern on NaN
    (OCP 8-bit floating point specification 1.0, table 2).
    """
    all_ones = (1 << (number_format.bits - 1)) - 1
    infinity = all_ones - ((1 << (number_format.precision - 1)) - 1)
    return infinity - 1 if number_format.has_infinity else all_ones - 1


def is_finite(values: torch.Tensor) -> torch.Tensor:
    """Whether each element is finite, for every float dtype (torch.isfinite lacks the 8-bit ones).

    Args:
        values: any float dtype, any shape.

    Returns:
        bool, same shape; False for NaN and infinities.
    """
    return magnitude_bits(values) <= max_finite_bits(float_format(values.dtype))


def rounded(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Round float64 to a narrower format once: to nearest, ties to even.

    Equivalent to rounding each exact value by IEEE 754-2019, 4.3.1. torch's own cast goes through float32 and so
    rounds twice for the formats narrower than that, which differs only where the first rounding ends halfway between
    two of their numbers: there it is moved by one float32 towards the exact value, which lies on that side.

    Args:
        values: float64, any shape.
        dtype: a floating-point dtype.

    Returns:
        `dtype`, same shape. NaN stays NaN, zeros keep their sign. Beyond the largest finite value: infinity, and for
        float8_e4m3fn, which has none, what this torch's cast from float32 does (saturate; NaN in older versions).

    Raises:
        InternalError: `values` is not float64.
    """
    _require_float64(values)
    dropped = FLOAT_FORMATS["float32"].precision - float_format(dtype).precision
    if dropped <= 0:
        return values.to(dtype)
    nearest = values.to(torch.float32).contiguous()
    bits = array_of(nearest.detach().view(torch.int32).view(-1))
    where = array_of(_doubtful(bits, dropped, float_format(dtype)))
    if len(where):
        size, near = (abs(array_of(side.detach().reshape(-1))[where]) for side in (values, nearest))
        bits[where] += (size > near) * 1 - (size < near) * 1
    return nearest.to(dtype)


def widened(values: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Any float dtype in float64, exactly: same shape, NaN stays NaN. Into `out`, float64, where there is one.

    float16 goes by float32, for which processors have an instruction: three times as fast. Without `out`, float64 is
    returned as it is.
    """
    eased = values.to(torch.float32) if values.dtype == torch.float16 else values
    return eased.to(torch.float64) if out is None else out.copy_(eased)


def round_to(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`rounded`, widened back to float64 (exactly), same shape and NaN policy."""
    return rounded(values, dtype).to(torch.float64)


def ulp_of(values: torch.Tensor, number_format: FloatFormat) -> torch.Tensor:
    """Spacing of a format's numbers at |y|: 2**(max(floor(log2 |y|), e_min) - p + 1).

    Muller et al., Handbook of Floating-Point Arithmetic, 2nd ed. (2018), definition 2.3 (Goldberg's ulp, extended to
    every real by the binade it lies in).

    Args:
        values: float64, any shape, in the units of the output.
        number_format: the format whose spacing is wanted.

    Returns:
        float64, same shape and units. At and below the smallest normal number, zero included, the smallest subnormal;
        beyond the largest finite value the spacing there. NaN for NaN and infinities.

    Raises:
        InternalError: `values` is not float64.
    """
    _require_float64(values)
    largest = math.frexp(number_format.max_finite)[1] - 1
    exponent = ((signed_bits(values) >> _FLOAT64_MANTISSA_BITS) & _FLOAT64_EXPONENT_MASK) - _FLOAT64_BIAS
    exponent.clamp_(min=number_format.min_exponent, max=largest).sub_(number_format.precision - 1)
    pattern = (exponent + (_SPACING_SHIFT + _FLOAT64_BIAS)) << _FLOAT64_MANTISSA_BITS
    spacing = pattern.view(torch.float64) * 2.0**-_SPACING_SHIFT
    return spacing.masked_fill_(~torch.isfinite(values), torch.nan)


def _doubtful(bits: Any, dropped: int, number_format: FloatFormat) -> torch.Tensor:
    """Where a float32 with these bits may have been rounded onto halfway between two numbers of a narrower format.

    Within the normal range exactly `dropped` bits go, and halfway they are a one and zeros; elsewhere more may go.
    """
    magnitude = bits & ((1 << 31) - 1)
    irregular = magnitude < (number_format.min_exponent + _FLOAT32_BIAS) << _FLOAT32_MANTISSA_BITS
    irregular |= magnitude >= _FLOAT32_INFINITY
    halfway = (bits & ((1 << dropped) - 1)) == 1 << (dropped - 1)
    places, few = places_of(halfway), places_of(irregular)
    if few.numel():
        ending = array_of(torch.as_tensor(bits)[few]) & ((1 << (dropped - 1)) - 1)
        places = torch.cat([places, few[places_of(ending == 0)]])
    return places


def _require_float64(values: torch.Tensor) -> None:
    if values.dtype != torch.float64:
        raise InternalError(f"`values` has dtype {values.dtype}; wanted torch.float64, the reference before rounding.")
