"""Operators in C, called through ctypes: c_softmax, c_rms_norm.

float32 on the CPU, any strides (they are passed along), a new contiguous output. Without a C compiler there are no
operators here and `UNAVAILABLE` says why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

from opsdebug_ci import Operator
from opsdebug_ci.catalogue.compiler import load
from opsdebug_ci.catalogue.normalisation import RMS_EPS, rms_norm
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.catalogue.softmaxes import softmax
from opsdebug_ci.errors import EnvironmentLimitError

POINTER, SIZE, DOUBLE = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_double


def c_softmax() -> Operator:
    """Softmax in C: expf, summed in double. Raises EnvironmentLimitError when it cannot be compiled."""
    kernel = load("softmax").softmax
    kernel.argtypes, kernel.restype = [POINTER] * 2 + [SIZE] * 6, None

    def call(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(x.shape, dtype=x.dtype)
        kernel(x.data_ptr(), out.data_ptr(), *x.shape, *x.stride())
        return out

    return sibling(softmax, "c_softmax", call, dtypes=("float32",), devices=("cpu",))


def c_rms_norm() -> Operator:
    """RMS norm in C: squares summed in double. Raises EnvironmentLimitError when it cannot be compiled."""
    kernel = load("rms_norm").rms_norm
    kernel.argtypes, kernel.restype = [POINTER] * 3 + [SIZE] * 7 + [DOUBLE], None

    def call(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        out = torch.empty(x.shape, dtype=x.dtype)
        strides = (*x.stride(), *weight.stride())
        kernel(x.data_ptr(), weight.data_ptr(), out.data_ptr(), *x.shape, *strides, RMS_EPS)
        return out

    return sibling(rms_norm, "c_rms_norm", call, dtypes=("float32",), devices=("cpu",))


BUILDERS: dict[str, Callable[[], Operator]] = {"c_softmax": c_softmax, "c_rms_norm": c_rms_norm}
"""Operator name -> what builds it."""


def build_all() -> tuple[list[Operator], dict[str, str]]:
    """Every C operator that can be built here, and for each other one the reason."""
    built = {name: _built_or_reason(build) for name, build in BUILDERS.items()}
    operators = [item for item in built.values() if isinstance(item, Operator)]
    return operators, {name: item for name, item in built.items() if isinstance(item, str)}


def _built_or_reason(build: Callable[[], Operator]) -> Operator | str:
    try:
        return build()
    except EnvironmentLimitError as error:
        return str(error)


OPERATORS, UNAVAILABLE = build_all()
