"""Answers of any size, as rows and as Parquet."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_documents import full_document, run_document

from opsdebug_ci.errors import QueryError, StoreError
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.answers import GROUP_ROWS, ROWS_AT_A_TIME, answering, distinct, write_parquet
from opsdebug_ci.store.sql.query import query

ENDLESS = "select count(*) from range(1000000000000000) where hash(range) = 7"
"""Takes longer than anybody waits, and no memory."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    open_store(tmp_path / "s").append(full_document())
    return tmp_path / "s"


def parquet(location: Path, sql: str) -> pa.Table:
    sink = io.BytesIO()
    write_parquet(location, sql, sink)
    return pq.read_table(pa.BufferReader(sink.getvalue()))


def test_rows_come_some_at_a_time(store: Path) -> None:
    rows = 2 * ROWS_AT_A_TIME + 1
    with answering(store, f"select range as n, range as n from range({rows})") as answer:
        assert answer.columns == ("n", "n")
        sizes = [len(piece) for piece in answer.pieces]
    assert (sum(sizes), max(sizes)) == (rows, ROWS_AT_A_TIME)


def test_the_first_rows_do_not_wait_for_the_last(store: Path) -> None:
    endless = "select range from range(1000000000000000)"
    with answering(store, endless) as answer:
        assert next(answer.pieces)[0] == (0,)


def test_parquet_has_the_types_of_duckdb(store: Path) -> None:
    answer = parquet(
        store,
        "select started_at, date, 1::bigint as i, 1.5::decimal(10,2) as d, sum(1) over () as s, ['a'] as l, "
        "{'x': 1.5::double} as t, map {'k': 2::bigint} as m, 'b'::blob as b, null::varchar as n from runs",
    )
    types = {field.name: str(field.type) for field in answer.schema}
    assert types == {
        "started_at": "timestamp[us, tz=UTC]",
        "date": "date32[day]",
        "i": "int64",
        "d": "decimal128(10, 2)",
        "s": "decimal128(38, 0)",
        "l": "list<element: string>",
        "t": "struct<x: double>",
        "m": types["m"],
        "b": "binary",
        "n": "string",
    }
    assert pa.types.is_map(answer.schema.field("m").type)
    assert answer["m"].to_pylist() == [[("k", 2)]]


@pytest.mark.parametrize("table", ["runs", "accuracy", "timings", "failures"])
def test_a_whole_table_comes_back(store: Path, table: str) -> None:
    rows = query(store, f"select * from {table}").rows
    answer = parquet(store, f"select * from {table}")
    assert (answer.num_rows, answer.num_columns) == (len(rows), len(rows[0]))


def test_a_large_answer_has_row_groups(store: Path) -> None:
    sink = io.BytesIO()
    write_parquet(store, f"select range from range({2 * GROUP_ROWS})", sink)
    file = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
    assert file.metadata.num_rows == 2 * GROUP_ROWS
    assert max(file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)) <= GROUP_ROWS
    assert file.num_row_groups <= 3


def test_repeated_names_are_told_apart() -> None:
    assert distinct(["a", "b", "a", "a_3", "a_3"]) == ["a", "b", "a_3", "a_3_4", "a_3_5"]


def test_a_type_parquet_lacks_is_said(store: Path) -> None:
    with pytest.raises(QueryError, match=r"cannot be written as Parquet.*(\n.*)*cast that column"):
        parquet(store, "select interval 1 day as i")


def test_an_empty_answer_has_its_columns(store: Path) -> None:
    assert parquet(store, "select operator, ulp_max from accuracy where false").column_names == ["operator", "ulp_max"]


def test_a_query_that_takes_too_long_is_ended(store: Path) -> None:
    with pytest.raises(QueryError, match=r"not answered within 0\.2 s"):  # noqa: SIM117 - the error of the inner one
        with answering(store, ENDLESS, 0.2) as answer:
            list(answer.pieces)
    with pytest.raises(QueryError, match=r"not answered within 0\.2 s"):
        write_parquet(store, ENDLESS, io.BytesIO(), 0.2)


def test_a_query_in_time_is_left_alone(store: Path) -> None:
    with answering(store, "select 1", 600) as answer:
        assert list(answer.pieces) == [[(1,)]]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("opsdebug-sql")]


@pytest.mark.parametrize("sql", ["drop table runs", "select 1; select 2", "select * from read_csv('/etc/passwd')"])
def test_nothing_else_is_answered_either(store: Path, sql: str) -> None:
    with pytest.raises(QueryError):
        parquet(store, sql)
    with pytest.raises(QueryError):  # noqa: SIM117 - as above
        with answering(store, sql) as answer:
            list(answer.pieces)


def test_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        parquet(tmp_path / "s", "select 1")


INTERRUPTED = f"""
import os, signal, threading
import duckdb
from opsdebug_ci.store.sql.attended import Attendant

signal.signal(signal.SIGINT, signal.default_int_handler)
with duckdb.connect(":memory:") as connection:

    def work():
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        connection.execute({ENDLESS!r}).fetchall()

    try:
        Attendant(connection).have(work)
    except KeyboardInterrupt:
        print("interrupted, and the next one is answered:", connection.execute("select 1").fetchall())
"""
"""A process of its own: a test's process may be told to ignore Ctrl-C."""


HEED_CTRL_C = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"
)
"""As at a terminal, though the tests may run in the background of a shell."""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_query() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("interrupted, and the next one is answered: [(1,)]\n", 0), done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_leaves_no_part_of_an_answer(tmp_path: Path) -> None:
    open_store(tmp_path / "s").append(run_document("add:pass"))
    output = tmp_path / "answer.csv"
    command = [sys.executable, "-m", "opsdebug_ci", "sql", "--store", str(tmp_path / "s"), "--format", "csv"]
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HEED_CTRL_C,
            *command,
            "--output",
            str(output),
            "select range from range(1000000000000)",
        ],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    while not any(path.stat().st_size for path in tmp_path.glob(".opsdebug-*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in told) == (130, False)
    assert not output.exists() and not list(tmp_path.glob(".opsdebug-*"))
