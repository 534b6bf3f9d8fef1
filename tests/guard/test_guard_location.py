"""When looking for the moment of a change ends: by the work it takes, not by how long the machine takes for it."""

from __future__ import annotations

import time

import pytest

from opsdebug_ci.guard import location
from opsdebug_ci.guard.location import Key, Locator
from opsdebug_ci.model.vocabulary import Side

CHANGED: set[Key] = {(4096, Side.TAIL)}


def step_of(locator: Locator, changed: set[Key]) -> str | None:
    """The step in which the change was seen, after two steps that change nothing."""
    for name in ("first", "second"):
        locator.entered(name)
        locator.left(name)
    locator.entered("third")
    changed |= CHANGED
    locator.left("third")
    found = locator.found.get((4096, Side.TAIL))
    return found and found.step


def test_waiting_for_the_machine_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "LOOKING_S", 0.05)
    changed: set[Key] = set()

    def waits() -> set[Key]:
        time.sleep(0.02)
        return changed

    assert step_of(Locator(waits), changed) == "third"


def test_work_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "LOOKING_S", 0.05)
    changed: set[Key] = set()

    def works() -> set[Key]:
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        return changed

    assert step_of(Locator(works), changed) is None
