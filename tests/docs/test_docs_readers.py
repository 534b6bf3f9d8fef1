"""The lines of docs/store.md by which other tools read a store, run as they stand."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from example_store import fill

from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact

PAGE = (Path(__file__).parents[2] / "docs/store.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
EVERYTHING, COUNTED = (block.splitlines() for block in BLOCKS)
(EXPORT,) = re.findall(r"^    (opsdebug sql .*visible\.parquet.*)$", PAGE, flags=re.MULTILINE)
TOOLS = ("duckdb", "pandas", "polars")
SUPERSEDED = "r5"
"""Id of a run that a later attempt replaces."""


@pytest.fixture(scope="module", params=["single files", "a pack and single files"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the example store, in which one run is another attempt at one before."""
    directory = tmp_path_factory.mktemp("readers")
    fill(directory / "baselines", again=SUPERSEDED)
    if request.param != "single files":
        compact(
            open_store(directory / "baselines").backend,
            today=date(2027, 6, 1),
            entropy="e",
            rules=CompactionRules(fewest=4),
        )
        assert list(directory.glob("baselines/accuracy/date=2026-11-01/pack-*.parquet"))
        assert list(directory.glob("baselines/accuracy/date=2026-10-*/r*.parquet"))
    return directory


def read(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Rows, by what one line of the page gives."""
    monkeypatch.chdir(place)
    frame = eval(line, {"duckdb": duckdb, "pandas": pd, "polars": pl})
    return list(frame.to_dict("records") if isinstance(frame, pd.DataFrame) else frame.to_dicts())


@pytest.mark.parametrize("tool", TOOLS)
def test_every_row_is_read(place: Path, tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = [line for line in EVERYTHING if line.startswith(tool)]
    rows = read(line, place, monkeypatch)
    asked = "select run_id, case_id, ulp_max from accuracy_files"
    assert sorted((r["run_id"], r["case_id"], r["ulp_max"]) for r in rows) == sorted(
        query(place / "baselines", asked).rows
    )
    assert SUPERSEDED in {r["run_id"] for r in rows}
    assert "date" in rows[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_replaced_attempts_are_left_out(place: Path, tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(EXPORT)
    done = subprocess.run([sys.executable, "-m", "opsdebug_ci", *words[1:]], cwd=place, check=False, timeout=120)
    assert done.returncode == 0
    (line,) = [line for line in COUNTED if line.startswith(tool)]
    rows = read(line, place, monkeypatch)
    asked = "select run_id, case_id from accuracy"
    assert sorted((r["run_id"], r["case_id"]) for r in rows) == sorted(query(place / "baselines", asked).rows)
    assert SUPERSEDED not in {r["run_id"] for r in rows}
