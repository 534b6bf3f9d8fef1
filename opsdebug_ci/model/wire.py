"""Values to JSON and back with the standard library alone: the worker's half of the pipe.

Decides the wire form: a dataclass becomes an object, an enum its value, a tuple a list, a float that is not finite
becomes null (fields that may be so are declared optional). The control side reads the same form with msgspec.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar, Union

from opsdebug_ci.errors import WorkerError

Value = TypeVar("Value")


def to_json(value: object) -> Any:
    """Plain JSON value of `value`; raises TypeError for anything the wire form does not cover."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    raise TypeError(f"`{type(value).__name__}` has no wire form")


def encode(message: object) -> str:
    """One line of JSON with the message's type beside its fields."""
    return json.dumps({"type": type(message).__name__, **to_json(message)}, allow_nan=False, separators=(",", ":"))


def decode(line: str, *accepted: type[Value]) -> Value:
    """Read one line written by `encode`, which must be one of `accepted`. Raises WorkerError otherwise."""
    fields = json.loads(line)
    name = fields.pop("type", None)
    for candidate in accepted:
        if candidate.__name__ == name:
            return typing.cast(Value, from_json(fields, candidate))
    raise WorkerError(f"message of type `{name}`; wanted one of {[c.__name__ for c in accepted]}")


def from_json(data: Any, expected: Any) -> Any:
    """Build `expected` (a dataclass or an annotation made of the wire form's types) from plain JSON."""
    if dataclasses.is_dataclass(expected) and isinstance(expected, type):
        hints = _hints(expected)
        return expected(**{name: from_json(item, hints[name]) for name, item in data.items()})
    if isinstance(expected, type) and issubclass(expected, Enum):
        return expected(data)
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (Union, types.UnionType):
        return _union(data, arguments)
    if origin is tuple:
        return _tuple(data, arguments)
    if origin is not None and issubclass(origin, Mapping):
        return {key: from_json(item, arguments[1]) for key, item in data.items()}
    return float(data) if expected is float else data


def _union(data: Any, options: tuple[Any, ...]) -> Any:
    chosen = [option for option in options if option is not type(None)]
    if data is None or len(chosen) != 1:
        return tuple(data) if isinstance(data, list) else data
    return from_json(data, chosen[0])


def _tuple(data: Any, items: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(items) == 2 and items[1] is Ellipsis:
        return tuple(from_json(item, items[0]) for item in data)
    return tuple(from_json(item, expected) for item, expected in zip(data, items, strict=True))


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)
