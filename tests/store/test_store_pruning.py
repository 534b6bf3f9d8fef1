"""Runs and bundles removed for good: these and no others, from packs too, and nothing comes back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pytest
from object_servers import Storage
from store_documents import run_document
from store_packs import (
    TODAY,
    Places,
    both,
    documents,
    filled,
    packed,
    sha256_of,
    single,
    tables_of,
    visible,
    with_bundle,
)

from opsdebug_ci.model import RunDocument
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.files.layout import read_bundle_path
from opsdebug_ci.store.places.backend import Backend, Mirror, StoreEntry, StoreFile, Told, untold
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.upkeep.pruning import Pruning, prune
from opsdebug_ci.store.upkeep.retention import Retention
from opsdebug_ci.store.upkeep.verification import verify


def pruned(backend: Backend, runs: str, *bundles: str, entropy: str = "ff") -> Pruning:
    going = Retention(runs=tuple(runs.split()), bundles=bundles)
    return prune(backend, going, today=TODAY, entropy=entropy)


def rows_of(rows: list[tuple[object, ...]], *without: str) -> list[tuple[object, ...]]:
    return [row for row in rows if row[0] not in without]


@pytest.mark.parametrize("kind", ["directory", "branch", "bucket"])
def test_what_goes_is_gone_and_everything_else_is_as_it_was(kind: str, tmp_path: Path, s3: Storage) -> None:
    backend = Places(directory=tmp_path, storage=s3).backend(kind)
    store = filled(backend, documents("10-01 10-02 11-01 11-02"))
    packed(backend)
    for name in ("s1", "s2"):
        run, data = with_bundle(run_document("add:pass gelu:fail/f2", name), name)
        store.append(run, bundles=[data])
    before = visible(store.mirror().root)
    done = pruned(backend, "r00 r02 r03 s1", sha256_of("s1"))
    root = store.mirror().root
    assert (done.runs, done.bundles, done.faults) == (4, 1, ())
    assert visible(root) == rows_of(before, "r00", "r02", "r03", "s1")
    assert store.bundles() == (sha256_of("s2"),)
    assert verify(backend, today=TODAY).remarks == ()
    assert [path for path in tables_of(root) if path.startswith("runs/")] == [
        "runs/date=2026-10-01/pack-20261130-ff-0000.parquet",
        "runs/date=2026-11-29/s2.parquet",
    ]
    assert pruned(backend, "", entropy="gg") == Pruning(runs=0, bundles=0, files=0, faults=())


def test_what_a_killed_compaction_left_does_not_come_back(tmp_path: Path) -> None:
    runs = documents("11-01 11-02")
    store = filled(open_store(tmp_path).backend, runs)
    packed(store.backend)
    store.append_all(runs)
    assert pruned(store.backend, "r00 r01").runs == 2
    assert (tables_of(tmp_path), visible(tmp_path)) == ([], [])


def test_a_run_in_two_packs_goes_from_both(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02 11-03"))
    both(tmp_path)
    before = visible(tmp_path)
    assert pruned(store.backend, "r01").runs == 1
    assert visible(tmp_path) == rows_of(before, "r01")


def test_a_damaged_pack_stays_with_what_was_to_go(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name in ("p1", "p2", "s1"):
        run, data = with_bundle(run_document("gelu:fail/f2", name), name)
        store.append(run, bundles=[data])
        if name == "p2":
            packed(store.backend)
    path = tmp_path / "accuracy" / "date=2026-11-01" / "pack-20261130-aa-0000.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    done = pruned(store.backend, "p1 s1", sha256_of("p1"), sha256_of("s1"))
    assert (done.runs, done.bundles, [fault.path for fault in done.faults]) == (1, 1, [str(path.relative_to(tmp_path))])
    assert store.bundles() == tuple(sorted([sha256_of("p1"), sha256_of("p2")]))
    path.write_bytes(data)
    assert {row[0] for row in visible(tmp_path)} == {"p1", "p2"}
    assert verify(store.backend, today=TODAY).remarks == ()


def test_a_bundle_that_a_run_added_meanwhile_names_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    old, data = with_bundle(run_document("gelu:fail/f2", "old"), "the same")
    new, _ = with_bundle(run_document("gelu:fail/f2", "new"), "the same")
    store.append(old, bundles=[data])
    store.append(new, bundles=[data])
    done = pruned(store.backend, "old", sha256_of("the same"))
    assert (done.runs, done.bundles, store.bundles()) == (1, 0, (sha256_of("the same"),))


def test_while_it_cannot_be_told_what_a_run_names_no_bundle_goes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name in ("old", "new"):
        run, data = with_bundle(run_document("gelu:fail/f2", name), name)
        store.append(run, bundles=[data])
    single(tmp_path, "failures", "new").write_bytes(b"nothing")
    done = pruned(store.backend, "old", sha256_of("old"))
    assert (done.runs, done.bundles, len(store.bundles())) == (1, 0, 2)


def test_who_prunes_hears_of_every_pack(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("10-01 10-02 11-01 11-02"))
    packed(store.backend)
    heard: list[tuple[str, int, int]] = []
    going = Retention(runs=("r00", "r03"))
    prune(store.backend, going, today=TODAY, entropy="ff", told=lambda *said: heard.append(said))
    assert heard == [("packs written anew", 0, 2), ("packs written anew", 1, 2)]


class Met(Backend):
    """A place where somebody stores a run just before bundles are removed."""

    def __init__(self, inner: Backend, run: RunDocument, bundle: bytes) -> None:
        self.inner, self.run, self.bundle = inner, run, bundle

    def exchange(self, added: Sequence[StoreFile], removed: Sequence[str]) -> None:
        if any(read_bundle_path(path) for path in removed):
            BaselineStore(self.inner).append(self.run, bundles=[self.bundle])
        self.inner.exchange(added, removed)

    location = property(lambda self: self.inner.location)
    bundle_limit_bytes = property(lambda self: self.inner.bundle_limit_bytes)

    def exists(self) -> bool:
        return self.inner.exists()

    def check_writable(self) -> None:
        self.inner.check_writable()

    def add(self, files: Sequence[StoreFile]) -> None:
        self.inner.add(files)

    def entries(self) -> tuple[StoreEntry, ...]:
        return self.inner.entries()

    def read(self, path: str) -> bytes:
        return self.inner.read(path)

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        return self.inner.read_all(paths)

    def mend(self, paths: Collection[str], told: Told = untold) -> bool:
        return self.inner.mend(paths, told)

    def mirror(self, told: Told = untold) -> Mirror:
        return self.inner.mirror(told)


def test_a_bundle_that_a_run_names_by_the_time_it_is_gone_comes_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    old, data = with_bundle(run_document("gelu:fail/f2", "old"), "the same")
    new, _ = with_bundle(run_document("gelu:fail/f2", "new"), "the same")
    store.append(old, bundles=[data])
    done = pruned(Met(store.backend, new, data), "old", sha256_of("the same"))
    assert (done.runs, done.bundles, store.bundles()) == (1, 0, (sha256_of("the same"),))
    assert verify(store.backend, today=TODAY).remarks == ()
