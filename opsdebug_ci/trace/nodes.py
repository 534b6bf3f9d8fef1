"""What an operation of torch does to its arguments and results, read off its schema.

Decides which results are news: those of a view are elements seen before, those of an allocation are what memory held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.numerics.custom_calls import FRAMEWORK

ALLOCATIONS = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"} | {"resize_", "set_"}
)
"""Calls whose results hold whatever the memory held."""

OVERWRITES = frozenset(
    {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_"}
    | {"log_normal_", "cauchy_", "eye_", "arange_", "set_"}
)
"""Calls that write their first argument without reading it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One kind of operation."""

    name: str
    """Name of the call, without overload."""

    custom: bool
    """Not the framework's own: torch calls inside it can be seen too."""

    allocates: bool
    """Its results hold whatever the memory held."""

    views: bool
    """Its results are elements of an argument."""

    blind: bool
    """It reads no element of its first argument: it overwrites it, or makes another one of its shape."""

    written: tuple[int, ...]
    """Positions of the arguments it writes."""

    out: frozenset[str]
    """Arguments by keyword that it writes without reading them."""


_NODES: dict[Any, Node] = {}
"""Kinds of operations met so far; schemas do not change."""


def node_of(func: Any) -> Node:
    """The kind of an operation."""
    known = _NODES.get(func)
    if known is None:
        known = _NODES[func] = _read(func)
    return known


def _read(func: Any) -> Node:
    schema = func._schema
    name = func.overloadpacket.__name__
    returned = [value.alias_info for value in schema.returns if value.alias_info is not None]
    positions = range(len(schema.arguments))
    written = tuple(p for p in positions if schema.arguments[p].is_write and not schema.arguments[p].kwarg_only)
    out = {argument.name for argument in schema.arguments if argument.is_write and argument.kwarg_only}
    return Node(
        name=name,
        custom=func.namespace not in FRAMEWORK,
        allocates=name in ALLOCATIONS and not out,
        views=bool(returned) and not any(alias.is_write for alias in returned),
        blind=name in OVERWRITES or name.endswith("_like") or name.startswith("new_"),
        written=written,
        out=frozenset(out),
    )


def tensors_read(node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Arguments a call may read, nested ones included, numbers among them."""
    given = list(args[1:] if node.blind else args)
    given += [value for name, value in kwargs.items() if name not in node.out]
    return leaves(given)


def tensors_written(node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Arguments a call writes."""
    given = [args[p] for p in node.written if p < len(args)] + [kwargs[name] for name in node.out if name in kwargs]
    return [value for value in leaves(given) if isinstance(value, torch.Tensor)]


def leaves(values: Any) -> list[Any]:
    """Everything inside lists, tuples and dicts that is none of these."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += leaves(value)
        elif isinstance(value, dict):
            found += leaves(value.values())
        else:
            found.append(value)
    return found
