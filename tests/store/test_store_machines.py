"""Machines in SQL: which stored runs may be compared with one, in the model's words, and what a history counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_documents import MACHINE, full_document, run_document
from store_performance import comparison_run

from opsdebug_ci.model import Machine, Stage
from opsdebug_ci.model.comparability import KEY_FACTS, OLDER, differences, machine_key
from opsdebug_ci.model.history import ComparableRuns, LeftOut
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.store.machine_columns import MACHINE_COLUMNS, machine_columns, read_machine
from opsdebug_ci.store.memory.comparability import fact_text
from opsdebug_ci.store.memory.machines import comparable_runs
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query

BLANK = replace(
    MACHINE,
    cpu_revision="family 25 model 17 stepping 1",
    instruction_set="AVX512",
    physical_cores=1,
    numa_nodes=1,
    container_cores=1.5,
    container_memory_bytes=8 << 30,
    kernel="6.8",
)


def keyed(**facts: object) -> Machine:
    machine = replace(BLANK, **facts)
    return replace(machine, key=machine_key(machine))


HERE = keyed()
KEY = HERE.key
LIMITED = keyed(container_cores=None, container_memory_bytes=(8 << 30) - 1)
OTHER_TORCH = keyed(torch="2.12.0", cores=4, physical_cores=None, python="3.12.1")
ACCELERATED = keyed(
    devices=("a GPU", "a GPU"),
    drivers=("nvidia 570.86.15",),
    device_settings=("power 700 W", "power 350 W"),
    versions={"numpy": "2.1", "cuda": "12.6", "triton": "3.9"},
    clock_policy="it's turbo",
)
RENEWED = keyed(memory_bytes=9 << 30, python="3.11.9", kernel="6.9", versions={"numpy": "2.1", "mpmath": "1.4"})
OLD = replace(MACHINE, key="0123456789abcdef", torch="2.12.0")
EVERY = (HERE, LIMITED, OTHER_TORCH, ACCELERATED, RENEWED, OLD, MACHINE)


def stored(place: Path, *machines: Machine) -> Path:
    """A night of the full stage on each machine, one a day."""
    for day, machine in enumerate(machines, start=1):
        document = run_document(
            "add:pass", f"r{day}", day=f"2026-11-{day:02}", machine=machine, stage=Stage.FULL, commit=f"c{day}"
        )
        timed = PerformanceDocument(comparison=comparison_run(document.observations[0].case, machine, controls="same"))
        open_store(place).append(replace(document, performance=timed), ())
    return place


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("every"), *EVERY)


def test_every_fact_of_the_key_is_spelt_in_sql_as_in_the_key(every: Path) -> None:
    texts = ", ".join(fact_text(fact) for fact in KEY_FACTS)
    rows = query(every, f"select {texts} from runs order by id").rows
    assert list(rows) == [tuple(fact.text(machine) for fact in KEY_FACTS) for machine in EVERY]


@pytest.mark.parametrize("position", range(len(EVERY)), ids=lambda position: f"r{position + 1}")
def test_sql_says_why_not_in_the_words_of_the_model(every: Path, position: int) -> None:
    here = EVERY[position]
    rows = query(every, f"select run_id, comparable, differs from comparable_with('r{position + 1}')").rows
    wanted = [
        (f"r{number}", there.key == here.key, list(differences(there, here)))
        for number, there in enumerate(EVERY, start=1)
        if number != position + 1
    ]
    assert list(rows) == wanted[::-1]


def test_what_may_be_compared_with_a_run(tmp_path: Path) -> None:
    place = stored(tmp_path, OLD, OTHER_TORCH, RENEWED, HERE)
    found = query(place, "from comparable_with('r4')")
    assert query(place, "from comparable_with('r')").rows == found.rows, "the newest of those that begin so"
    assert query(place, "from comparable_with('')").rows == ()
    assert found.columns == ("run_id", "commit", "started_at", "comparable", "differs")
    assert [(row[0], row[1], *row[3:]) for row in found.rows] == [
        ("r3", "c3", True, []),
        (
            "r2",
            "c2",
            False,
            [
                "4 cores there, 2 here",
                "physical cores not told there, 1 here",
                "torch 2.12.0 there, 2.13.0 here",
                "Python 3.12 there, 3.11 here",
            ],
        ),
        ("r1", "c1", False, ["torch 2.12.0 there, 2.13.0 here", OLDER]),
    ]


def test_a_row_for_every_machine(tmp_path: Path) -> None:
    place = stored(tmp_path, OLD, HERE, RENEWED)
    sql = (
        "select machine_key, key_version, runs, first_seen::date::varchar, last_seen::date::varchar, torch, "
        "memory_bytes, container_cores, kernel from machines order by first_seen"
    )
    assert list(query(place, sql).rows) == [
        ("0123456789abcdef", 1, 1, "2026-11-01", "2026-11-01", "2.12.0", 8 << 30, None, ""),
        (KEY, 2, 2, "2026-11-02", "2026-11-03", "2.13.0", 9 << 30, 1.5, "6.9"),
    ]


def test_a_history_counts_one_machine_and_says_why_not_the_others(tmp_path: Path) -> None:
    place = stored(tmp_path, OLD, HERE, OTHER_TORCH, RENEWED, OTHER_TORCH, HERE)
    assert comparable_runs(place, HERE) == ComparableRuns(
        machine_key=KEY,
        counted=3,
        left_out=3,
        other_machines=2,
        why=(
            LeftOut(machines=1, runs=2, differs=differences(OTHER_TORCH, HERE)),
            LeftOut(machines=1, runs=1, differs=("torch 2.12.0 there, 2.13.0 here", OLDER)),
        ),
    )


def test_machines_that_differ_in_the_same_way_are_told_once(tmp_path: Path) -> None:
    older = [replace(MACHINE, key=f"{number:016x}", memory_bytes=number) for number in (1, 2, 3)]
    found = comparable_runs(stored(tmp_path, *older), HERE)
    assert (found.counted, found.left_out, found.other_machines) == (0, 3, 3)
    assert found.why == (LeftOut(machines=3, runs=3, differs=(OLDER,)),)


def test_runs_that_make_no_history_are_not_counted(tmp_path: Path) -> None:
    stored(tmp_path, HERE)
    open_store(tmp_path).append(run_document("add:pass", "r2", machine=HERE, stage=Stage.FULL), ())  # nothing was timed
    assert comparable_runs(tmp_path, HERE).counted == 1


def test_without_a_store_there_is_nothing_to_count(tmp_path: Path) -> None:
    assert comparable_runs(tmp_path / "nowhere", HERE) == ComparableRuns(
        machine_key=KEY, counted=0, left_out=0, other_machines=0, why=()
    )


@pytest.mark.parametrize("machine", EVERY, ids=lambda machine: machine.key)
def test_a_machine_survives_its_columns(machine: Machine) -> None:
    assert read_machine(machine_columns(machine)) == machine


def test_a_row_of_an_older_program_has_the_defaults() -> None:
    older = ("system", "cpu", "cores", "memory_bytes", "devices", "python", "torch", "versions", "threads")
    row = {name: cell if name in ("machine_key", *older) else None for name, cell in machine_columns(HERE).items()}
    found = read_machine(row)
    assert found == replace(MACHINE, key=KEY)
    assert read_machine({name: cell for name, cell in row.items() if cell is not None}) == found


def test_what_history_counted_survives_the_store(tmp_path: Path) -> None:
    counted = ComparableRuns(
        machine_key=KEY,
        counted=12,
        left_out=5,
        other_machines=2,
        why=(LeftOut(machines=2, runs=5, differs=("torch 2.12.0 there, 2.13.0 here",)),),
    )
    document = full_document()
    assert document.performance is not None
    document = replace(document, performance=replace(document.performance, comparable=counted))
    open_store(tmp_path).append(document, ())
    assert open_store(tmp_path).load(document.run.id) == document


def without_news(type_: pa.DataType) -> pa.DataType:
    """A struct as an older program wrote it."""
    news = {"comparable", *(column.name for column in MACHINE_COLUMNS[10:])}
    if not pa.types.is_struct(type_):
        return type_
    known = [field for field in type_ if field.name not in news]
    return pa.struct([pa.field(field.name, without_news(field.type)) for field in known])


def test_runs_of_an_older_program_are_read(tmp_path: Path) -> None:
    stored(tmp_path, OLD, HERE)
    (file,) = tmp_path.glob("runs/date=2026-11-01/*.parquet")
    table = pq.read_table(file, partitioning=None)
    news = {column.name for column in MACHINE_COLUMNS[10:]}
    schema = pa.schema([(field.name, without_news(field.type)) for field in table.schema if field.name not in news])
    assert len(schema) == len(table.schema) - 10 and "comparable" not in str(schema.field("performance").type)
    pq.write_table(pa.Table.from_pylist(table.to_pylist(), schema), file)
    found = open_store(tmp_path).load("r1")
    assert found.run.machine == OLD
    assert found.performance is not None and found.performance.comparison is not None
    assert found.performance.comparison.machine == replace(OLD, threads=1) and found.performance.comparable is None
    rows = query(tmp_path, "select run_id, differs from comparable_with('r2')").rows
    assert list(rows) == [("r1", ["torch 2.12.0 there, 2.13.0 here", OLDER])]
    assert comparable_runs(tmp_path, HERE).why == (
        LeftOut(machines=1, runs=1, differs=("torch 2.12.0 there, 2.13.0 here", OLDER)),
    )
