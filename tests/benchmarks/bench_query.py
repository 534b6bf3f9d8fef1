"""SQL over ten million timing rows: a trend, and aggregates over all of them.

python tests/benchmarks/bench_query.py [DIRECTORY]

Makes the stores in DIRECTORY (default: a temporary one; 1 GB), two years of nights of thirty operators: as one pack a
month, as compaction makes them, and as a pack a week, some hundred. Each query is a
session of its own in this process, the files warm in the system's cache; two are whole commands.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from side_by_side import against, show, spent

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_documents import run_document

from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.files.contents import PackHead
from opsdebug_ci.store.files.encoding import encode_table, facts_of, file_of
from opsdebug_ci.store.files.heads import head_metadata
from opsdebug_ci.store.files.packing import ROW_GROUP, in_order
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.tables import runs, timings

OPERATORS = ("softmax", *(f"operator_number_{n:02}" for n in range(1, 30)))
CASES = 20
"""Series of an operator."""

LAUNCHES = 12
"""Of each of two arms."""

NIGHTS = 700
ROWS = len(OPERATORS) * CASES * 2 * LAUNCHES
"""Of one run; times NIGHTS this is 10.08 million."""

FIRST = datetime(2025, 1, 1, 3, tzinfo=timezone.utc)
ROUNDS = 5
BUDGET_S = 1.0
"""Of a query over everything."""

LEAST_BUDGET_S = 0.5
"""Of the command when it has nothing to read, which is what starting it costs."""

STARTING = "the command: select 1"

QUERIES = {
    "trend('softmax')": "from trend('softmax')",
    "group by operator": "select operator, count(*), avg(min_ns) from timings group by 1",
    "group by case and arm, median": "select case_name, arm, median(min_ns) from timings group by 1, 2",
    "group by month and operator": "select date_trunc('month', date), operator, min(min_ns) from timings group by 1, 2",
    "one run": "select count(*), avg(min_ns) from timings where run_id = 'r0350'",
    "count(*)": "select count(*) from timings",
}


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as temporary:
        place = Path(arguments[0] if arguments else temporary)
        months = [list(group) for group in _months()]
        stores = {
            "a pack a month": (place / "months", months),
            "a pack a week": (place / "weeks", [week for month in months for week in _weeks(month)]),
        }
        rows = []
        for name, (location, groups) in stores.items():
            _fill(location, groups)
            rows += _measure(name, location)
    header = ("store and query", "seconds", "CPU s", "budget", "")
    show(f"SQL over {NIGHTS * ROWS:,} timing rows, warm, median of {ROUNDS}", header, rows)


def _measure(name: str, location: Path) -> Iterator[tuple[str, ...]]:
    size = sum(path.stat().st_size for path in location.glob("timings/*/*"))
    yield (f"{name}: {size / (NIGHTS * ROWS):.1f} bytes a row",)
    found = spent({label: lambda s=sql: query(location, s) for label, sql in QUERIES.items()}, rounds=ROUNDS)
    command = [sys.executable, "-m", "opsdebug_ci", "sql", "--store", str(location), "--format", "csv"]
    whole = {
        "the command: trend": lambda: subprocess.run(
            [*command, QUERIES["trend('softmax')"]], check=True, capture_output=True
        ),
        STARTING: lambda: subprocess.run([*command, "select 1"], check=True, capture_output=True),
    }
    for label, taken in (found | spent(whole, rounds=ROUNDS)).items():
        cpu = f"{taken.cpu_seconds:.2f}" if label in found else ""
        budget = LEAST_BUDGET_S if label == STARTING else BUDGET_S
        yield f"  {label}", f"{taken.seconds:.2f}", cpu, f"{budget:g}", against(taken.seconds, budget)


def _months() -> Iterable[list[int]]:
    by_month: dict[str, list[int]] = {}
    for number in range(NIGHTS):
        by_month.setdefault(f"{_started(number):%Y-%m}", []).append(number)
    return by_month.values()


def _weeks(month: list[int]) -> Iterator[list[int]]:
    for first in range(0, len(month), 7):
        yield month[first : first + 7]


def _started(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def _fill(location: Path, groups: Sequence[Sequence[int]]) -> None:
    """A store of these runs, each group as one pack; one that is there already stays."""
    if location.exists():
        return
    backend = open_store(location).backend
    for place, numbers in enumerate(groups):
        name, day = f"pack-{place:04}", f"{_started(numbers[0]):%Y-%m-01}"
        launches = in_order(timings.TABLE, pa.concat_tables(_timings(number) for number in numbers))
        data = encode_table(timings.TABLE, launches, row_group=ROW_GROUP)
        facts = facts_of(timings.TABLE, data, launches.num_rows)
        head = PackHead(name=name, runs=frozenset(map(_id, numbers)), replaces=frozenset(), files=(facts,))
        rows = [row for number in numbers for row in runs.TABLE.rows(StoredRun(document=_document(number)))]
        root = pa.Table.from_pylist([dict(row) for row in rows], schema=runs.TABLE.schema)
        added = file_of(timings.TABLE, day, name, data)
        backend.add([added, file_of(runs.TABLE, day, name, encode_table(runs.TABLE, root, head_metadata(head)))])


def _id(number: int) -> str:
    return f"r{number:04}"


def _document(number: int) -> Any:
    return run_document("", _id(number), day=f"{_started(number):%Y-%m-%d}", commit=f"{number:040x}")


def _timings(number: int) -> pa.Table:
    """The launches of one night, in the order they are recorded in."""
    place = np.arange(ROWS)
    series = place // (2 * LAUNCHES)
    names = [
        f"{OPERATORS[n // CASES]}[B=1,S={128 * (1 + n % CASES)} float32 seed={n}]"
        for n in range(len(OPERATORS) * CASES)
    ]
    minima = 1000.0 * (1 + series) * (1 + np.abs(np.random.default_rng(number).normal(0, 0.01, ROWS)))
    told = {
        "position": place,
        "operator": _text(series // CASES, OPERATORS),
        "case_id": _text(series, [f"{hash_:016x}" for hash_ in range(len(names))]),
        "case_name": _text(series, names),
        "dims": _dims(series),
        "seed": series % 5,
        "comparison": series,
        "arm": _text(place // LAUNCHES % 2, ["head", "base"]),
        "launch": place % LAUNCHES,
        "min_ns": minima,
        "p10_ns": minima * 1.01,
        "median_ns": minima * 1.03,
        "samples": np.full(ROWS, 24),
        "calls": np.full(ROWS, 64),
    }
    constant = {
        "run_id": _id(number),
        "dtype": "float32",
        "layout": "contiguous",
        "inputs": "normal",
        "device": "cpu",
        "direction": "forward",
        "round": "screen",
        "why": "change",
        "commit": f"{number:040x}",
        "base_commit": f"{max(number - 1, 0):040x}",
        "dirty": False,
        "contaminated": False,
        "throttled": False,
    }
    columns = [
        pa.array(told[field.name], field.type)
        if field.name in told
        else pa.repeat(pa.scalar(constant.get(field.name), field.type), ROWS)
        for field in timings.TABLE.schema
    ]
    return pa.table(columns, schema=timings.TABLE.schema)


def _text(indices: np.ndarray, values: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values)).cast(pa.string())


def _dims(series: np.ndarray) -> pa.Array:
    offsets = pa.array(np.arange(0, 2 * ROWS + 1, 2), pa.int32())
    sizes = np.stack([np.ones(ROWS, int), 128 * (1 + series % CASES)], axis=1).ravel()
    return pa.MapArray.from_arrays(offsets, _text(np.tile([0, 1], ROWS), ["B", "S"]), pa.array(sizes))


if __name__ == "__main__":
    main(sys.argv[1:])
