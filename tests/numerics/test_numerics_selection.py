"""Percentiles of errors in blocks against sorting in plain Python."""

from __future__ import annotations

import math

import pytest
import torch

from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.numerics.readings import read
from opsdebug_ci.numerics.selection import (
    COUNTED_BELOW,
    SAMPLE,
    WORTHWHILE,
    FloatSelection,
    IntegerTally,
    sample_positions,
)

SIZE = 3 * SAMPLE + 1


def ranked(errors: torch.Tensor) -> Quantiles:
    ordered = sorted(errors.tolist())
    p50, p95, p99 = (float(ordered[math.ceil(len(ordered) * q / 100) - 1]) for q in (50, 95, 99))
    return Quantiles(p50=p50, p95=p95, p99=p99, max=float(ordered[-1]))


def selected(errors: torch.Tensor, sample: torch.Tensor | None) -> Quantiles | None:
    selection = FloatSelection(sample, errors.numel())
    for block in torch.split(errors, 50_000):
        selection.add(block.clone())
    return selection.found()


def noise(seed: int = 0) -> torch.Tensor:
    return torch.randn(SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).abs_()


ERRORS = {
    "noise": noise(),
    "ascending": noise().sort().values,
    "mostly zeros": torch.where(noise() < 1.0, 0.0, noise(1)),
    "few zeros": torch.where(noise() < 0.1, 0.0, noise(1)),
    "only zeros": torch.zeros(SIZE, dtype=torch.float64),
    "equal": torch.full((SIZE,), 0.25, dtype=torch.float64),
    "few values": (4 * noise()).floor(),
    "subnormal": noise() * 2.0**-1070,
    "large": noise() * 1e307,
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_fair_sample_finds_the_percentiles(name: str) -> None:
    errors = ERRORS[name]
    sample = errors[sample_positions(SIZE, errors.device)]
    assert selected(errors, sample) == selected(errors, None) == ranked(errors)


@pytest.mark.parametrize("factor", [0.0, 2.0**-60, 0.5, 2.0, 1e9])
def test_a_misleading_sample_gives_no_answer_or_the_right_one(factor: float) -> None:
    errors = noise()
    found = selected(errors, factor * errors[:SAMPLE])
    assert found in (None, ranked(errors))


def test_most_misleading_samples_are_noticed() -> None:
    errors = noise()
    assert selected(errors, 0.5 * errors[:SAMPLE]) is None
    assert selected(errors, 2.0 * errors[:SAMPLE]) is None


def test_the_sample_is_spread_evenly_and_inside() -> None:
    positions = sample_positions(WORTHWHILE, torch.device("cpu"))
    assert positions.numel() == SAMPLE
    assert 0 <= int(positions.min()) <= int(positions.max()) < WORTHWHILE
    columns = torch.bincount(positions % 1024, minlength=1024)
    assert int(columns.min()) > 0
    assert int(torch.bincount(positions * 16 // WORTHWHILE, minlength=16).min()) > SAMPLE // 17


def test_readings_of_many_elements_where_the_sample_misleads() -> None:
    """Errors exactly where nothing is sampled: the whole pass is done again, nothing is estimated."""
    expected = torch.ones(WORTHWHILE + 1, dtype=torch.float64)
    actual = expected + 2.0**-20 * torch.arange(1, WORTHWHILE + 2, dtype=torch.float64) / WORTHWHILE
    actual[sample_positions(WORTHWHILE + 1, actual.device)] = 1.0
    assert read(actual, expected).rel_err == ranked((actual - expected).abs())


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_integers_of_every_width(dtype: torch.dtype) -> None:
    largest = torch.iinfo(dtype).max
    blocks = [torch.tensor(values, dtype=dtype) for values in ([0, 3, 3], [largest, 0, 1], [0] * 5)]
    tally = IntegerTally(torch.device("cpu"))
    for block in blocks:
        tally.add(block)
    tally.add(torch.zeros(2, dtype=dtype))
    every = torch.cat([*(block.to(torch.int64) for block in blocks), torch.zeros(2, dtype=torch.int64)])
    assert tally.found() == (ranked(every), 9)


def test_integers_on_both_sides_of_the_counted_ones() -> None:
    values = torch.arange(COUNTED_BELOW - 60, COUNTED_BELOW + 60)
    tally = IntegerTally(torch.device("cpu"))
    for block in torch.split(values, 7):
        tally.add(block)
    assert tally.found() == (ranked(values), 0)


def test_nothing_but_large_integers() -> None:
    values = COUNTED_BELOW + torch.arange(200)
    tally = IntegerTally(torch.device("cpu"))
    tally.add(values)
    assert tally.found() == (ranked(values), 0)


def test_more_than_agreed_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The percentiles then come digit by digit, and are the same."""
    generator = torch.Generator().manual_seed(2)
    expected = torch.rand(WORTHWHILE + 3, dtype=torch.float64, generator=generator) + 1
    actual = expected.flip(0).float()  # far off everywhere
    wanted = read(actual, expected)
    distances = (actual.view(torch.int32) - expected.float().view(torch.int32)).abs()
    assert wanted.ulp == ranked(distances)
    monkeypatch.setattr("opsdebug_ci.numerics.selection.KEPT", 1000)
    monkeypatch.setattr("opsdebug_ci.numerics.selection.LARGE_KEPT", 1000)
    monkeypatch.setattr("opsdebug_ci.numerics.selection._brackets", lambda sample: [(0.0, math.inf)])
    assert read(actual, expected) == wanted


def test_too_many_large_integers_leave_their_number_and_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsdebug_ci.numerics.selection.LARGE_KEPT", 10)
    tally = IntegerTally(torch.device("cpu"))
    for block in torch.arange(COUNTED_BELOW, COUNTED_BELOW + 40).split(9):
        tally.add(block)
    tally.add(torch.zeros(7, dtype=torch.int64))
    assert tally.found() == (None, 7)
    tally.add(torch.zeros(10_000, dtype=torch.int64))
    assert tally.found() == (Quantiles(p50=0.0, p95=0.0, p99=0.0, max=float(COUNTED_BELOW + 39)), 10_007)
