"""The tables of the store and the version of its format.

History of FORMAT_VERSION:
    1  first version

A version grows when a column changes its meaning or type, or the layout changes; a new column or table does not
need one, because readers fill what an older file lacks with null.
"""

from __future__ import annotations

from opsdebug_ci.store.column import Table
from opsdebug_ci.store.tables import (
    acceptances,
    accuracy,
    calibrations,
    comparisons,
    failures,
    histories,
    runs,
    sweeps,
    timings,
)

FORMAT_VERSION = 1
"""Version this program writes, and the newest it reads."""

TABLES: tuple[Table, ...] = (
    accuracy.TABLE,
    timings.TABLE,
    comparisons.TABLE,
    histories.TABLE,
    sweeps.TABLE,
    calibrations.TABLE,
    failures.TABLE,
    acceptances.TABLE,
    runs.TABLE,
)
"""Every table, in the order a run is written: `runs` last, so that a run appears whole or not at all."""
