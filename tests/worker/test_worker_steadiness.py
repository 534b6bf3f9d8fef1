"""A failing operator that changes its mind is told of as that, and nothing is read into what it returned."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

import pytest
import torch
from worker_notation import run, unary

from opsdebug_ci import Contract, Operator
from opsdebug_ci.model import Cause, Clue


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


def test_what_changed_before_it_was_asked_about_is_explained_by_nothing_else() -> None:
    launches = itertools.count(1)

    def settles(x):
        return -2 * x - int(next(launches) < 2)

    found = run(unary(settles))
    assert found.repeat_mismatches == 6
    assert found.clues == ()


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


LAUNCHED = {"contiguous_copy", "sizes", "tamed_values", "influence"}
"""Probes that compare launches on the arguments of the case with launches on others."""


def odd(x: torch.Tensor) -> torch.Tensor:
    """What no altered reference explains."""
    return 2 * x + torch.sin(37 * x.nan_to_num())


def view(seed: int, dims: dict[str, int], dtype: str) -> list[torch.Tensor]:
    return [torch.linspace(1, 2, 2 * dims["N"]).reshape(-1, 2)[:, 0]]


def with_nan(seed: int, dims: dict[str, int], dtype: str) -> list[torch.Tensor]:
    return [torch.linspace(1, 2, dims["N"]).index_fill(0, torch.tensor(3), float("nan"))]


def launched(function: Callable[[torch.Tensor], torch.Tensor], inputs: Callable[..., list[torch.Tensor]]) -> list[Clue]:
    """What probes say that launch it on other arguments; it may change its mind, so that nothing else looks."""
    operator = Operator(
        "unary",
        function,
        inputs,
        {"torch": lambda x: 2 * x},
        kind="elementwise",
        contract=Contract(deterministic=False),
        dims={"N": 40},
    )
    return [clue for clue in run(operator, layout="own", inputs="own").clues if clue.rule in LAUNCHED]


@pytest.mark.parametrize("inputs", [view, with_nan])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_no_other_arguments_are_blamed_for_what_comes_and_goes(
    inputs: Callable[..., list[torch.Tensor]], share: float
) -> None:
    for seed in range(5):
        chance = random.Random(seed)
        said = launched(lambda x, chance=chance: odd(x) if chance.random() < share else 2 * x, inputs)
        assert said == [], seed


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_what_follows_the_arguments_is_told_whatever_bits_change_beside_it(noise: float) -> None:
    def steady(wrong: Callable[[torch.Tensor], bool]) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: (odd(x) if wrong(x) else 2 * x) * (1 + noise * torch.rand(1))

    strided = launched(steady(lambda x: not x.is_contiguous()), view)
    unwelcome = launched(steady(lambda x: bool(x.isnan().any())), with_nan)
    assert [(clue.rule, clue.cause) for clue in strided] == [("contiguous_copy", Cause.STRIDE_VIEW)]
    assert ("tamed_values", Cause.NAN_INF_HANDLING) in [(clue.rule, clue.cause) for clue in unwelcome]
