"""Screening by history in simulated series: false suspicions, and slowdowns of 10 % suspected the first night.

python tests/benchmarks/bench_history.py
"""

from __future__ import annotations

import numpy as np
from side_by_side import show
from simulated_series import conditions, none, simulate

from opsdebug_ci.regress.history import SeriesHistory, read_series
from opsdebug_ci.regress.rule import FAMILY_ALARMS

SERIES = 4000
"""Per row."""

OPERATORS = 12
"""Among which the chance of a false suspicion is shared."""

LENGTHS = (8, 30)
"""Runs of the history."""

THRESHOLD = 0.10
"""Slowdown that needs a person, and the one that is planted."""


def main() -> None:
    """Simulate, read, print."""
    rows = [
        (f"{runs}", f"{100 * spread:.0f} %", "5 %" if outliers else "none", *_rates(runs, spread, outliers=outliers))
        for runs in LENGTHS
        for spread, outliers in conditions()
    ]
    header = ("runs", "noise", "bad nights before", "suspected of unchanged, %", "of +10 %, %")
    show(f"Screening by history, {OPERATORS} operators, {SERIES} series a row, one night each", header, rows)


def _rates(runs: int, spread: float, *, outliers: bool) -> tuple[str, str]:
    draws = np.random.default_rng(round(1000 * spread) + runs)
    unchanged = slower = 0
    for _ in range(SERIES):
        values = simulate(none(), nights=runs, spread=spread, outliers=outliers, draws=draws)
        newest = float(simulate(none(), nights=1, spread=spread, outliers=False, draws=draws)[0])
        unchanged += _suspected(values, newest)
        slower += _suspected(values, newest + float(np.log1p(THRESHOLD)))
    return f"{100 * unchanged / SERIES:.2f}", f"{100 * slower / SERIES:.1f}"


def _suspected(values: np.ndarray, newest: float) -> bool:
    history = SeriesHistory(values=values, newest=newest)
    return read_series(history, THRESHOLD, FAMILY_ALARMS / OPERATORS).suspected


if __name__ == "__main__":
    main()
