"""The schema, and the page that shows it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import opsdebug_ci
from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.column import Column, Table, sql_type
from opsdebug_ci.store.schema import FORMAT_VERSION, TABLES
from opsdebug_ci.store.schema_page import BEGIN, END, main, render, updated

PAGE = Path(opsdebug_ci.__file__).parents[1] / "docs" / "store.md"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_says_what_it_holds(table: Table) -> None:
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert all(column.comment for column in table.columns)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_name_that_carries_a_unit_agrees_with_it(table: Table) -> None:
    units = {"_ns": "ns", "_bytes": "bytes", "_bytes_per_s": "bytes/s"}
    for column in table.columns:
        wanted = [unit for suffix, unit in units.items() if column.name.endswith(suffix)]
        assert wanted in ([], [column.unit])


ORDINALS = frozenset(
    [
        "attempt",
        "calibration",
        "case_index",
        "comparison",
        "exit_code",
        "launch",
        "launches",
        "max_abs_index",
        "order_seed",
        "output_index",
        "position",
        "pull_request",
        "seed",
        "samples",
    ]
)
"""Last words of names of whole numbers that count or number things by themselves: they have no unit."""

PURE = frozenset({"cosine", "exponent"})
"""Last words of names of real numbers that are pure numbers by their definition."""


def needs_unit(column: Column) -> bool:
    """A column whose type or name says that it measures something."""
    kind = column.type
    if pa.types.is_list(kind):
        kind = kind.value_type
    elif pa.types.is_map(kind):
        kind = kind.item_type
    if pa.types.is_timestamp(kind):
        return True
    if pa.types.is_floating(kind):
        return not any(column.name.endswith(word) for word in PURE)
    return pa.types.is_integer(kind) and not any(column.name.endswith(word) for word in ORDINALS)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_what_measures_something_has_a_unit(table: Table) -> None:
    assert [column.name for column in table.columns if needs_unit(column) and not column.unit] == []


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("duration_ns", pa.int64(), True),
        ("load", pa.float64(), True),
        ("shape", pa.list_(pa.int64()), True),
        ("counts", pa.map_(pa.string(), pa.int64()), True),
        ("accepted_at", pa.timestamp("us", tz="UTC"), True),
        ("seed", pa.int64(), False),
        ("cosine", pa.float64(), False),
        ("cpu", pa.string(), False),
    ],
)
def test_what_needs_a_unit_is_told_by_type_and_name(name: str, kind: pa.DataType, expected: bool) -> None:
    assert needs_unit(Column(name=name, type=kind, comment="")) is expected


def test_runs_is_written_last_and_every_other_table_points_at_it() -> None:
    assert TABLES[-1].name == "runs"
    assert [table.name for table in TABLES if not table.of_run] == ["acceptances", "runs"]
    assert all(table.columns[0].name == "run_id" for table in TABLES if table.of_run)


def test_arrow_types_have_their_duckdb_names() -> None:
    nested = pa.list_(pa.struct([("a", pa.int64()), ("b", pa.map_(pa.string(), pa.float64()))]))
    assert sql_type(nested) == 'STRUCT("a" BIGINT, "b" MAP(VARCHAR, DOUBLE))[]'


def test_the_committed_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert updated(page) == page


def test_the_page_is_rewritten_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    main([str(page)])
    assert page.read_text() == f"before\n{BEGIN}\n\n{render()}\n\n{END}\nafter\n"


@pytest.mark.parametrize("page", ["", BEGIN, END, f"{END}{BEGIN}"])
def test_a_page_without_its_marks_is_refused(page: str) -> None:
    with pytest.raises(UsageError, match="the page has no lines"):
        updated(page)


def test_the_page_names_the_format_version() -> None:
    assert render().startswith(f"Format version {FORMAT_VERSION}.\n")
