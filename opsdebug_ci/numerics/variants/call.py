"""One ATen call of a running reference, and what it might have been instead.

Decides how a call is read and repeated. The rules beside this module say what else it might have been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """What a call, or an argument, might have been instead."""

    name: str
    """Short name; equal names at several calls are tried together as well."""

    cause: Cause
    """The cause it is evidence of."""

    statement: str
    """What the operator does instead, as a sentence about it: `eps is 0.001, not 1e-06`."""

    result: Callable[[], Any]
    """Makes the alternative result; raises when it makes no sense for these values."""

    weight: float = 0.5
    """Which is tried first, and which wins when two reproduce the output equally well: 0 to 1."""

    rounds: bool = False
    """It is the reference in exact arithmetic, and is recognised by its own rounding errors at the promised precision:
    `result` takes float64 steps, each of which is then rounded."""

    counts: tuple[float, float] | None = None
    """What it divides by, and what the reference divides by: a ratio of the outputs is told as a fraction of them, or
    its root, where it is measured to be that. None: it is not about a count."""

    rule: str = ""
    """Which rule lists it."""

    layout: str = ""
    """The order of elements that is taken for another one: it may be that of several arguments, and of the result."""


def alternative(phrase: str, cause: Cause, result: Callable[[], Any], *, weight: float = 0.7) -> Alternative:
    """An alternative whose name is its statement."""
    return Alternative(name=phrase, cause=cause, statement=phrase, result=result, weight=weight)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """One call, as the observer of a reference sees it. Holds live tensors, for the length of one run."""

    name: str
    """Name of the operation without overload, an in-place call without its underscore."""

    function: Any
    """The overload."""

    values: Mapping[str, Any]
    """Every argument by its name in the schema, defaults included, as it was before the call."""

    result: Any
    """What it returned."""

    makers: dict[int, Call] = field(default_factory=dict)
    """The calls before this one by the id of their result."""

    arguments: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """What the formula is given, by name; at whatever precision."""

    def again(self, /, **changes: Any) -> Any:
        """Result of the same call with some arguments replaced."""
        values = {**self.values, **changes}
        schema = self.function._schema.arguments
        positional = [_own(item, values[item.name]) for item in schema if not item.kwarg_only]
        keywords = {item.name: _own(item, values[item.name]) for item in schema if item.kwarg_only}
        return self.function(*positional, **keywords)

    def maker(self, value: object) -> Call | None:
        """The call that made `value`, if one of this run did."""
        return self.makers.get(id(value))

    def tensor(self, name: str) -> torch.Tensor | None:
        """The argument of that name when it is a tensor."""
        value = self.values.get(name)
        return value if isinstance(value, torch.Tensor) else None


ArgumentRule = Callable[[str, Any, Mapping[str, Any]], Iterable[Alternative]]
"""(name, value, all arguments) to what the value might have been read as."""

CallRule = Callable[[Call], Iterable[Alternative]]
"""Yields nothing for calls it does not know."""


NO_ARGUMENTS: Mapping[str, torch.Tensor] = {}
"""Where nobody asks which argument a value is."""


def read_call(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    result: Any,
    makers: dict[int, Call],
    arguments: Mapping[str, torch.Tensor] = NO_ARGUMENTS,
) -> Call:
    """A call from what an observer is given."""
    schema = function._schema.arguments
    values = {item.name: item.default_value for item in schema}
    values |= {item.name: value for item, value in zip(schema, args, strict=False)}
    values |= kwargs
    name = function.overloadpacket.__name__
    plain = name.rstrip("_") if function._schema.is_mutable and not name.startswith("_") else name
    return Call(name=plain, function=function, values=values, result=result, makers=makers, arguments=arguments)


def _own(item: Any, value: Any) -> Any:
    """A copy of what the call would overwrite."""
    written = item.alias_info is not None and item.alias_info.is_write
    return value.clone() if written and isinstance(value, torch.Tensor) else value


def is_number(value: object) -> bool:
    """A Python number that is no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def normal_axis(axis: int, ndim: int) -> int:
    """`axis` counted from the front."""
    return axis % ndim if ndim else 0


def spelled(value: float) -> str:
    """A constant as a person writes it."""
    return f"{value:.6g}"
