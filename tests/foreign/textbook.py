"""What the textbook references here share: numpy arrays in float64, loops, no torch arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]


def textbook(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Call `reference` with float tensors as float64 arrays and integer tensors as int64 arrays."""

    @functools.wraps(reference)
    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return reference(*(_array(argument) for argument in arguments))

    return call


def _array(argument: Any) -> Any:
    if not isinstance(argument, torch.Tensor):
        return argument
    return argument.to(torch.float64 if argument.is_floating_point() else torch.int64).numpy()
