"""`opsdebug sql`: forms of an answer, and where it goes."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_documents import run_document

from opsdebug_ci.cli import outcome
from opsdebug_ci.cli.answer_text import csv_text, json_text, table_text
from opsdebug_ci.store.places.backends import open_store

Sql = Callable[..., tuple[int, bytes, str]]

NUMBERS = "select operator, count(*) as n from accuracy group by 1 order by 1"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sql")
    open_store(directory / "baselines").append(run_document("add:pass gelu:fail/f1"))
    return directory


@pytest.fixture
def sql(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Sql:
    """Runs the command in a directory: exit code, standard output, standard error."""

    def run(place: Path, *words: str) -> tuple[int, bytes, str]:
        monkeypatch.chdir(place)
        code = outcome(["sql", *words])
        captured = capfdbinary.readouterr()
        return code, captured.out, captured.err.decode()

    return run


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("table", b"operator  n\nadd       1\ngelu      1\n(2 rows)\n"),
        ("csv", b"operator,n\r\nadd,1\r\ngelu,1\r\n"),
        ("json", b'[{"operator": "add", "n": 1}, {"operator": "gelu", "n": 1}]\n'),
    ],
)
def test_an_answer_as_text(sql: Sql, place: Path, tmp_path: Path, form: str, printed: bytes) -> None:
    assert sql(place, NUMBERS, "--format", form) == (0, printed, "")
    file = tmp_path / "answer"
    assert sql(place, NUMBERS, "--format", form, "--output", str(file)) == (0, b"", f"answer in {file}\n")
    assert file.read_bytes() == printed


def test_an_answer_as_parquet(sql: Sql, place: Path, tmp_path: Path) -> None:
    file = tmp_path / "answer.parquet"
    assert sql(place, NUMBERS, "--format", "parquet", "--output", str(file)) == (0, b"", f"answer in {file}\n")
    code, printed, told = sql(place, NUMBERS, "--format", "parquet", "--output", "-")
    assert (code, told) == (0, "")
    for source in (file, io.BytesIO(printed)):
        assert pq.read_table(source).to_pylist() == [{"operator": "add", "n": 1}, {"operator": "gelu", "n": 1}]
    assert duckdb.sql(f"from '{file}' select n").fetchall() == [(1,), (1,)]


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "--format", "csv"),
        ("--format", "parquet"),
        ("--output", "."),
        ("--output", "nowhere/x"),
        ("--output", os.devnull),
        ("--timeout", "0"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(sql: Sql, place: Path, words: tuple[str, ...]) -> None:
    code, printed, told = sql(place, "selekt", *words)
    assert (code, printed) == (2, b"")
    assert "syntax" not in told


@pytest.mark.parametrize("words", [("--format", "csv"), ("--output", "x"), ("--format", "parquet", "--output", "x")])
def test_a_form_without_a_query_is_refused(sql: Sql, place: Path, words: tuple[str, ...]) -> None:
    code, _, told = sql(place, *words)
    assert code == 2
    assert "no QUERY was given" in told


@pytest.mark.parametrize("form", ["csv", "json", "table", "parquet"])
def test_a_file_is_whole_or_as_it_was(sql: Sql, place: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / "answer"
    file.write_text("before")
    failing = "select case when range < 50000 then 1 else ('x' || range)::int end as n from range(100000)"
    code, _, told = sql(place, failing, "--format", form, "--output", str(file))
    assert (code, "Could not convert" in told) == (2, True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"answer": "before"}


def test_a_directory_that_cannot_be_written_is_said(sql: Sql, place: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write anywhere")
    assert sql(place, "select 1", "--output", str(locked / "x"))[0] == 2


def test_a_query_that_takes_too_long_is_ended(sql: Sql, place: Path) -> None:
    code, printed, told = sql(
        place, "select count(*) from range(1000000000000000) where hash(range) = 7", "--timeout", "0.2"
    )
    assert (code, printed) == (2, b"")
    assert told == (
        "opsdebug [query]: the query was not answered within 0.2 s; wanted an answer by then\n"
        "  next: raise `--timeout`, or ask for less: one operator, or a `limit`\n"
    )


def test_a_damaged_file_is_named_and_the_rest_answers(sql: Sql, tmp_path: Path) -> None:
    for run_id in ("r1", "r2"):
        open_store(tmp_path / "baselines").append(run_document("add:pass", run_id))
    (broken,) = tmp_path.glob("baselines/accuracy/*/r2.parquet")
    broken.write_bytes(b"not parquet at all")
    code, printed, told = sql(tmp_path, "select run_id from accuracy", "--format", "csv")
    assert (code, printed) == (4, b"run_id\r\nr1\r\n")
    assert told.startswith("left out: `accuracy/date=2026-11-29/r2.parquet` ")
    assert sql(tmp_path, "select 1 as n", "--format", "csv") == (0, b"n\r\n1\r\n", "")


def test_functions_are_listed(sql: Sql, place: Path) -> None:
    code, printed, _ = sql(place)
    assert code == 0
    assert "\ntrend(operator) " in printed.decode()


def test_csv_is_read_back_as_it_was() -> None:
    rows = [("a,b", 'say "hi"', "two\nlines", "=1+1"), ("", " x ", "\r", "-1"), ("ü", "NULL", "\t", "@x")]
    text = "".join(csv_text(["a", "b,", "c", "d"], iter([rows])))
    assert [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), strict=True)] == [
        ("a", "b,", "c", "d"),
        *rows,
    ]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, '""'),
        ("", '""'),
        (True, "true"),
        (1.5, "1.5"),
        (float("nan"), "nan"),
        (b"\x01\xff", "01ff"),
        ([1, None], '"[1, null]"'),
        ({"a": "b"}, '"{""a"": ""b""}"'),
        ([b"\x01"], '"[""01""]"'),
    ],
)
def test_values_of_csv(value: object, field: str) -> None:
    assert "".join(csv_text(["x"], iter([[(value,)]]))) == f"x\r\n{field}\r\n"


def test_null_and_empty_text_differ_in_csv() -> None:
    assert "".join(csv_text(["a", "b"], iter([[(None, "")]]))) == 'a,b\r\n,""\r\n'


@pytest.mark.parametrize("rows", [[], [(1,)], [(n,) for n in range(5)]])
def test_json_is_one_list(rows: list[tuple[int]]) -> None:
    pieces = iter([rows[:2], rows[2:]] if len(rows) > 2 else [rows] if rows else [])
    assert json.loads("".join(json_text(["n"], pieces))) == [{"n": row[0]} for row in rows]


def test_a_table_has_json_where_csv_has_it() -> None:
    assert table_text(["a"], [({"B": 2, "x": None},)]) == 'a\n{"B": 2, "x": null}\n(1 row)\n'


def test_two_queries_are_refused_for_what_they_are(sql: Sql, place: Path) -> None:
    code, _, told = sql(place, "select 1; select 2")
    assert (code, "got 2 SELECTs; wanted one at a time" in told) == (2, True)


def test_what_comes_next_is_asked_of_the_same_store(sql: Sql, tmp_path: Path) -> None:
    for run_id in ("r1", "r2"):
        open_store(tmp_path / "other place").append(run_document("add:pass", run_id))
    (broken,) = tmp_path.glob("other place/accuracy/*/r2.parquet")
    broken.write_bytes(b"not parquet at all")
    _, _, told = sql(tmp_path, "select run_id from accuracy", "--store", "other place")
    assert "next: `opsdebug baselines verify --store 'other place'` says" in told


def test_a_table_says_null() -> None:
    assert table_text(["a"], [(None,)]) == "a\nNULL\n(1 row)\n"
