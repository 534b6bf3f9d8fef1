"""Checkpoints: silent without a listener, nested listeners restored."""

from __future__ import annotations

import pytest

from opsdebug_ci.model import checkpoint
from opsdebug_ci.model.checkpoint import listening


def test_nobody_listens_and_the_value_comes_back() -> None:
    value = object()
    assert checkpoint("step", value) is value


def test_the_innermost_listener_hears_and_the_outer_one_is_restored() -> None:
    heard: list[tuple[str, str, object]] = []

    def listener(who: str):
        return lambda name, value: heard.append((who, name, value))

    with listening(listener("outer")):
        checkpoint("a", 1)
        with listening(listener("inner")):
            checkpoint("b", 2)
        checkpoint("c", 3)
    checkpoint("d", 4)
    assert heard == [("outer", "a", 1), ("inner", "b", 2), ("outer", "c", 3)]


def test_an_exception_restores_the_listener_too() -> None:
    heard: list[str] = []
    with pytest.raises(ZeroDivisionError), listening(lambda name, _: heard.append(name)):
        raise ZeroDivisionError
    checkpoint("after", 1)
    assert heard == []
