"""A call of a service as a case: which arguments by which names, of which dims.

Decides how a call is told to those who replay it. What no declaration says is left open: the arguments themselves are
kept, so that nothing need be made of the case.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from opsdebug_ci.bundle.extents import ITEM_BYTES
from opsdebug_ci.guard.nesting import map_leaves
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.dims import DimExpression
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.operators.signature import argument_names


def name_of(operator: Callable[..., Any]) -> str:
    """What an operator, or a function, is called."""
    if isinstance(operator, Operator):
        return operator.name
    return str(getattr(operator, "__name__", type(operator).__name__))


def arguments_of(operator: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> Arguments:
    """The arguments of a call, by name and in order."""
    function = operator.function if isinstance(operator, Operator) else operator
    names = operator.argument_names if isinstance(operator, Operator) else argument_names(function)
    if not named:
        return Arguments.of_sequence(given, names)
    if len(given) <= len(names):
        return Arguments.of_mapping({**dict(zip(names, given, strict=False)), **named})
    try:
        bound = inspect.signature(function).bind(*given, **named)
    except (TypeError, ValueError):
        return Arguments.of_sequence((*given, *named.values()), names)
    return Arguments.of_mapping(bound.arguments)


def case_of(operator: Callable[..., Any], arguments: Arguments) -> Case:
    """The case that stands for a call."""
    tensors = tensors_in(arguments.values)
    dtypes = [str(tensor.dtype).removeprefix("torch.") for tensor in tensors]
    return Case(
        operator=name_of(operator),
        dims=_dims(operator, arguments) if isinstance(operator, Operator) else {},
        dtype=next((dtype for dtype in dtypes if dtype in ITEM_BYTES), "float32"),
        layout=Layout.OWN,
        inputs=Family.OWN,
        seed=0,
        device=next((str(tensor.device) for tensor in tensors), "cpu"),
    )


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Tensors in a value, however deep in lists, tuples and dicts."""
    found: list[torch.Tensor] = []

    def look(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        return leaf

    map_leaves(value, look)
    return found


def _dims(operator: Operator, arguments: Arguments) -> dict[str, int]:
    """Sizes of the declared dims, read off the tensors; where they do not tell, the declared ones."""
    told: dict[str, int] = {}
    for name, declared in operator.tensors.items():
        value = arguments[name] if name in arguments.names else None
        if isinstance(value, torch.Tensor) and value.dim() == len(declared.shape):
            for dim, size in zip(declared.shape, value.shape, strict=True):
                told = {**_solved(dim, int(size)), **told}
    return {name: told.get(name, size) for name, size in operator.dims.items()}


def _solved(dim: DimExpression, size: int) -> dict[str, int]:
    """The name in `coefficient * name + constant`, where that is what `dim` is and it comes out even."""
    named = [term for term in dim.terms if term.name]
    if len(named) != 1 or named[0].coefficient < 1:
        return {}
    rest = size - sum(term.coefficient for term in dim.terms if not term.name)
    whole, left = divmod(rest, named[0].coefficient)
    return {named[0].name: whole} if whole >= 0 and not left else {}
