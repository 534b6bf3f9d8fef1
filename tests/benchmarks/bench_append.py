"""Appending a run of 1,000 cases to a store of 10 runs and to one of 10,000."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

from side_by_side import against, medians, show

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_documents import run_document

from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.baseline_store import BaselineStore

ROUNDS = 20
CASES = 1_000
BUDGET_MS = 50.0
SIZES = (10, 10_000)
DAYS = 90
"""Days the runs of a store are spread over."""


def main() -> None:
    """Measure and print."""
    words = " ".join(f"operator{n % 30}:pass" for n in range(CASES))
    numbers = itertools.count()

    def append(store: BaselineStore) -> None:
        store.append(run_document(words, f"new-{next(numbers)}"))

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        stores = {size: _store(Path(directory) / str(size), size) for size in SIZES}
        prepared = medians({"document": lambda: run_document(words, "x")}, rounds=ROUNDS)["document"]
        found = medians({str(size): lambda s=store: append(s) for size, store in stores.items()}, rounds=ROUNDS)
    rows = []
    for size in SIZES:
        milliseconds = (found[str(size)] - prepared) * 1e3
        rows.append((f"{size:,}", f"{milliseconds:.1f}", f"{BUDGET_MS:g}", against(milliseconds, BUDGET_MS)))
    show(f"Append of {CASES:,} cases, median of {ROUNDS}", ("runs in the store", "ms", "budget", ""), rows)


def _store(path: Path, size: int) -> BaselineStore:
    """A store of `size` runs: one is written, the others are its files under other names."""
    store = open_store(path)
    store.append(run_document("add:pass softmax:fail/f1", "run-0"))
    originals = list(path.glob("*/date=*/run-0.parquet"))
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(min(DAYS, size))]
    for original in originals:
        folders = [original.parents[1] / f"date={day}" for day in days]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        for number in range(1, size):
            _link(original, folders[number % len(folders)] / f"run-{number}.parquet")
    return store


def _link(original: Path, copy: Path) -> None:
    try:
        os.link(original, copy)
    except OSError:
        shutil.copyfile(original, copy)


if __name__ == "__main__":
    main()
