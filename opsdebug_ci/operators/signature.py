"""What a function's signature says about its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from opsdebug_ci.model.argument import tensor

DEFAULT_SHAPE = "B S H"
"""Shape of a tensor argument about which nothing is declared: 1 x 128 x 128."""


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the positional parameters; empty when the function does not tell (builtins, extension modules)."""
    return tuple(parameter.name for parameter in _parameters(function))


def inputs_from_signature(function: Callable[..., Any]) -> dict[str, object]:
    """A `1 x 128 x 128` tensor for every parameter without a default; those with one keep it."""
    return {
        parameter.name: tensor(DEFAULT_SHAPE) if parameter.default is inspect.Parameter.empty else parameter.default
        for parameter in _parameters(function)
    }


def with_defaults(
    function: Callable[..., Any], inputs: Mapping[str, object], references: Collection[Callable[..., Any]]
) -> dict[str, object]:
    """`inputs` with the default of every parameter they pass over; with those behind the last as well where references
    take them, so that all of them and the function are called alike."""
    parameters, names = _parameters(function), list(inputs)
    order = [parameter.name for parameter in parameters]
    by_name = names == [name for name in order if name in inputs]
    end = order.index(names[-1]) + 1 if names and by_name else len(names)
    order[:end] = order[:end] if by_name else names
    given = {p.name: p.default for p in parameters if p.default is not p.empty} | dict(inputs)
    passed, all_of_them = ({name: given[name] for name in some if name in given} for some in (order[:end], order))
    lacking = any(call_problem(reference, *passed) for reference in references)
    return all_of_them if lacking and not any(call_problem(each, *all_of_them) for each in references) else passed


def call_problem(function: Callable[..., Any], *positional: object, **by_name: object) -> str | None:
    """Why `function` cannot be called with these arguments; None when it can, or does not tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*positional, **by_name)
    except TypeError as error:
        return f"{error}; its signature is {signature}"
    return None


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter for parameter in signature.parameters.values() if parameter.kind in positional]
