"""Which stored runs a history may count, and why the others may not.

Decides by the machine key alone; which stages and launches make a history at all is decided in `series`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from opsdebug_ci.model.comparability import differences
from opsdebug_ci.model.history import ComparableRuns, LeftOut
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.store.machine_columns import KEY, MACHINE_COLUMNS, read_machine
from opsdebug_ci.store.memory.series import MOST_RUNS, OF_HISTORY
from opsdebug_ci.store.places.marker import is_store
from opsdebug_ci.store.sql.query import query

REASONS = 5
"""Groups of other machines that are kept with their differences: those of most runs."""

_FACTS = tuple(column.name for column in MACHINE_COLUMNS[1:])

# Names are ours: columns of this package.
_MACHINES = f"""
    select {KEY}, count(*), {", ".join(f'arg_max("{name}", id)' for name in _FACTS)}
    from runs where {OF_HISTORY} group by {KEY} order by count(*) desc, {KEY}
"""  # noqa: S608 - names of our own columns


def comparable_runs(location: str | os.PathLike[str], machine: Machine) -> ComparableRuns:
    """Stored runs that a history may count on `machine`; none without a store.

    Args:
        location: the store.
        machine: of the run that is looked at.
    """
    known = _machines(location)
    others = [(other, runs) for other, runs in known if other.key != machine.key]
    return ComparableRuns(
        machine_key=machine.key,
        counted=min(MOST_RUNS, sum(runs for other, runs in known if other.key == machine.key)),
        left_out=sum(runs for _, runs in others),
        other_machines=len(others),
        why=_reasons(others, machine),
    )


def _machines(location: str | os.PathLike[str]) -> list[tuple[Machine, int]]:
    """Every machine of the store with its runs, that of most runs first."""
    if not is_store(location):
        return []
    found = query(location, _MACHINES).rows
    return [
        (read_machine({KEY: key, **dict(zip(_FACTS, facts, strict=True))}), int(str(runs)))
        for key, runs, *facts in found
    ]


def _reasons(others: Iterable[tuple[Machine, int]], here: Machine) -> tuple[LeftOut, ...]:
    """Machines together that differ in the same way, most runs first."""
    found: dict[tuple[str, ...], LeftOut] = {}
    for other, runs in others:
        differs = differences(other, here)
        known = found.get(differs, LeftOut(machines=0, runs=0, differs=differs))
        found[differs] = replace(known, machines=known.machines + 1, runs=known.runs + runs)
    return tuple(sorted(found.values(), key=lambda one: -one.runs)[:REASONS])
