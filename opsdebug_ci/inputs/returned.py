"""What a declaration's own functions return, checked and converted.

Decides whether a result is usable as the declared argument. `where` names that argument in every message.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from opsdebug_ci.errors import InputsError, OpsdebugError, Unsupported
from opsdebug_ci.inputs.rounding import torch_dtype


def called(where: str, function: Callable[..., object], *arguments: object) -> object:
    """Call a function of the declaration.

    Raises:
        InputsError: it raised anything but `Unsupported`; the original is the cause.
    """
    try:
        return function(*arguments)
    except (OpsdebugError, Unsupported):
        raise
    except Exception as error:
        # NOTE: broad on purpose. Whatever a user's function raises, it is the inputs that broke.
        raise InputsError(
            f"{where}: its function raised {type(error).__name__}: {error}",
            next_step="values functions are called as (seed, dims, args), scalar functions as (dims, args)",
        ) from error


def tensor_of(result: object, shape: tuple[int, ...], dtype: str, *, where: str) -> torch.Tensor:
    """What a values function returned, as a contiguous CPU tensor of `dtype`.

    Raises:
        InputsError: not numbers, of another shape, or not whole numbers in the range of an integer `dtype`.
    """
    tensor = _as_tensor(result, where)
    if tuple(tensor.shape) != shape:
        raise InputsError(
            f"{where}: its values have shape {tuple(tensor.shape)}; wanted {shape}",
            next_step="return as many values as the declared shape says, or correct that shape",
        )
    converted = tensor.to(torch_dtype(dtype))
    back = converted.to(tensor.dtype)
    if not converted.is_floating_point() and not torch.equal(back, tensor):
        changed = tensor[back != tensor].reshape(-1)[0].item()
        raise InputsError(
            f"{where}: its values hold {changed}; wanted numbers that {dtype} holds",
            next_step="round or clip the values, or declare another dtype",
        )
    return converted.clone(memory_format=torch.contiguous_format)


def _as_tensor(result: object, where: str) -> torch.Tensor:
    if isinstance(result, torch.Tensor):
        return result.detach().cpu()
    try:
        return torch.from_numpy(np.array(result))  # numpy reads floats as float64; torch would round to float32
    except (TypeError, ValueError) as error:
        raise InputsError(
            f"{where}: its function returned {_described(result)}; wanted a tensor, an array or a list of numbers",
            next_step="return the values from the function given as `values`",
        ) from error


def number(result: object, where: str) -> int | float | bool:
    """What a scalar function returned, as a plain number. Raises InputsError when it is none."""
    if isinstance(result, (torch.Tensor, np.ndarray, np.generic)) and np.prod(result.shape) == 1:
        result = result.item()
    if not isinstance(result, (int, float)):
        raise InputsError(
            f"{where}: its function returned {_described(result)}; wanted a number",
            next_step="return an int, a float or a bool from the function given to `scalar`",
        )
    return result


def _described(value: object) -> str:
    return "nothing (None)" if value is None else f"{value!r:.60} of type {type(value).__name__}"
