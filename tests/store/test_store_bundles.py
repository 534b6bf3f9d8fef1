"""Bundles in a store: content-addressed, whole or not at all, never handed out damaged."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import opsdebug_ci
from opsdebug_ci.bundle.archive import MOST_BYTES
from opsdebug_ci.errors import BundleError, StoreFormatError, UsageError
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.bundles import only_match
from opsdebug_ci.store.places.backends import open_store

DATA = b"a failure, as bytes"
SHA256 = hashlib.sha256(DATA).hexdigest()

WRITER = """
import os, signal, sys
from opsdebug_ci.store.places.backends import open_store

limit, seen = int(sys.argv[2]), []

def watch(event, arguments):
    if event in ("open", "os.rename", "os.mkdir"):
        seen.append(event)
        if len(seen) == limit:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
open_store(sys.argv[1]).put_bundle(b"x" * 1_000_000)
print(len(seen))
"""
"""Stores a bundle and kills itself at its `limit`-th audit event; without one it prints how many there were."""


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    return open_store(tmp_path / "baselines")


def place(store: BaselineStore, sha256: str = SHA256) -> Path:
    return Path(store.location) / "bundles" / sha256[:2] / f"{sha256}.opsbundle"


def test_a_bundle_lies_under_its_sha256(store: BaselineStore) -> None:
    assert store.put_bundle(DATA) == SHA256
    assert place(store).read_bytes() == DATA
    assert (store.bundles(), store.bundle(SHA256)) == ((SHA256,), DATA)
    assert store.exists()


def test_the_same_bundle_again_is_not_written(store: BaselineStore) -> None:
    store.put_bundle(DATA)
    before = place(store).stat()
    assert store.put_bundle(DATA) == SHA256
    after = place(store).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_damaged_bundle_is_reported_and_not_handed_out(store: BaselineStore) -> None:
    store.put_bundle(DATA)
    place(store).write_bytes(DATA[:-1] + b"!")
    with pytest.raises(BundleError, match=rf"{SHA256[:12]} in store .* is damaged: .* wanted the one it is named by"):
        store.bundle(SHA256)


def test_a_file_that_is_too_large_is_not_read(store: BaselineStore) -> None:
    store.put_bundle(DATA)
    with place(store).open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BundleError, match="has 67,108,865 bytes; wanted at most 67,108,864"):
        store.bundle(SHA256)


def test_what_is_not_there_is_an_error(store: BaselineStore) -> None:
    assert store.bundles() == ()
    with pytest.raises(BundleError, match=f"no bundle `{SHA256}` in store"):
        store.bundle(SHA256)


def test_files_named_otherwise_are_no_bundles(store: BaselineStore) -> None:
    store.put_bundle(DATA)
    for name in (f"{SHA256[:-1]}.opsbundle", f".opsdebug-{SHA256}.opsbundle.1.tmp", "README"):
        (place(store).parent / name).write_bytes(b"")
    assert store.bundles() == (SHA256,)


def test_a_prefix_finds_its_bundle(store: BaselineStore) -> None:
    store.put_bundle(DATA)
    for prefix in (SHA256, SHA256[:6], SHA256[:6].upper()):
        assert only_match(store.bundles(), prefix, "store") == SHA256


def test_a_prefix_of_several_lists_them(store: BaselineStore) -> None:
    hashes = [store.put_bundle(bytes([number])) for number in range(40)]
    digit = max("0123456789abcdef", key=lambda first: sum(sha256.startswith(first) for sha256 in hashes))
    alike = sorted(sha256 for sha256 in hashes if sha256.startswith(digit))
    with pytest.raises(UsageError) as caught:
        only_match(store.bundles(), digit, "store")
    assert f"`{digit}` stands for {len(alike)} bundles" in caught.value.message
    assert ", ".join(alike[:10]) in caught.value.message


@pytest.mark.parametrize("prefix", ["", "xyz", "../secret", "0" * 65])
def test_what_is_no_prefix_is_a_mistake(store: BaselineStore, prefix: str) -> None:
    with pytest.raises(UsageError, match="is neither a file nor the beginning of a sha256"):
        only_match(store.bundles(), prefix, "store")


def test_a_prefix_of_none_is_a_mistake(store: BaselineStore) -> None:
    store.put_bundle(DATA)
    with pytest.raises(UsageError, match="no bundle starts with `ffffff` in store"):
        only_match(store.bundles(), "ffffff", "store")


def test_a_directory_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "holidays.jpg").touch()
    with pytest.raises(StoreFormatError):
        open_store(tmp_path).put_bundle(DATA)
    assert [path.name for path in tmp_path.iterdir()] == ["holidays.jpg"]


def written(store: Path, limit: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(opsdebug_ci.__file__).parents[1])}
    command = [sys.executable, "-c", WRITER, str(store), str(limit)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_writer_killed_anywhere_leaves_no_half_bundle(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole", 0)
    assert whole.returncode == 0, whole.stderr
    moments = int(whole.stdout)
    assert moments >= 6, "directories, temporary names and renames of the marker and the bundle"
    for moment in range(1, moments + 1, 4):
        store = open_store(tmp_path / str(moment))
        assert written(Path(store.location), moment).returncode == -signal.SIGKILL
        assert all(store.bundle(sha256) == b"x" * 1_000_000 for sha256 in store.bundles())
        sha256 = store.put_bundle(b"x" * 1_000_000)
        assert (store.bundles(), len(store.bundle(sha256))) == ((sha256,), 1_000_000)
