"""Finding a stored run, and saying so when there is none."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_documents import CALIBRATION, run_document

from opsdebug_ci.errors import DamagedFileError, StoreError, UsageError
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.places.directory import DirectoryBackend
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact


def test_latest_is_the_newest_day_then_the_newest_id(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for run_id, day in [("b", "2025-11-29"), ("a", "2025-12-01"), ("c", "2025-12-01"), ("d", "2025-11-30")]:
        store.append(run_document("add:pass", run_id, day=day))
    assert store.latest() == run_document("add:pass", "c", day="2025-12-01")
    assert store.load("d") == run_document("add:pass", "d", day="2025-11-30")


def test_latest_passes_over_a_damaged_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for run_id, day in [("a", "2025-11-29"), ("b", "2025-11-30")]:
        store.append(run_document("add:pass", run_id, day=day))
    (tmp_path / "runs" / "date=2025-11-30" / "b.parquet").write_bytes(b"PAR1")
    assert store.latest().run.id == "a"
    (tmp_path / "runs" / "date=2025-11-29" / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"cannot read `runs/date=2025-11-29/a\.parquet` of store"):
        store.latest()


def test_latest_of_a_damaged_pack_says_which(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for run_id in ("a", "b"):
        store.append(run_document("add:pass", run_id))
    compact(store.backend, today=date(2026, 12, 31), entropy="00000000", rules=CompactionRules(fewest=2))
    path = file_of(tmp_path, "runs")
    path.write_bytes(b"PAR1 no more")
    with pytest.raises(StoreError, match=f"cannot read `{path.relative_to(tmp_path)}` of store .*: it is not Parquet"):
        store.latest()


@pytest.mark.parametrize("run_id", ["r2", "*", "../r1", ""])
def test_an_unknown_run_is_said(tmp_path: Path, run_id: str) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass"))
    with pytest.raises(StoreError) as caught:
        store.load(run_id)
    assert str(caught.value).replace(str(tmp_path), "TMP") == (
        f"no run `{run_id}` in store `TMP`; wanted the id of a stored run\n"
        '  next: opsdebug sql "select id, started_at, stage, verdict from runs order by id desc"'
    )


def test_a_store_without_runs_is_said(tmp_path: Path) -> None:
    (tmp_path / "opsdebug-store.json").write_text('{"format_version": 1}')
    with pytest.raises(StoreError, match="holds no run; wanted at least one"):
        open_store(tmp_path).latest()


def test_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such directory; wanted the directory of an earlier run"):
        open_store(tmp_path / "s").latest()
    with pytest.raises(StoreError, match="nothing was stored in this directory yet"):
        open_store(tmp_path).load("r1")
    assert not open_store(tmp_path).exists()


TABLES = ("accuracy", "calibrations", "runs")
"""Tables of the run below that it is made of again."""


@pytest.fixture(params=[False, True], ids=["own files", "pack"])
def two_runs(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A store of two runs, in files of their own or in one pack."""
    for run_id in ("r1", "r2"):
        open_store(tmp_path).append(run_document("add:pass mul:fail/f", run_id), [CALIBRATION])
    if request.param:
        backend = open_store(tmp_path).backend
        compact(backend, today=date(2026, 12, 31), entropy="00000000", rules=CompactionRules(fewest=2))
    return tmp_path


def file_of(store: Path, table: str) -> Path:
    """The file that holds run r1 in a table."""
    return min((store / table).glob("*/*.parquet"))


@pytest.mark.parametrize("table", TABLES)
def test_half_a_run_is_never_loaded(two_runs: Path, table: str) -> None:
    path = file_of(two_runs, table)
    path.unlink()
    if table == "runs":
        with pytest.raises(StoreError, match="no run `r1`"):
            open_store(two_runs).load("r1")
        return
    with pytest.raises(StoreError) as caught:
        open_store(two_runs).load("r1")
    assert str(caught.value).replace(str(two_runs), "TMP") == (
        f"cannot read `{path.relative_to(two_runs)}` of store `TMP`, which holds run `r1`: it is recorded, and is not "
        "there; wanted the file as it was written\n"
        "  next: `opsdebug baselines verify` says what else is missing or damaged"
    )


def test_a_damaged_file_is_said(two_runs: Path) -> None:
    for table, other in zip(TABLES, (*TABLES[1:], TABLES[0]), strict=True):
        path = file_of(two_runs, table)
        data = path.read_bytes()
        changed = data[:40] + bytes([data[40] ^ 1]) + data[41:]
        for damaged in (data[:-7], changed, b"", file_of(two_runs, other).read_bytes()):
            path.write_bytes(damaged)
            where = f"cannot read `{path.relative_to(two_runs)}` of store .* run `r1`: it "
            with pytest.raises(StoreError, match=where) as error:
                open_store(two_runs).load("r1")
            assert error.value.next_step.startswith("`opsdebug baselines verify`")
        path.write_bytes(data)
    assert open_store(two_runs).load("r1").run.id == "r1"


def test_whole_runs_beside_it_are_loaded(two_runs: Path) -> None:
    for run_id in ("r1", "r2"):
        loaded = open_store(two_runs).stored(run_id)
        assert loaded.document == run_document("add:pass mul:fail/f", run_id)
        assert loaded.calibrations == (CALIBRATION,)


def test_damage_of_another_run_does_not_matter(tmp_path: Path) -> None:
    for run_id in ("r1", "r2"):
        open_store(tmp_path).append(run_document("add:pass", run_id))
    file_of(tmp_path, "accuracy").unlink()
    file_of(tmp_path, "runs").write_bytes(b"nothing")
    assert open_store(tmp_path).load("r2") == run_document("add:pass", "r2")


@pytest.mark.parametrize("location", ["baselines/", "./a:b", "/tmp/x", "C:\\baselines", Path("a:b")])
def test_a_path_is_a_directory_store(location: str | Path) -> None:
    store = open_store(location)
    assert isinstance(store.backend, DirectoryBackend)
    assert store.location == str(location)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://host/x", "a `http:` store is not known; wanted a directory"),
        ("", "`store` is empty; wanted a directory"),
    ],
)
def test_any_other_scheme_is_refused(location: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        open_store(location)
    assert "baselines/" in caught.value.next_step


@pytest.mark.parametrize(
    ("column", "value"),
    [("verdict", "splendid"), ("started_at_text", "0001-01-01T00:00:00+14:00"), ("started_at_text", "yesterday")],
)
def test_a_run_that_no_program_of_ours_wrote_is_said(tmp_path: Path, column: str, value: str) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass"))
    [path] = tmp_path.glob("runs/*/r1.parquet")
    rows = pq.ParquetFile(path).read().replace_schema_metadata()
    pq.write_table(rows.set_column(rows.schema.get_field_index(column), column, pa.array([value])), path)
    with pytest.raises(DamagedFileError, match="run `r1` holds what no program of ours writes"):
        store.load("r1")
