"""Appending a run of 1,000 cases to 10 runs and to 10,000: to a store, and in the two ways people know.

`rewritten JSON` is what github-action-benchmark does with its `data.js`: read all of it, add an entry, write all of it.
`SQLite` is one table with an index for each question, one transaction a run, on the disk before it returns. Both keep a
name and a few numbers of every case; the store keeps everything. All three have the same history. Wall times of a busy
machine are those of its disk, too, so processor times are told beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

from side_by_side import against, show, spent

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_documents import run_document

from opsdebug_ci.bundle.durable import write_durably
from opsdebug_ci.model import RunDocument
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.places.backends import open_store

ROUNDS = 15
CASES = 1_000
BUDGET_MS = 50.0
SIZES = (10, 10_000)
DAYS = 90
"""Days the runs of a store are spread over."""

HISTORY_CASES = 20
"""Of every run that is there before: with 1,000, the JSON of 10,000 runs would have more than a gigabyte."""

PREFIX = "window.BENCHMARK_DATA = "
"""What the JSON begins with, so that a page can load it as a script."""

Append = Callable[[RunDocument], None]


def main() -> None:
    """Measure and print."""
    words = " ".join(f"operator{n % 30}:pass" for n in range(CASES))
    runs = (ROUNDS + 1) * len(WAYS) * len(SIZES)
    documents = iter([run_document(words, f"new-{number}") for number in range(runs)])
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        ways = {
            (way, size): make(Path(directory) / f"{way} {size}", size) for way, make in WAYS.items() for size in SIZES
        }
        found = spent(
            {str(key): lambda append=append: append(next(documents)) for key, append in ways.items()}, rounds=ROUNDS
        )
    rows = []
    for way, size in ways:
        took = found[str((way, size))]
        milliseconds = took.seconds * 1e3
        processor = took.cpu_seconds * 1e3
        ours = (f"{BUDGET_MS:g}", against(milliseconds, BUDGET_MS)) if way == STORE else ("", "")
        rows.append((way, f"{size:,}", f"{milliseconds:.1f}", f"{processor:.1f}", *ours))
    title = f"Append of {CASES:,} cases, median of {ROUNDS}"
    show(title, ("way", "runs before", "ms", "processor ms", "budget", ""), rows)


def to_store(place: Path, size: int) -> Append:
    """A store of `size` runs: one is written, the others are its files under other names."""
    store = open_store(place)
    store.append(_history(0))
    originals = list(place.glob("*/date=*/run-0.parquet"))
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(min(DAYS, size))]
    for original in originals:
        folders = [original.parents[1] / f"date={day}" for day in days]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        for number in range(1, size):
            _link(original, folders[number % len(folders)] / f"run-{number}.parquet")
    return lambda document: _append(store, document)


def to_json(place: Path, size: int) -> Append:
    """One file that is written anew."""
    entries = [_entry(_history(number)) for number in range(size)]
    place.write_text(PREFIX + json.dumps({"entries": {"operators": entries}}))

    def append(document: RunDocument) -> None:
        data = json.loads(place.read_text()[len(PREFIX) :])
        data["entries"]["operators"].append(_entry(document))
        write_durably(place, (PREFIX + json.dumps(data)).encode())

    return append


def to_sqlite(place: Path, size: int) -> Append:
    """One database."""
    with closing(sqlite3.connect(place)) as database, database:
        database.execute('create table runs (id text primary key, started_at text, "commit" text)')
        database.execute("create table accuracy (run_id text, name text, operator text, verdict text, worst real)")
        database.execute("create index by_run on accuracy (run_id)")
        database.execute("create index by_operator on accuracy (operator)")
        for number in range(size):
            _insert(database, _history(number))

    def append(document: RunDocument) -> None:
        with closing(sqlite3.connect(place)) as database, database:
            database.execute("pragma synchronous = full")
            _insert(database, document)

    return append


STORE = "store"

WAYS: dict[str, Callable[[Path, int], Append]] = {STORE: to_store, "rewritten JSON": to_json, "SQLite": to_sqlite}
"""Way -> makes a history of so many runs, and says how one is appended."""


def _history(number: int) -> RunDocument:
    return run_document(" ".join(f"operator{n}:pass" for n in range(HISTORY_CASES)), f"run-{number}")


def _append(store: BaselineStore, document: RunDocument) -> None:
    store.append(document)


def _entry(document: RunDocument) -> dict[str, object]:
    """A run as github-action-benchmark spells one."""
    benches = [
        {
            "name": seen.case.name,
            "value": seen.accuracy.max_abs_err,
            "unit": "abs",
            "range": "± 0",
            "extra": seen.verdict,
        }
        for seen in document.observations
        if seen.accuracy is not None
    ]
    commit = {"id": document.run.commit, "timestamp": document.run.started_at, "message": "", "url": "", "tree_id": ""}
    return {"commit": commit, "date": 0, "tool": "customSmallerIsBetter", "benches": benches}


def _insert(database: sqlite3.Connection, document: RunDocument) -> None:
    run = document.run
    database.execute("insert into runs values (?, ?, ?)", (run.id, run.started_at, run.commit))
    rows = [
        (run.id, seen.case.name, seen.case.operator, seen.verdict.value, seen.accuracy.max_abs_err)
        for seen in document.observations
        if seen.accuracy is not None
    ]
    database.executemany("insert into accuracy values (?, ?, ?, ?, ?)", rows)


def _link(original: Path, copy: Path) -> None:
    try:
        os.link(original, copy)
    except OSError:
        shutil.copyfile(original, copy)


if __name__ == "__main__":
    main()
