"""Whether everything that is visible in a store, and in a directory of bundles, is whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.parquet as pq

from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query

_LACKING = """
    select r.id from runs r
    where (select count(*) from accuracy a where a.run_id = r.id) <> list_sum(map_values(r.counts))
"""


def broken_parts(store: Path) -> list[str]:
    """What of a store is half written; empty where nothing is, or where there is no store yet."""
    if not open_store(store).exists():
        return []
    broken = [f"file {path}" for path in sorted(store.glob("*/date=*/*.parquet")) if not _reads(path)]
    broken += broken_bundles(store / "bundles")
    broken += [f"run {row[0]} without some of its cases" for row in query(store, _LACKING).rows]
    named = query(store, "select distinct bundle from failures where bundle is not null").rows
    stored = set(open_store(store).bundles())
    return broken + [f"bundle {row[0]} named but not there" for row in named if row[0] not in stored]


def broken_bundles(directory: Path) -> list[str]:
    """Bundles whose bytes do not hash to their names."""
    return [
        f"bundle {path}"
        for path in sorted(directory.glob("*/*.opsbundle"))
        if hashlib.sha256(path.read_bytes()).hexdigest() != path.stem
    ]


def _reads(path: Path) -> bool:
    try:
        return pq.read_table(path, partitioning=None).num_rows > 0
    except (OSError, ValueError):
        return False
