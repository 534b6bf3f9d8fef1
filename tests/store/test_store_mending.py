"""What a store on a branch is blamed for, and what is fetched of it, with real runs and bundles."""

from __future__ import annotations

import os
import time
from datetime import date, datetime, timezone
from pathlib import Path

import pytest
from branch_remotes import BRANCH, NOT_THE_PERSON, Forge, WatchedGit
from store_documents import run_document
from store_packs import with_bundle

from opsdebug_ci.cli.progress import Silent
from opsdebug_ci.pipeline.store_care import what_may_go
from opsdebug_ci.pipeline.store_overview import show_store
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.upkeep.compaction import compact
from opsdebug_ci.store.upkeep.retention import Limits
from opsdebug_ci.store.upkeep.verification import verify

pytestmark = pytest.mark.slow

TODAY = date(2026, 11, 30)


@pytest.fixture
def watched(tmp_path: Path) -> WatchedGit:
    return WatchedGit(tmp_path / "bin")


@pytest.fixture
def store(tmp_path: Path, watched: WatchedGit, monkeypatch: pytest.MonkeyPatch) -> BaselineStore:
    """Three runs with a bundle each, on a branch."""
    forge = Forge(tmp_path)
    monkeypatch.setenv("PATH", watched.path)
    around = {**os.environ, **NOT_THE_PERSON, "OPSDEBUG_CACHE": str(tmp_path / "cache")}
    found = open_store(f"branch:{BRANCH}@{forge.url}", root=tmp_path, environ=around)
    for name, day in (("r1", "11-01"), ("r2", "11-02"), ("r3", "11-03")):
        document, data = with_bundle(run_document("add:pass gelu:fail/f1", name, day=f"2026-{day}"), name, "gelu")
        found.append(document, bundles=[data])
    return found


def spoil(path: Path) -> None:
    """Change a byte, so that neither name nor size nor time tells."""
    times, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("table", ["accuracy", "runs"])
def test_a_bad_local_copy_is_mended_before_the_store_is_blamed(table: str, store: BaselineStore) -> None:
    path = store.mirror().root / table / "date=2026-11-02" / "r2.parquet"
    good = path.read_bytes()
    spoil(path)
    found = verify(store.backend, today=TODAY)
    assert (found.damage, found.runs, found.bundles) == (0, 3, 3), found.text
    assert path.read_bytes() == good


def test_what_is_bad_on_the_branch_itself_is_told(store: BaselineStore) -> None:
    path = store.mirror().root / "accuracy" / "date=2026-11-02" / "r2.parquet"
    relative = "accuracy/date=2026-11-02/r2.parquet"
    spoil(path)
    store.backend.exchange((), [relative])
    store.backend.add([StoreFile(path=relative, data=path.read_bytes())])
    found = verify(store.backend, today=TODAY)
    assert found.damage >= 1
    assert relative in {remark.path for remark in found.remarks}


def test_no_bundle_is_fetched_where_none_is_asked_for(
    store: BaselineStore, tmp_path: Path, watched: WatchedGit
) -> None:
    world = World(
        directory=tmp_path,
        environ={},
        now=lambda: datetime(2026, 11, 30, tzinfo=timezone.utc),
        entropy=bytes,
        monotonic_ns=time.monotonic_ns,
        progress=Silent(),
    )
    sizes = [len(store.bundle(sha256)) for sha256 in store.bundles()]
    fresh = {**os.environ, **NOT_THE_PERSON, "OPSDEBUG_CACHE": str(tmp_path / "fresh")}
    again = open_store(store.location, root=tmp_path, environ=fresh)
    again.mirror()
    watched.log.write_text("")
    shown = show_store(again)
    assert (shown.bundles, shown.bundle_bytes) == (3, None)
    assert 0 < len(what_may_go(again, Limits(keep_runs=1), world).bundles) < 3
    assert len(again.bundles()) == 3
    compact(again.backend, today=TODAY, entropy="0" * 8)
    assert " --stdin opsdebug-store" not in watched.log.read_text(), "what fetches contents"
    assert what_may_go(again, Limits(most_bytes=10**9), world).runs == ()
    assert " --stdin opsdebug-store" in watched.log.read_text()
    assert len(what_may_go(again, Limits(most_bytes=max(sizes)), world).runs) <= 2
