"""What is in a store, in numbers: its runs, tables, packs and bundles.

Decides what is counted and where it is found. Deliberately judges nothing: `verification` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from opsdebug_ci.model.baselines import StoredRunRow, TableSize
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS
from opsdebug_ci.store.files.contents import Contents
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.places.backend import StoreEntry
from opsdebug_ci.store.sql.query import query

_RUNS = """
    select f.id, f.started_at, f.stage, f."commit", f.branch, f.event, f.verdict,
           coalesce(list_sum(map_values(f.counts)), 0),
           coalesce(list_sum(list_transform(?::varchar[], lambda v: coalesce(f.counts[v], 0))), 0),
           f.machine_key, f.attempt, f.id not in (select id from runs),
           coalesce(list_sum(list_transform(f.files, lambda x: x."rows")), 0),
           coalesce(list_sum(list_transform(f.files, lambda x: x.size_bytes)), 0)
    from runs_files f where starts_with(f.id, ?) order by f.started_at desc, f.id desc limit ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRuns:
    """Runs of a store."""

    rows: tuple[StoredRunRow, ...]
    """Newest first."""

    faults: tuple[FileFault, ...]
    """Files that may hold others, and are left out."""


def stored_runs(root: Path, contents: Contents, *, prefix: str = "", limit: int | None = None) -> StoredRuns:
    """Runs of the store in directory `root`, newest first.

    Args:
        root: the store.
        contents: what is in it.
        prefix: only those whose id begins so.
        limit: at most so many; None: all.
    """
    failing = [verdict.value for verdict in FAILING_VERDICTS]
    answer = query(root, _RUNS, (failing, prefix, limit))
    return StoredRuns(rows=tuple(_row(cells, contents) for cells in answer.rows), faults=answer.faults)


def table_sizes(contents: Contents, entries: Sequence[StoreEntry]) -> tuple[TableSize, ...]:
    """Every table with files whose rows count."""
    sizes = {entry.path: entry.size_bytes for entry in entries}
    return tuple(
        TableSize(table=table, files=len(files), size_bytes=sum(sizes.get(str(file.path)) or 0 for file in files))
        for table, files in sorted(contents.live.items())
    )


def _row(cells: Sequence[object], contents: Contents) -> StoredRunRow:
    run_id, at, stage, commit, branch, event, verdict, cases, failures, key, attempt, superseded, rows, size = cells
    holder = contents.holder(str(run_id))
    return StoredRunRow(
        id=str(run_id),
        started_at=at.isoformat(timespec="seconds") if isinstance(at, datetime) else "",
        stage=str(stage),
        commit=str(commit),
        branch=str(branch),
        event=str(event),
        verdict=str(verdict),
        cases=int(str(cases)),
        failures=int(str(failures)),
        machine_key=str(key),
        attempt=int(str(attempt)),
        superseded=bool(superseded),
        rows=int(str(rows)),
        size_bytes=int(str(size)),
        pack="" if holder is None else holder.name,
    )
