"""What `opsdebug baselines ls` and `show` tell of a store."""

from __future__ import annotations

from dataclasses import dataclass

BASELINES_SCHEMA = "opsdebug.baselines/1"
"""Name and version of the document. History: 1 first version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRunRow:
    """One stored run."""

    id: str
    """Time-ordered unique id."""

    started_at: str
    """ISO 8601, UTC."""

    stage: str
    """smoke, full, replay, or run."""

    commit: str
    """Full hash of the commit under test; empty outside git."""

    branch: str
    """Branch name; empty when detached."""

    event: str
    """Triggering event; empty outside CI."""

    verdict: str
    """Worst verdict that gates."""

    cases: int
    """Cases judged or skipped."""

    failures: int
    """Cases that failed."""

    machine_key: str
    """Machine it ran on: times of runs with equal keys may be compared."""

    attempt: int
    """Attempt of its CI job; 0 outside CI."""

    superseded: bool
    """A higher attempt of the same job is stored: its rows are in no view."""

    rows: int
    """Rows it has in all other tables; 0 where an older program did not record it."""

    size_bytes: int
    """Bytes of the files of those rows as they were written; 0 as above."""

    pack: str
    """Pack that holds it; empty: it has files of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """One table of the store."""

    table: str
    """Its name."""

    files: int
    """Files whose rows count."""

    size_bytes: int
    """Their size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselinesDocument:
    """A store, and runs of it."""

    schema: str
    """Name and version of this document."""

    location: str
    """Where the store is, as configured, without secrets."""

    format_version: int
    """Version of its format."""

    run_count: int
    """Runs that are there, superseded attempts included."""

    runs: tuple[StoredRunRow, ...]
    """Those asked for, newest first."""

    tables: tuple[TableSize, ...]
    """Every table with files."""

    packs: int
    """Packs."""

    bundles: int
    """Failure bundles."""

    bundle_bytes: int | None
    """Their size; None: not known, for bundles on a branch are fetched only when they are asked for."""

    leftover_files: int
    """Files that packs stand for, or that were never finished: `opsdebug baselines compact` removes them in time."""

    notes: tuple[str, ...]
    """What else a reader must know."""

    complete: bool
    """The store was reached, and every run in it could be read."""

    next: tuple[str, ...]
    """Commands to run next."""
