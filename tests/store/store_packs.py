"""Stores of many runs, and everything they answer, for the tests of those that look after a store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from branch_remotes import Forge
from object_servers import Storage
from store_documents import run_document

from opsdebug_ci.model import RunDocument
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.files.inventory import take_inventory
from opsdebug_ci.store.files.packing import Selected, pack
from opsdebug_ci.store.places.backend import Backend
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.sql.views import VIEW_NAMES
from opsdebug_ci.store.upkeep.compaction import Compaction, CompactionRules, compact

TODAY = date(2026, 11, 30)

LATER = date(2027, 3, 1)
"""A day on which what is written today is old."""

SOME_ROWS = """
    select id, tool_version, duration_ns from runs_files union all
    select run_id, case_id, seed from accuracy union all
    select run_id, fingerprint, length(statement) from failures
"""

TWO = CompactionRules(fewest=2)

ALL_ROWS = " union all ".join(
    [f"select '{name}', r::varchar from {name} r" for name in VIEW_NAMES]
    + [
        f"select '{table.name}_files', r::varchar from (select * exclude (date) from {table.name}_files) r"
        for table in TABLES
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where stores can be made."""

    directory: Path
    storage: Storage

    def backend(self, kind: str) -> Backend:
        """A place of one kind, with nothing in it."""
        if kind == "directory":
            return open_store(self.directory / "baselines").backend
        if kind == "branch":
            (self.directory / "forge").mkdir()
            return Forge(self.directory / "forge").backend()
        return self.storage.backend(f"bucket/{self.directory.name}", self.directory / "cache")


def documents(days: str, cases: str = "add:pass gelu:fail/f1", **facts: object) -> list[RunDocument]:
    """One run per blank-separated day `11-28`, named by its place among them: `r00`, `r01`."""
    return [run_document(cases, f"r{number:02}", day=f"2026-{day}", **facts) for number, day in enumerate(days.split())]


def filled(backend: Backend, runs: list[RunDocument]) -> BaselineStore:
    """A store with these runs."""
    store = BaselineStore(backend)
    store.append_all(runs)
    return store


def with_bundle(document: RunDocument, text: str, *operators: str) -> tuple[RunDocument, bytes]:
    """A run whose cases of some operators, all by default, name a bundle, and that bundle."""
    data = text.encode() * 10
    sha256 = sha256_of(text)
    named = tuple(
        replace(seen, bundle=sha256) if not operators or seen.case.operator in operators else seen
        for seen in document.observations
    )
    return replace(document, observations=named), data


def sha256_of(text: str) -> str:
    """Name of the bundle that `with_bundle` makes of a text."""
    return hashlib.sha256(text.encode() * 10).hexdigest()


def packed(backend: Backend, entropy: str = "aa", today: date = TODAY) -> Compaction:
    """Pack whatever there are two of."""
    return compact(backend, today=today, entropy=entropy, rules=TWO)


def answers(root: Path) -> list[tuple[object, ...]]:
    """Every row of every relation as text, in order; the directory of a file is not part of it."""
    return sorted(query(root, ALL_ROWS).rows)


def visible(root: Path) -> list[tuple[object, ...]]:
    """Which rows of which runs there are, in order: less than `answers`, in a third of the time."""
    return sorted(query(root, SOME_ROWS).rows)


def tables_of(root: Path) -> list[str]:
    """Path of every file of a table, in order."""
    return sorted(str(path.relative_to(root)) for path in root.glob("*/date=*/*.parquet"))


def single(root: Path, table: str, run: str) -> Path:
    """A file of a run that has files of its own."""
    [path] = root.glob(f"{table}/date=*/{run}.parquet")
    return path


def rewritten(path: Path, change: Mapping[str, pa.Array]) -> None:
    """Give a file more columns."""
    rows = pq.ParquetFile(path).read().replace_schema_metadata()
    for name, column in change.items():
        rows = rows.append_column(name, column)
    pq.write_table(rows, path)


def recorded_anew(root: Path, run: str, table: str) -> None:
    """Let a run say of one of its files what it is now: as whoever wrote it would have."""
    path = single(root, "runs", run)
    rows = pq.ParquetFile(path).read().replace_schema_metadata()
    [files] = rows["files"].to_pylist()
    data = single(root, table, run).read_bytes()
    told = {
        "table": table,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size_bytes": len(data),
        "rows": pq.read_metadata(single(root, table, run)).num_rows,
    }
    files = [*(fact for fact in files if fact["table"] != table), told]
    place = rows.schema.get_field_index("files")
    pq.write_table(
        rows.set_column(place, rows.schema.field(place), pa.array([files], rows.schema.field(place).type)), path
    )


def states(root: Path, added: Mapping[str, bytes], removed: list[str]) -> Iterator[str]:
    """Do it to a directory file by file, and stop after each, as if killed there."""
    for path, data in added.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
        yield f"added {path}"
    for path in removed:
        (root / path).unlink()
        yield f"removed {path}"


def both(root: Path) -> None:
    """Two packs of the same runs, as two compactions at the same moment make them."""
    inventory = take_inventory(root)
    for name in ("pack-20261130-aa-0000", "pack-20261130-bb-0000"):
        made = pack(inventory, Selected(name=name, day="2026-11-01", sources=frozenset({"r00", "r01", "r02"})))
        assert list(states(root, {file.path: file.data for file in made.files}, []))
