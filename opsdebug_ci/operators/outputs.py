"""The outputs of one launch, in contract order and by name.

Decides what counts as an output: the returned values, then `Contract.out`, then `Contract.mutates`, without repeats.
Lists, tuples and dicts among them are taken apart, and what is inside goes by its place, e.g. `params[0]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from opsdebug_ci.errors import ReferenceFaultError, Unsupported
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.dtype import DTYPE_NAMES
from opsdebug_ci.operators.arguments import Arguments, leaves


def written_names(contract: Contract, arguments: Arguments) -> tuple[str, ...]:
    """Names of the arguments the contract lets the operator write, `out` first."""
    out = () if contract.out is None else (arguments.name_of(contract.out),)
    return (*out, *(arguments.name_of(name) for name in contract.mutates))


def written_leaves(contract: Contract, arguments: Arguments) -> dict[str, Any]:
    """What lies in the arguments that `written_names` names, by its place."""
    return {
        place: leaf
        for name in written_names(contract, arguments)
        for place, leaf in leaves(name, arguments[name])
        if leaf is not None
    }


def named_outputs(returned: Any, contract: Contract, arguments: Arguments) -> dict[str, torch.Tensor]:
    """Outputs by name; a returned tensor that is a written argument goes by that argument's name.

    Names come from a returned mapping's keys or a named tuple's fields, else they are `out<position>`.

    Raises:
        ReferenceFaultError: something returned is neither a tensor, an array nor a number.
    """
    written = written_leaves(contract, arguments)
    outputs: dict[str, torch.Tensor] = {}
    for name, value in _returned(returned):
        tensor = as_tensor(value)
        views = [key for key, argument in written.items() if _same_view(value, tensor, argument)]
        alias = next((key for key in views if key not in outputs or tensor.numel()), None)
        own = name if name not in written else f"out{len(outputs)}"  # does not hide the written argument of its name
        outputs[alias or own] = tensor
    return {**outputs, **{name: as_tensor(value) for name, value in written.items() if name not in outputs}}


def positional_outputs(returned: Any) -> list[torch.Tensor]:
    """What a reference returned, in order; it returns every output and need not write its arguments.

    Raises:
        ReferenceFaultError: something in it is no tensor, array or number, or there is nothing in it.
    """
    outputs = [as_tensor(value) for _, value in _returned(returned)]
    if not outputs:
        raise ReferenceFaultError(f"returned {returned!r}; wanted every output of the operator, in order")
    return outputs


def as_tensor(value: Any) -> torch.Tensor:
    """A detached tensor of a tensor, array or number.

    Raises:
        ReferenceFaultError: it is none of these.
        Unsupported: it is one that cannot be compared yet: complex, nested, of an unusual dtype, or without memory.
    """
    if isinstance(value, torch.Tensor):
        if value.is_nested:
            raise Unsupported("nested tensors are not compared yet; return their values, and their offsets if need be")
        plain = value.detach() if value.layout is torch.strided else value.detach().to_dense()
        return _comparable(plain.resolve_conj().resolve_neg())
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_array(np.array(value))
    if isinstance(value, (bool, int, float, complex)):
        return _comparable(torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None))
    raise _not_an_output(f"of type `{type(value).__name__}`")


def _of_array(array: np.ndarray[Any, Any]) -> torch.Tensor:
    try:
        return _comparable(torch.from_numpy(array))
    except (TypeError, ValueError) as error:  # elements torch has no dtype for, or bytes in foreign order
        raise _not_an_output(f"an array of `{array.dtype}`") from error


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPE_NAMES or tensor.is_meta:
        what = "tensors without memory" if tensor.is_meta else f"outputs of dtype {name}"
        raise Unsupported(f"{what} are not compared yet; comparable are {', '.join(DTYPE_NAMES)}")
    return tensor


def _not_an_output(got: str) -> ReferenceFaultError:
    return ReferenceFaultError(
        f"an output is {got}; wanted a tensor, an array or a number",
        next_step="return the outputs themselves, one value or a tuple",
    )


def _returned(returned: Any) -> list[tuple[str, Any]]:
    """What was returned, without None, by name or place."""
    if isinstance(returned, Mapping):
        items = [(str(name), value) for name, value in returned.items()]
    elif isinstance(returned, Sequence) and not isinstance(returned, (str, bytes)):
        # A NamedTuple has `_fields`; what torch returns from max, sort or topk names its fields as match arguments.
        fields: tuple[str, ...] = getattr(returned, "_fields", ()) or getattr(returned, "__match_args__", ())
        given = [value for value in returned if value is not None]
        items = list(zip(fields, returned, strict=False)) if len(fields) == len(returned) else _numbered(given)
    else:
        items = _numbered([returned])
    return [leaf for name, value in items for leaf in leaves(name, value) if leaf[1] is not None]


def _numbered(values: list[Any]) -> list[tuple[str, Any]]:
    return [(f"out{position}", value) for position, value in enumerate(values)]


def _same_view(value: Any, tensor: torch.Tensor, argument: Any) -> bool:
    """Empty tensors share no memory to be told by: they are the argument itself or a view of it."""
    if not isinstance(argument, torch.Tensor) or tensor.shape != argument.shape or tensor.stride() != argument.stride():
        return False
    if not tensor.numel():
        return value is argument or getattr(value, "_base", None) is argument
    return tensor.data_ptr() == argument.data_ptr()
