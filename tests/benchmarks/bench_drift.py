"""Noticing slow drift in simulated histories: false alarms, detections, nights until the first alarm.

python tests/benchmarks/bench_drift.py
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from side_by_side import show
from simulated_series import Scenario, conditions, drift, none, simulate

from opsdebug_ci.regress.change_points import noise
from opsdebug_ci.regress.drift import ANCHOR_RUNS, LIMIT, cumulative_sums, find_drift

HISTORY = 30
"""Nights before those watched."""

WATCHED = 60
"""Nights on every one of which an alarm is an alarm."""

SERIES = 500
"""Per row and rule."""

THRESHOLD = 0.10
"""Slowdown that needs a person."""

Alarm = Callable[[NDArray[np.float64]], bool]
"""Series up to a night -> is there an alarm that night."""


def plain_anchor(values: NDArray[np.float64]) -> bool:
    """The median of seven nights against that of the first thirty, with the normal quantile."""
    anchor, recent = values[:ANCHOR_RUNS], values[-7:]
    error = 1.2533 * noise(anchor) * math.sqrt(1 / ANCHOR_RUNS + 1 / 7)
    return float(np.median(recent) - np.median(anchor)) - 2.33 * error > math.log(1.05)


def plain_cusum(values: NDArray[np.float64]) -> bool:
    """The cumulative sum alone."""
    return bool(cumulative_sums(values, ANCHOR_RUNS)[-1] >= LIMIT)


def ours(values: NDArray[np.float64]) -> bool:
    """What the history says."""
    return find_drift(values, THRESHOLD) is not None


RULES: dict[str, Alarm] = {"anchor alone": plain_anchor, "cumulative sum alone": plain_cusum, "opsdebug": ours}


def main() -> None:
    """Simulate, watch, print."""
    rows = []
    for spread, outliers in conditions():
        for name, rule in RULES.items():
            quiet = _first_alarms(rule, none(), spread=spread, outliers=outliers)
            slow = _first_alarms(rule, drift(HISTORY + 3, 6), spread=spread, outliers=outliers)
            daily = _first_alarms(rule, drift(HISTORY + 3, 1), spread=spread, outliers=outliers)
            rows.append(
                (
                    f"{100 * spread:.0f} %",
                    "5 %" if outliers else "none",
                    name,
                    f"{100 * sum(night is not None for night in quiet) / SERIES:.1f}",
                    *_detected(slow),
                    *_detected(daily),
                )
            )
    header = ("noise", "bad nights", "rule", "false, %", "slow, %", "after", "daily, %", "after")
    title = f"Drift of 5 x 3 % over {WATCHED} nights, a step every 6 nights (slow) and every night (daily)"
    show(f"{title}, {SERIES} series a cell; after: median nights from the first step", header, rows)


def _first_alarms(rule: Alarm, scenario: Scenario, *, spread: float, outliers: bool) -> list[int | None]:
    """Nights from the third watched one, on which drift begins, to the first alarm; the same series for every rule."""
    draws = np.random.default_rng(round(1000 * spread) + outliers)
    series = (
        simulate(scenario, nights=HISTORY + WATCHED, spread=spread, outliers=outliers, draws=draws)
        for _ in range(SERIES)
    )
    return [
        next((night - HISTORY - 3 for night in range(HISTORY, HISTORY + WATCHED) if rule(values[: night + 1])), None)
        for values in series
    ]


def _detected(alarms: list[int | None]) -> tuple[str, str]:
    """Share of series with an alarm after the first step, none before it, and the median delay."""
    delays = [night for night in alarms if night is not None and night >= 0]
    return f"{100 * len(delays) / len(alarms):.1f}", f"{statistics.median(delays):g}" if delays else "-"


if __name__ == "__main__":
    main()
