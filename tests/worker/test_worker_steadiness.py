"""A failing operator that changes its mind is told of as that, and nothing is read into what it returned."""

from __future__ import annotations

import itertools
import time

import pytest
import torch
from worker_notation import run, unary

from opsdebug_ci import Contract, Operator


def wrong(changes_in: int | None, **options: object) -> Operator:
    """-2 x where 2 x is wanted; the first element is another in every so many launches."""
    count = itertools.count(1)

    def function(x):
        out = -2 * x
        if changes_in is not None and next(count) % changes_in == 0:
            out[0] = 5
        return out

    return unary(function, **options)


def test_bits_that_change_now_and_then_are_found_and_explained_by_nothing_else() -> None:
    found = run(wrong(5))
    assert (found.repeat_mismatches, found.clues) == (1, ())


def test_a_steady_one_is_investigated() -> None:
    found = run(wrong(None))
    assert found.repeat_mismatches == 0
    assert found.clues


def test_nothing_is_asked_of_one_that_promises_nothing() -> None:
    found = run(wrong(5, contract=Contract(deterministic=False)))
    assert found.repeat_mismatches == 0


def test_memory_that_nobody_wrote_is_no_change_of_mind() -> None:
    def forgets_one(x):
        out = torch.empty_like(x)
        out[:-1] = 2 * x[:-1]
        return out

    found = run(unary(forgets_one))
    assert (found.repeat_mismatches, found.unwritten) == (0, 1)


def test_launches_that_wait_for_the_machine_are_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsdebug_ci.worker.probes.budget.PATIENCE", 1e6)
    steady, count = wrong(None).function, itertools.count(1)

    def waits(x):
        out = steady(x)
        time.sleep(0.06)
        if next(count) % 9 == 5:
            out[0] = 5
        return out

    found = run(unary(waits))
    assert (found.repeat_mismatches, found.clues) == (1, ())
