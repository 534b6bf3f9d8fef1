"""`checkpoint("name", tensor)`: marks an internal step of an operator or a reference.

Decides only who listens. Costs one attribute read when nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Value = TypeVar("Value")

_listener: Callable[[str, object], None] | None = None


def checkpoint(name: str, value: Value) -> Value:
    """Report `value` under `name` to whoever listens, and return it unchanged.

    Equal names in the operator and in a reference are compared with each other when tracing.
    """
    if _listener is not None:
        _listener(name, value)
    return value


@contextmanager
def listening(listener: Callable[[str, object], None]) -> Iterator[None]:
    """Send every checkpoint in this block to `listener`; restores the previous one afterwards."""
    global _listener
    previous, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = previous
