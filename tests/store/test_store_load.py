"""Finding a stored run, and saying so when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_documents import run_document

from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.directory import DirectoryBackend


def test_latest_is_the_newest_day_then_the_newest_id(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for run_id, day in [("b", "2026-11-29"), ("a", "2026-12-01"), ("c", "2026-12-01"), ("d", "2026-11-30")]:
        store.append(run_document("add:pass", run_id, day=day))
    assert store.latest() == run_document("add:pass", "c", day="2026-12-01")
    assert store.load("d") == run_document("add:pass", "d", day="2026-11-30")


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


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass"))
    (tmp_path / "accuracy" / "date=2026-11-29" / "r1.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(StoreError, match="cannot read `accuracy/date=2026-11-29/r1.parquet` of store .*magic bytes"):
        store.load("r1")


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
