"""Series of nightly values as the history stores them: level, noise between runs, now and then a bad night."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEP = 0.10
"""The one step, as a share."""

DRIFT_STEP = 0.03
"""Each of the small steps."""

DRIFT_STEPS = 5
"""How many small steps: 15.9 % in all."""

OUTLIER_SHARE = 0.05
"""Nights that meet something else."""

OUTLIER_SCALE = 0.15
"""Mean of the exponential that such a night is longer by, beyond OUTLIER_LEAST; log ratio."""

OUTLIER_LEAST = 0.05
"""Least that such a night is longer by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What happens to a series."""

    name: str
    """In the table."""

    changes: Mapping[int, float]
    """Night -> log ratio by which the level moves from that night on."""


def none() -> Scenario:
    """Nothing happens."""
    return Scenario(name="none", changes={})


def step(at: int) -> Scenario:
    """One step of STEP."""
    return Scenario(name="step 10 %", changes={at: float(np.log1p(STEP))})


def drift(at: int, every: int) -> Scenario:
    """DRIFT_STEPS small steps, one every `every` nights."""
    night = [at + every * number for number in range(DRIFT_STEPS)]
    return Scenario(name=f"5 x 3 %, every {every}", changes=dict.fromkeys(night, float(np.log1p(DRIFT_STEP))))


def simulate(
    scenario: Scenario, *, nights: int, spread: float, outliers: bool, draws: np.random.Generator
) -> NDArray[np.float64]:
    """Log of ns per call, one per night."""
    values = np.log(1e5) + spread * draws.standard_normal(nights)
    for night, moved in scenario.changes.items():
        values[night:] += moved
    if outliers:
        bad = draws.random(nights) < OUTLIER_SHARE
        values[bad] += OUTLIER_LEAST + draws.exponential(OUTLIER_SCALE, int(bad.sum()))
    return values


def conditions() -> Iterator[tuple[float, bool]]:
    """Every noise with and without bad nights."""
    yield from ((spread, outliers) for outliers in (False, True) for spread in (0.01, 0.02, 0.03))
