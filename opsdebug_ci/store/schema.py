"""The tables of the store and the version of its format.

History of FORMAT_VERSION:
    1  first version
    2  packs: files of table `runs` that hold many runs, and stand for other files; they lie in the directory of the
       first day of a month. Files of single runs are as before, so a store of version 1 is added to as it is, and only
       becomes one of version 2 when it is compacted or pruned.

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

FORMAT_VERSION = 2
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
