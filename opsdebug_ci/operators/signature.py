"""What a function's signature says about its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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
