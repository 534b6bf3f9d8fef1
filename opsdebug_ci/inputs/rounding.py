"""From float64 or int64 values to a tensor of the case's dtype, rounded exactly once.

Decides rounding and overflow. A framework's own cast is used only where it is exact or a single rounding: from float64
to a 16- or 8-bit format it goes through float32, and whether it saturates depends on its version.
"""

from __future__ import annotations

import numpy as np
import torch

from opsdebug_ci.inputs.generator import Real, Whole
from opsdebug_ci.model.dtype import FLOAT_FORMATS, FloatFormat


def torch_dtype(name: str) -> torch.dtype:
    """The framework's dtype of a name in `DTYPE_NAMES`."""
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def nearest(values: Real, form: FloatFormat) -> Real:
    """`values` rounded to nearest, ties to even, in `form`, still held in float64.

    NaN stays NaN and zeros keep their sign. A finite value beyond the range becomes the largest finite one, and so
    does an infinity in a format that has none.
    """
    limited = np.clip(values, -form.max_finite, form.max_finite)
    if form.has_infinity:
        limited = np.where(np.isinf(values), values, limited)
    if form.precision >= FLOAT_FORMATS["float32"].precision:
        return limited  # one rounding is left to the cast
    finite = np.isfinite(limited)
    _, exponent = np.frexp(np.where(finite, limited, 0.0))
    # A value m * 2**e with 1/2 <= m < 1 has quantum 2**(e - p), and never one below the smallest subnormal.
    quantum = np.maximum(exponent - form.precision, form.min_exponent - form.precision + 1)
    rounded: Real = np.ldexp(np.rint(np.ldexp(limited, -quantum)), quantum)
    return rounded


def float_tensor(values: Real, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """A contiguous CPU tensor of a float `dtype` from flat values, each rounded once."""
    return _tensor(nearest(values, FLOAT_FORMATS[dtype]), shape, dtype)


def integer_tensor(values: Whole, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """A contiguous CPU tensor of an integer `dtype` from flat values that lie in its range."""
    return _tensor(values, shape, dtype)


def _tensor(values: Real | Whole, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    # Memory and strides of the framework's own: numpy aligns less, and strides an empty array by 0.
    return torch.empty(shape, dtype=torch_dtype(dtype)).copy_(torch.from_numpy(values.reshape(shape)))
