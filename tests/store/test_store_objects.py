"""A store in a bucket, against servers that keep objects: what is put is there, in order, once, and nothing else."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from object_servers import DAY, Storage, in_front, run_files

import opsdebug_ci
from opsdebug_ci.errors import StoreError, StoreFormatError
from opsdebug_ci.store.files.layout import MARKER
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.objects import PROBE, ObjectBackend

WRITERS, RUNS_EACH = 6, 5

WRITER = """
import sys
from pathlib import Path
from object_servers import Storage, run_files

backend = Storage(scheme=sys.argv[1], address=sys.argv[2]).backend(sys.argv[3], Path(sys.argv[4]))
print("ready", flush=True)
for number in range(int(sys.argv[5])):
    backend.add(run_files(f"{sys.argv[6]}-{number}"))
    if not number:
        print("one", flush=True)
print("done", flush=True)
"""


def paths(backend: ObjectBackend) -> list[str]:
    return [entry.path for entry in backend.entries()]


def expected(*run_ids: str) -> list[str]:
    return sorted({MARKER, *(file.path for run_id in run_ids for file in run_files(run_id))})


@pytest.fixture(params=["s3", "gs"])
def storage(request: pytest.FixtureRequest) -> Storage:
    found: Storage = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def base(request: pytest.FixtureRequest) -> str:
    """A prefix of its own for each test, with characters that addresses and queries have a use for."""
    return f"bucket/a b+%20é=&'(~)/{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}"


def test_what_is_added_is_there_byte_for_byte(storage: Storage, base: str, tmp_path: Path) -> None:
    backend = storage.backend(base, tmp_path)
    assert not backend.exists()
    assert backend.entries() == ()
    files = [*run_files("r1"), StoreFile(path=f"timings/{DAY}/large.parquet", data=os.urandom(11_000_000))]
    backend.add(files)
    assert backend.exists()
    assert {file.path: backend.read(file.path) for file in files} == {file.path: file.data for file in files}
    sizes = {entry.path: entry.size_bytes for entry in backend.entries()}
    assert sizes == {MARKER: len(backend.read(MARKER)), **{file.path: len(file.data) for file in files}}


def test_the_same_run_again_changes_nothing_and_another_under_its_name_is_refused(
    storage: Storage, base: str, tmp_path: Path
) -> None:
    backend = storage.backend(base, tmp_path)
    backend.add(run_files("r1"))
    backend.add(run_files("r1"))
    assert paths(backend) == expected("r1")
    with pytest.raises(StoreError, match=r"already holds another `runs.*never overwritten"):
        backend.add([*run_files("r2"), *run_files("r1", b"other")])
    assert paths(backend) == expected("r1")
    assert backend.read(f"accuracy/{DAY}/r1.parquet") == b"accuracy"


def test_a_damaged_bundle_is_written_anew(storage: Storage, base: str, tmp_path: Path) -> None:
    backend = storage.backend(base, tmp_path)
    bundle = run_files("r1")[0]
    backend.add([StoreFile(path=bundle.path, data=b"")])
    backend.add(run_files("r1"))
    assert backend.read(bundle.path) == bundle.data


def test_an_exchange_adds_before_it_removes(storage: Storage, base: str, tmp_path: Path) -> None:
    backend = storage.backend(base, tmp_path)
    backend.add(run_files("r1"))
    backend.add(run_files("r2"))
    pack = [StoreFile(path=f"{t}/date=2026-11-01/pack-1.parquet", data=b"packed") for t in ("accuracy", "runs")]
    removed = [f"{t}/{DAY}/{r}.parquet" for t in ("runs", "accuracy", "timings") for r in ("r1", "r2", "gone")]
    backend.exchange(pack, removed)
    backend.exchange(pack, removed)
    kept = [file.path for run_id in ("r1", "r2") for file in run_files(run_id)[:1]]
    assert paths(backend) == sorted([MARKER, *kept, *(file.path for file in pack)])


def test_a_look_ahead_needs_no_right_to_remove_and_adds_nothing_to_the_store(
    s3: Storage, base: str, tmp_path: Path
) -> None:
    with in_front(s3) as front:
        backend = front.storage.backend(base, tmp_path)
        backend.check_writable()
        backend.check_writable()
        assert not [seen for seen in front.seen if seen.startswith("DELETE")]
        assert [seen for seen in front.seen if seen.startswith("PUT")] == [f"PUT /{base}/{PROBE}"] * 2
    assert not backend.exists()
    storage = s3.backend(base, tmp_path)
    storage.add(run_files("r1"))
    storage.check_writable()
    assert paths(storage) == expected("r1")


def test_the_marker_comes_first_and_the_run_last(s3: Storage, base: str, tmp_path: Path) -> None:
    with in_front(s3) as front:
        front.storage.backend(base, tmp_path).add([*run_files("r1"), *run_files("r2")])
        written = [seen.removeprefix(f"PUT /{base}/") for seen in front.seen if seen.startswith("PUT")]
    first, second = ([file.path for file in run_files(run_id)] for run_id in ("r1", "r2"))
    assert written[0] == MARKER
    assert (set(written[1:4]), written[4]) == (set(first[:3]), first[3])
    assert (set(written[5:8]), written[8]) == (set(second[:3]), second[3])


def test_a_place_that_holds_something_else_is_left_alone(storage: Storage, base: str, tmp_path: Path) -> None:
    storage.backend(f"{base}/photos/2026", tmp_path).add(run_files("r1"))
    backend = storage.backend(base, tmp_path)
    for attempt in (backend.check_writable, lambda: backend.add(run_files("r2"))):
        with pytest.raises(StoreFormatError, match=r"holds photos and no opsdebug-store\.json; .*an empty prefix"):
            attempt()
    assert not backend.exists()


def test_a_marker_that_says_more_than_we_read_is_refused(s3: Storage, base: str, tmp_path: Path) -> None:
    backend = s3.backend(base, tmp_path)
    backend._bucket.put_all([(MARKER, b'{"format_version": 99}')])
    for attempt in (backend.exists, backend.check_writable, backend.entries, backend.mirror):
        with pytest.raises(StoreFormatError, match="has format version 99"):
            attempt()


def test_writers_at_the_same_time_lose_nothing(s3: Storage, base: str, tmp_path: Path) -> None:
    writers = [_writer(s3, base, tmp_path, RUNS_EACH, f"w{number}") for number in range(WRITERS)]
    assert [writer.communicate(timeout=100)[0] for writer in writers] == [b"ready\none\ndone\n"] * WRITERS
    ids = [f"w{writer}-{number}" for writer in range(WRITERS) for number in range(RUNS_EACH)]
    backend = s3.backend(base, tmp_path)
    assert paths(backend) == expected(*ids)
    for file in (file for run_id in ids[::7] for file in run_files(run_id)):
        assert backend.read(file.path) == file.data


def test_a_writer_killed_at_any_moment_leaves_no_run_without_its_files(s3: Storage, base: str, tmp_path: Path) -> None:
    draws, backend = random.Random(20261130), s3.backend(base, tmp_path)
    for moment in range(3):
        writer = _writer(s3, base, tmp_path, 10**6, f"k{moment}")
        assert writer.stdout is not None
        assert [writer.stdout.readline() for _ in range(2)] == [b"ready\n", b"one\n"]
        time.sleep(draws.uniform(0.02, 0.2))
        writer.kill()
        writer.communicate()
        assert writer.returncode == -signal.SIGKILL
    there = set(paths(backend))
    runs = [Path(path).stem for path in there if path.startswith("runs/")]
    assert {run_id.partition("-")[0] for run_id in runs} == {"k0", "k1", "k2"}
    for file in (file for run_id in runs for file in run_files(run_id)):
        assert file.path in there
        assert backend.read(file.path) == file.data


def test_a_long_listing_is_of_one_moment(s3: Storage, base: str, tmp_path: Path) -> None:
    other = s3.backend(base, tmp_path)
    for number in range(4):
        other.add(run_files(f"r{number}"))
    with in_front(s3) as front:
        front.most_keys = 3
        reader = front.storage.backend(base, tmp_path)
        assert paths(reader) == expected("r0", "r1", "r2", "r3")
        assert len([seen for seen in front.seen if "continuation-token" in seen]) > 5
        done: list[str] = []

        def add_midway(method: str, path: str) -> None:
            """Another run arrives when half of the rest is listed."""
            if "continuation-token" in path and "prefix" in path and "/runs/" not in path and not done:
                done.append("run")
                other.add(run_files("r9"))

        front.rule = add_midway
        found = paths(reader)
        assert done
        assert [path for path in found if path.startswith("runs/")] == [f"runs/{DAY}/r{n}.parquet" for n in range(4)]
        assert set(expected("r0", "r1", "r2", "r3")) <= set(found)
        done.clear()
        pack = [StoreFile(path=f"{t}/date=2026-11-01/pack-1.parquet", data=b"p") for t in ("accuracy", "runs")]
        gone = [f"{t}/{DAY}/r{n}.parquet" for t in ("runs", "accuracy", "timings") for n in (0, 1, 2, 3)]

        def compact_midway(method: str, path: str) -> None:
            """A compaction goes by then."""
            if "continuation-token" in path and "/runs/" not in path and not done:
                done.append("pack")
                other.exchange(pack, gone)

        front.rule = compact_midway
        found = paths(reader)
        assert done
    assert [path for path in found if path.startswith("runs/")] == sorted([pack[1].path, f"runs/{DAY}/r9.parquet"])
    assert pack[0].path in found


def test_a_copy_for_reading_follows(storage: Storage, base: str, tmp_path: Path) -> None:
    backend = storage.backend(base, tmp_path / "cache")
    with pytest.raises(StoreError, match="nothing was stored there yet"):
        backend.mirror()
    backend.add(run_files("r1"))
    backend.add(run_files("r2"))
    assert _copied(backend) == {path for path in expected("r1", "r2") if not path.startswith("bundles/")}
    backend.exchange([], [f"{t}/{DAY}/r1.parquet" for t in ("runs", "accuracy", "timings")])
    root = backend.mirror().root
    assert _copied(backend) == {path for path in expected("r2") if not path.startswith("bundles/")}
    assert (root / f"timings/{DAY}/r2.parquet").read_bytes() == b"timings"


def _copied(backend: ObjectBackend) -> set[str]:
    mirror = backend.mirror()
    assert mirror.note == ""
    return {path.relative_to(mirror.root).as_posix() for path in mirror.root.rglob("*") if path.is_file()}


def _writer(storage: Storage, base: str, cache: Path, runs: int, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, storage.scheme, storage.address, base, str(cache), str(runs), name]
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(opsdebug_ci.__file__).parents[1])])
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE)
