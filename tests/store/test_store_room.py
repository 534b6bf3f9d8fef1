"""No room, or no permission to write: one clear error, what was there stays whole, and nothing temporary is left."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from branch_remotes import Forge
from store_documents import run_document
from store_packs import TODAY, documents, filled, packed, visible

from opsdebug_ci.bundle.durable import TEMPORARY_PREFIX
from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.upkeep.pruning import prune
from opsdebug_ci.store.upkeep.retention import Retention
from opsdebug_ci.store.upkeep.verification import verify

pytestmark = pytest.mark.slow

DISK_BYTES = 512 * 1024
"""Of the small disk: two runs fit, and what is made of them."""

LEFT_BYTES = 24 * 1024
"""That are left of it: one file of a run fits."""

REFUSED = r"cannot write to store .*: got `(No space|File too|Read-only|Permission)"

Trouble = Callable[[Path], AbstractContextManager[None]]


def mount(*words: str) -> bool:
    """Whether it could be mounted; on most machines only root may."""
    return os.name == "posix" and subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own; just a directory where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = mount("-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place))
    yield place
    if mounted:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """No more room on the disk than `LEFT_BYTES`."""
    if not os.path.ismount(disk):
        pytest.skip("this user cannot mount a small disk")
    free = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"x" * (free.f_bavail * free.f_frsize - LEFT_BYTES))
    yield
    filler.unlink()


@contextmanager
def short_files(disk: Path) -> Iterator[None]:
    """No file may be longer than `LEFT_BYTES`; the system cuts a write off there, as it does on a full disk."""
    del disk
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LEFT_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Nothing can be written there."""
    if os.geteuid() == 0:  # whom no permissions stop
        if not os.path.ismount(disk):
            pytest.skip("this user may write everywhere, and cannot mount anything")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        yield
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    else:
        directories = [disk, *(path for path in disk.rglob("*") if path.is_dir())]
        for path in directories:
            path.chmod(0o555)
        try:
            yield
        finally:
            for path in directories:
                path.chmod(0o755)


def append(store: BaselineStore) -> None:
    store.append(run_document("add:pass gelu:fail/f1", "new"))


def compact(store: BaselineStore) -> None:
    packed(store.backend, "bb")


def prune_packed(store: BaselineStore) -> None:
    prune(store.backend, Retention(runs=("r00",)), today=TODAY, entropy="cc")


DOING = (append, compact, prune_packed)


@pytest.mark.parametrize("trouble", [full, short_files, read_only])
@pytest.mark.parametrize("doing", DOING)
def test_what_was_there_stays_whole(trouble: Trouble, doing: Callable[[BaselineStore], None], disk: Path) -> None:
    store = filled(open_store(disk / "baselines").backend, documents("11-01 11-02"))
    if doing is prune_packed:
        packed(store.backend)
    before = visible(disk / "baselines")
    with (
        trouble(disk),
        pytest.raises(
            StoreError, match=r"cannot write to store .*: got `(No space|File too|Read-only|Permission)"
        ) as told,
    ):
        doing(store)
    assert (told.value.exit_code, told.value.next_step) == (3, "set `store` to such a directory")
    assert list(disk.rglob(f"{TEMPORARY_PREFIX}*")) == []
    assert visible(disk / "baselines") == before
    assert verify(store.backend, today=TODAY).damage == 0
    doing(store)
    assert visible(disk / "baselines") != before or doing is compact
    assert verify(store.backend, today=TODAY).damage == 0


@pytest.mark.parametrize("trouble", [full, read_only])
def test_a_copy_without_room_is_one_error_and_harms_no_store(trouble: Trouble, disk: Path, tmp_path: Path) -> None:
    (tmp_path / "forge").mkdir()
    forge = Forge(tmp_path / "forge")
    store = filled(forge.backend(), documents("11-01 11-02"))
    short = BaselineStore(forge.backend(OPSDEBUG_CACHE=str(disk / "cache")))
    with trouble(disk), pytest.raises(StoreError) as told:
        short.mirror()
    assert told.value.exit_code == 3
    assert told.value.next_step
    assert verify(store.backend, today=TODAY).remarks == ()
    assert visible(short.mirror().root) == visible(store.mirror().root)


def test_a_repository_that_cannot_be_written_is_found_out_before_any_work(disk: Path) -> None:
    forge = Forge(disk)
    store = filled(forge.backend(OPSDEBUG_CACHE=str(disk.parent / "cache")), documents("11-01"))
    store.check_writable()
    with read_only(disk):
        with pytest.raises(StoreError) as told:
            store.check_writable()
        with pytest.raises(StoreError) as failed:
            append(store)
    assert (told.value.exit_code, failed.value.exit_code) == (3, 3)
    assert verify(store.backend, today=TODAY).remarks == ()
