"""Locating lasting changes in simulated histories: libraries and ours, on the same series.

    python -m venv /tmp/points && /tmp/points/bin/pip install numpy mpmath apache-otava ruptures
    PYTHONPATH=. /tmp/points/bin/python tests/benchmarks/bench_change_points.py

A library that is not installed is left out, and named. None is a dependency of the project.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from side_by_side import show
from simulated_series import Scenario, conditions, drift, none, simulate, step

from opsdebug_ci.regress.change_points import change_points, noise

NIGHTS = 60
"""Of every series."""

SERIES = 100
"""Per scenario, noise and kind of nights."""

STEP_AT = 40
DRIFT_AT, DRIFT_EVERY = 25, 6
"""Nights of the changes."""

SLACK = 1
"""Nights by which a place may be off."""

Locate = Callable[[NDArray[np.float64]], Sequence[int]]
"""Series of log times -> indices of the first nights at new levels."""


def main() -> None:
    """Simulate, locate, print."""
    candidates = {"opsdebug, biweight segments": lambda y: [found.first_after for found in change_points(y)]}
    missing = []
    for library, offered in (("otava", _otava), ("ruptures", _ruptures)):
        if importlib.util.find_spec(library) is None:
            missing.append(library)
        else:
            candidates.update(offered())
    rows = []
    for outliers in (False, True):
        rows += [_row(name, locate, outliers=outliers) for name, locate in candidates.items()]
    header = ("locates", "bad nights", "alarms on none", "step", "step alone", "drift", "ms")
    count = sum(1 for _, bad in conditions() if bad) * SERIES
    show(f"Change points, {NIGHTS} nights, noise 1-3 %, {count} series a cell, percent of series", header, rows)
    if missing:
        sys.stdout.write(f"not installed, left out: {', '.join(missing)}\n")


def _row(name: str, locate: Locate, *, outliers: bool) -> tuple[str, ...]:
    """Shares over all noises: any change where there is none; the step within SLACK; and nothing beside it; drift: some
    change, and all of them from its first to its last step."""
    began = time.perf_counter()
    quiet = _found(locate, none(), outliers=outliers)
    stepped = _found(locate, step(STEP_AT), outliers=outliers)
    drifted = _found(locate, drift(DRIFT_AT, DRIFT_EVERY), outliers=outliers)
    spent_ms = (time.perf_counter() - began) * 1e3 / (len(quiet) + len(stepped) + len(drifted))
    near = [[abs(place - STEP_AT) <= SLACK for place in places] for places in stepped]
    last = DRIFT_AT + 4 * DRIFT_EVERY
    within = [bool(places) and all(DRIFT_AT - SLACK <= place <= last + SLACK for place in places) for places in drifted]
    shares = (
        sum(map(bool, quiet)) / len(quiet),
        sum(map(any, near)) / len(near),
        sum(found == [True] for found in near) / len(near),
        sum(within) / len(within),
    )
    return (name, "5 %" if outliers else "none", *(f"{100 * share:.1f}" for share in shares), f"{spent_ms:.1f}")


def _found(locate: Locate, scenario: Scenario, *, outliers: bool) -> list[list[int]]:
    """Places in every series; the same series for every candidate."""
    places = []
    for spread, bad in conditions():
        if bad is outliers:
            draws = np.random.default_rng(round(1000 * spread))
            places += [
                list(locate(simulate(scenario, nights=NIGHTS, spread=spread, outliers=outliers, draws=draws)))
                for _ in range(SERIES)
            ]
    return places


def _tamed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values moved to within three standard deviations of the median of the seven nights around."""
    around = np.lib.stride_tricks.sliding_window_view(np.pad(values, 3, mode="reflect"), 7)
    usual = np.median(around, axis=1)
    reach = 3 * noise(values)
    return usual + np.clip(values - usual, -reach, reach)


def _otava() -> Mapping[str, Locate]:
    """As it comes, and with our help: tamed input, p < 1e-4, at least four nights after a change."""
    from otava.analysis import compute_change_points  # noqa: PLC0415 - only where it is installed

    def plain(values: NDArray[np.float64], max_p: float = 0.001) -> list[int]:
        # NOTE: a list, for of an array it takes the whole where it means a window.
        points, _ = compute_change_points(np.exp(values).tolist(), window_len=50, max_pvalue=max_p)
        return [int(point.index) for point in points]

    def helped(values: NDArray[np.float64]) -> list[int]:
        return [place for place in plain(_tamed(values), 1e-4) if place <= values.size - 4]

    return {"apache-otava": plain, "apache-otava, tamed": helped}


def _ruptures() -> Mapping[str, Locate]:
    """Least squares with the penalty of BIC, plain and tamed; least absolute values, which is the L1 Potts problem."""
    import ruptures  # noqa: PLC0415 - only where it is installed

    def searched(values: NDArray[np.float64], model: str, weight: float) -> list[int]:
        scaled = values / noise(values)
        search = ruptures.Pelt(model=model, min_size=4, jump=1).fit(scaled.reshape(-1, 1))
        return list(search.predict(pen=weight * np.log(values.size)))[:-1]

    return {
        "ruptures, l2, BIC": lambda y: searched(y, "l2", 2),
        "ruptures, l2, 3 log n, tamed": lambda y: searched(_tamed(y), "l2", 3),
        "ruptures, l1 (L1 Potts), BIC": lambda y: searched(y, "l1", 2),
    }


if __name__ == "__main__":
    main()
