"""Stores of every format version there has been are read, asked, added to and compacted."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from keep_version import keep
from store_documents import run_document
from store_versions import KeptVersion, covers, kept_versions, read_kept

from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.column import Table
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.places.marker import read_format_version
from opsdebug_ci.store.schema import FORMAT_VERSION, TABLES
from opsdebug_ci.store.sql.examples import EXAMPLES
from opsdebug_ci.store.sql.macros import MACROS
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.sql.views import DERIVED_VIEWS
from opsdebug_ci.store.tables.acceptances import read_acceptance
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact

GIVEN, OTHERWISE = {"moment": "now()"}, "'add'"
"""What a macro's parameter is given."""

CHANGED: dict[int, frozenset[str]] = {}
"""Version -> `table.column` whose type or unit changed after it, as its history in `schema` says."""


@pytest.fixture(params=kept_versions())
def kept(request: pytest.FixtureRequest) -> KeptVersion:
    return read_kept(request.param)


@pytest.fixture
def store(kept: KeptVersion, tmp_path: Path) -> Path:
    return kept.copy(tmp_path / "store")


def as_read(store: Path, kept: KeptVersion) -> None:
    """Everything reads back to what was stored."""
    opened = open_store(store)
    assert [opened.stored(run.document.run.id) for run in kept.runs] == list(kept.runs)


def test_every_version_is_kept() -> None:
    assert kept_versions() == tuple(range(1, FORMAT_VERSION + 1))


def test_every_run_reads_back_to_what_was_stored(store: Path, kept: KeptVersion) -> None:
    assert read_format_version(store) == int(kept.place.name)
    as_read(store, kept)


def test_acceptances_and_bundles_read_back_to_what_was_stored(store: Path, kept: KeptVersion) -> None:
    found = query(store, "from acceptances order by id")
    assert tuple(read_acceptance(dict(zip(found.columns, row, strict=True))) for row in found.rows) == kept.acceptances
    opened = open_store(store)
    assert {sha256: opened.bundle(sha256) for sha256 in opened.bundles()} == dict(kept.bundles)


def test_every_view_has_the_rows_of_its_runs(store: Path, kept: KeptVersion) -> None:
    expected = {table.name: sum(len(table.rows(run)) for run in kept.runs) for table in TABLES}
    expected["acceptances"] = len(kept.acceptances)
    counts = " union all ".join(f"select '{name}', count(*) from {name}" for name in expected)
    assert dict(query(store, counts).rows) == expected
    derived = ", ".join(f"(select count(*) from {view.name})" for view in DERIVED_VIEWS)
    assert min(query(store, f"select {derived}").rows[0]) > 0


def test_every_macro_and_worked_query_answers(store: Path) -> None:
    asked = [example.sql for example in EXAMPLES]
    for macro in MACROS:
        call = f"{macro.name}({', '.join(GIVEN.get(name, OTHERWISE) for name in macro.parameters)})"
        asked.append(f"select {call}" if macro.scalar else f"from {call}")
    together = ", ".join(f"(select count(*) from ({sql}))" for sql in asked)
    assert len(query(store, f"select {together}").columns) == len(MACROS) + len(EXAMPLES)


def test_a_store_is_added_to_as_it_is(store: Path, kept: KeptVersion) -> None:
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    document = run_document("add:pass", "r-new", day="2026-12-02")
    opened = open_store(store)
    opened.append(document)
    assert {path: path.read_bytes() for path in before} == before
    assert opened.load("r-new") == document
    as_read(store, kept)
    ids = sorted(str(run_id) for (run_id,) in query(store, "select id from runs").rows)
    assert ids == sorted(["r-new", *(run.document.run.id for run in kept.runs)])


def test_compacting_makes_it_one_of_today(store: Path, kept: KeptVersion) -> None:
    done = compact(open_store(store).backend, today=date(2026, 12, 2), entropy="again", rules=CompactionRules(fewest=1))
    assert (done.packs, done.faults, read_format_version(store)) == (1, (), FORMAT_VERSION)
    as_read(store, kept)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_column_has_changed_its_type(kept: KeptVersion, table: Table) -> None:
    files = sorted((kept.place / "store" / table.name).rglob("*.parquet"))
    changed = CHANGED.get(int(kept.place.name), frozenset())
    assert files
    for file in files:
        was = pq.read_schema(file)
        assert set(was.names) == set(kept.units[table.name])
        bad = [
            field.name
            for field in was
            if f"{table.name}.{field.name}" not in changed
            and (field.name not in table.schema.names or not covers(table.schema.field(field.name).type, field.type))
        ]
        assert bad == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_column_has_changed_its_unit(kept: KeptVersion, table: Table) -> None:
    changed = CHANGED.get(int(kept.place.name), frozenset())
    today = {column.name: column.unit for column in table.columns}
    was = {name: unit for name, unit in kept.units[table.name].items() if unit}
    assert {name: today[name] for name in was if f"{table.name}.{name}" not in changed} == was


@pytest.mark.parametrize(
    ("today", "kept_type", "expected"),
    [
        (pa.struct([("a", pa.int64()), ("b", pa.string())]), pa.struct([("a", pa.int64())]), True),
        (pa.struct([("b", pa.string())]), pa.struct([("a", pa.int64())]), False),
        (pa.struct([("a", pa.float64())]), pa.struct([("a", pa.int64())]), False),
        (pa.string(), pa.struct([("a", pa.int64())]), False),
        (pa.list_(pa.field("item", pa.int64())), pa.list_(pa.field("element", pa.int64())), True),
        (pa.list_(pa.float64()), pa.list_(pa.int64()), False),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.string()), False),
        (pa.timestamp("ms", tz="UTC"), pa.timestamp("us", tz="UTC"), False),
    ],
)
def test_a_changed_type_is_told_from_one_that_grew(today: pa.DataType, kept_type: pa.DataType, expected: bool) -> None:
    assert covers(today, kept_type) is expected


def test_keeping_makes_what_is_read_back_and_never_changes_it(tmp_path: Path) -> None:
    place = tmp_path / str(FORMAT_VERSION)
    keep(place)
    kept = read_kept(FORMAT_VERSION, within=tmp_path)
    as_read(place / "store", kept)
    broken = replace(kept, runs=(replace(kept.runs[0], calibrations=kept.runs[1].calibrations), *kept.runs[1:]))
    with pytest.raises(AssertionError):
        as_read(place / "store", broken)
    with pytest.raises(UsageError, match="a kept one never changes"):
        keep(place)
