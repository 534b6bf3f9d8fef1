"""What turns a function of numpy arrays into a reference of torch tensors.

Decides the precision a reference is computed in. Deliberately no torch arithmetic: tensors are only read out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Array = npt.NDArray[np.float64]
"""A numpy array of float64; inside `in_extended` of longdouble, which numpy's types cannot say of one function."""

Positions = npt.NDArray[np.int64]
"""A numpy array of indices."""


def in_float64(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Call `reference` with float tensors as float64 arrays and integer tensors as int64; numbers pass through.

    Widening is exact. Division by zero, NaN and overflow follow IEEE 754 without warnings.
    """
    return _with_arrays(reference, np.float64)


def in_extended(reference: Callable[..., Any]) -> Callable[..., Any]:
    """As `in_float64`, in `np.longdouble`; results are rounded to float64.

    A 64-bit significand on x86-64, 113 bits on Linux AArch64, and plain float64 where the platform has nothing wider.
    """
    return _with_arrays(reference, np.longdouble)


def _with_arrays(reference: Callable[..., Any], precision: type[np.floating[Any]]) -> Callable[..., Any]:
    @functools.wraps(reference)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return _narrow(reference(*(_array(argument, precision) for argument in arguments)))

    return call


def _array(argument: Any, precision: type[np.floating[Any]]) -> Any:
    if not isinstance(argument, torch.Tensor):
        return argument
    if not argument.is_floating_point():
        return argument.detach().cpu().numpy().astype(np.int64)
    return argument.detach().cpu().to(torch.float64).numpy().astype(precision)


def _narrow(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_narrow(item) for item in result)
    array = np.asarray(result)
    return array if np.issubdtype(array.dtype, np.integer) else array.astype(np.float64)
