"""The copy of a store that lies elsewhere; what is elsewhere is a mapping, so that every moment can be chosen."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import opsdebug_ci
from opsdebug_ci.errors import StoreError, StoreUnreachableError
from opsdebug_ci.store.places.backend import StoreEntry
from opsdebug_ci.store.places.cache import cache_directory, store_place
from opsdebug_ci.store.places.mirroring import LEFT_S, mended, mirrored, synchronise, synchronised_at

DAY = "date=2026-11-29"
MARKER = "opsdebug-store.json"


def store(*runs: str, pack: str = "") -> dict[str, bytes]:
    """Files of a store with these runs, and a pack."""
    named = [*runs, *([pack] if pack else [])]
    files = {
        f"{table}/{DAY}/{name}.parquet": f"{table} {name}".encode() for name in named for table in ("accuracy", "runs")
    }
    return {
        MARKER: b"{}",
        f"acceptances/{DAY}/a.parquet": b"a",
        "bundles/ab/" + "ab" * 32 + ".opsbundle": b"b",
        **files,
    }


class Place:
    """A store elsewhere, and what the copy was like at every read."""

    def __init__(self, directory: Path, files: dict[str, bytes]) -> None:
        self.directory = directory
        self.files = files
        self.seen: list[set[str]] = []
        self.read: list[str] = []

    def entries(self) -> list[StoreEntry]:
        return [StoreEntry(path=path, size_bytes=len(data)) for path, data in self.files.items()]

    def read_many(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            self.seen.append(self.copy())
            self.read.append(path)
            if path in self.files:
                yield path, self.files[path]

    def copy(self) -> set[str]:
        root = self.directory / "store"
        return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}

    def synchronise(self) -> Path:
        return synchronise(self.entries, self.read_many, self.directory)


def kept(files: dict[str, bytes]) -> set[str]:
    return {path for path in files if not path.startswith("bundles/")}


def test_what_makes_rows_visible_comes_last_and_bundles_not_at_all(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one", "two"))
    root = place.synchronise()
    assert place.copy() == kept(place.files)
    assert {path: (root / path).read_bytes() for path in place.copy()} == {p: place.files[p] for p in place.copy()}
    assert [path.partition("/")[0] for path in place.read] == [
        MARKER,
        "accuracy",
        "accuracy",
        "acceptances",
        "runs",
        "runs",
    ]


def test_only_the_difference_is_read(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one"))
    place.synchronise()
    place.files, place.read = store("one", "two"), []
    place.synchronise()
    assert place.read == [MARKER, f"accuracy/{DAY}/two.parquet", f"runs/{DAY}/two.parquet"]


def test_a_file_that_was_cut_short_is_read_again(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one"))
    path = place.synchronise() / f"accuracy/{DAY}/one.parquet"
    path.write_bytes(b"")
    place.synchronise()
    assert path.read_bytes() == b"accuracy one"


def test_a_file_that_somebody_wrote_to_is_read_again(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one"))
    path = place.synchronise() / f"accuracy/{DAY}/one.parquet"
    path.write_bytes(b"x" * path.stat().st_size)
    later_ns = (tmp_path / "synchronised").stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later_ns, later_ns))
    place.read = []
    place.synchronise()
    assert path.read_bytes() == b"accuracy one"
    assert place.read == [MARKER, f"accuracy/{DAY}/one.parquet"]


def test_a_bad_file_is_read_again_when_it_is_named(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one"))
    path = f"accuracy/{DAY}/one.parquet"
    copy = place.synchronise() / path
    os.utime(tmp_path / "synchronised", ns=(2**62, 2**62))
    copy.write_bytes(b"x" * copy.stat().st_size)
    place.synchronise()
    assert copy.read_bytes() != b"accuracy one", "its name, size and time say nothing"
    place.read = []
    os.utime(tmp_path / "synchronised", ns=(2**62, 2**62))
    assert mended(place.entries, place.read_many, tmp_path, [path, "../outside"])
    assert place.read == [MARKER, path]
    assert copy.read_bytes() == b"accuracy one"
    assert not mended(place.entries, place.read_many, tmp_path, [path]), "what is elsewhere is bad itself"


def test_without_locks_a_store_elsewhere_is_told_and_nothing_else_fails(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['fcntl'] = None\n"
        "from pathlib import Path\n"
        "import opsdebug_ci.store.places.objects, opsdebug_ci.store.places.branch\n"
        "from opsdebug_ci.errors import EnvironmentLimitError\n"
        "from opsdebug_ci.store.places.mirroring import synchronise\n"
        "try:\n    synchronise(list, list, Path(sys.argv[1]))\n"
        "except EnvironmentLimitError as error:\n    print(error)\n"
    )
    around = {**os.environ, "PYTHONPATH": str(Path(opsdebug_ci.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=around, capture_output=True, text=True, check=False
    )
    assert "wanted Linux or macOS" in done.stdout, done.stderr


def test_a_pack_is_there_before_what_it_stands_for_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, store("one", "two"))
    place.synchronise()
    before = place.copy()
    place.files, place.seen = store("two", pack="pack-1"), []
    gone: list[str] = []
    unlink = Path.unlink

    def watched(path: Path, missing_ok: bool = False) -> None:
        gone.append(path.relative_to(tmp_path / "store").as_posix())
        assert kept(place.files) <= place.copy()
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", watched)
    place.synchronise()
    assert all(before <= seen for seen in place.seen)
    assert gone == [f"runs/{DAY}/one.parquet", f"accuracy/{DAY}/one.parquet"]
    assert place.copy() == kept(place.files)


def test_files_that_vanish_while_they_are_read_make_another_listing(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one", "two"))

    def vanishing(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        if place.files == store("one", "two") and f"accuracy/{DAY}/one.parquet" in paths:
            place.files = store("two", pack="pack-1")
        yield from place.read_many(paths)

    synchronise(place.entries, vanishing, tmp_path)
    assert place.copy() == kept(place.files)
    assert all(f"runs/{DAY}/one.parquet" not in seen for seen in place.seen)


def test_a_store_that_never_holds_still_is_told(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one"))
    with pytest.raises(StoreError, match="were removed while they were read"):
        synchronise(place.entries, lambda paths: [], tmp_path)
    assert f"runs/{DAY}/one.parquet" not in place.copy()
    assert synchronised_at(tmp_path) is None


def test_no_path_of_a_stranger_is_followed(tmp_path: Path) -> None:
    files = {
        **store("one"),
        "../../out": b"x",
        "/out": b"x",
        f"runs/{DAY}/../../../out.parquet": b"x",
        "notes.txt": b"x",
    }
    place = Place(tmp_path / "in" / "there", files)
    place.synchronise()
    assert place.copy() == kept(store("one"))
    assert not list(tmp_path.rglob("out*"))


def test_what_killed_writers_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one"))
    root = place.synchronise()
    old, young = (root / "runs" / DAY / f".opsdebug-{name}.tmp" for name in ("old", "young"))
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (time.time() - LEFT_S - 60,) * 2)
    place.synchronise()
    assert not old.exists()
    assert young.exists()


def test_one_process_at_a_time_and_the_next_lists_what_is_there_then(tmp_path: Path) -> None:
    first, second = Place(tmp_path, store("one")), Place(tmp_path, store("one"))
    begun, told = threading.Event(), threading.Event()

    def slow(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        begun.set()
        assert told.wait(30)
        yield from first.read_many(paths)

    def waiting(doing: str, done: int, of: int) -> None:
        if doing.startswith("waiting"):
            second.files = store("one", "two")
            told.set()

    holder = threading.Thread(target=lambda: synchronise(first.entries, slow, tmp_path))
    holder.start()
    assert begun.wait(30)
    synchronise(second.entries, second.read_many, tmp_path, waiting)
    holder.join()
    assert second.copy() == kept(store("one", "two"))
    assert f"runs/{DAY}/one.parquet" not in second.read, "the first had brought it"


PULLER = """
import sys
from pathlib import Path
from opsdebug_ci.store.places.backend import StoreEntry
from opsdebug_ci.store.places.mirroring import synchronise

paths = [f"{table}/date=2026-11-29/run{number}.parquet" for table in ("accuracy", "runs") for number in range(400)]
files = {path: path.encode() for path in ["opsdebug-store.json", *paths]}
print("ready", flush=True)
entries = [StoreEntry(path=path, size_bytes=len(data)) for path, data in files.items()]
synchronise(lambda: entries, lambda paths: [(path, files[path]) for path in paths], Path(sys.argv[1]))
"""
"""Copies a store of 400 runs."""

MOMENTS = 4


def test_a_puller_killed_at_any_moment_leaves_runs_whole_or_not_at_all(tmp_path: Path) -> None:
    draws = random.Random(20261130)
    around = {**os.environ, "PYTHONPATH": str(Path(opsdebug_ci.__file__).parents[1])}
    for moment in range(MOMENTS):
        directory = tmp_path / str(moment)
        command = [sys.executable, "-c", PULLER, str(directory)]
        puller = subprocess.Popen(command, env=around, stdout=subprocess.PIPE)
        assert puller.stdout is not None
        assert puller.stdout.readline() == b"ready\n"
        time.sleep(draws.uniform(0.0, 0.05))
        puller.kill()
        puller.communicate()
        there = Place(directory, {}).copy()
        shown = {path for path in there if path.startswith("runs/") and path.endswith(".parquet")}
        assert {path.replace("runs/", "accuracy/") for path in shown} <= there
        subprocess.run(command, env=around, check=True, capture_output=True)
        assert len([path for path in Place(directory, {}).copy() if ".opsdebug-" not in path]) == 801


def test_a_place_that_cannot_be_reached_gives_the_copy_with_a_note(tmp_path: Path) -> None:
    place = Place(tmp_path, store("one"))

    def away() -> list[StoreEntry]:
        raise StoreUnreachableError("no such host", next_step="look at the network")

    with pytest.raises(StoreUnreachableError, match="no such host"):
        mirrored("branch:x", away, place.read_many, tmp_path)
    place.synchronise()
    at = synchronised_at(tmp_path)
    assert at is not None
    copy = mirrored("branch:x", away, place.read_many, tmp_path)
    assert copy.root == tmp_path / "store"
    assert copy.note == (
        f"answering from the copy of {at:%Y-%m-%d %H:%M:%S} UTC: store `branch:x` could not be reached (no such host)"
    )


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = Place(tmp_path / "file", store("one"))
    with pytest.raises(StoreError, match="cannot keep a copy of the store") as told:
        place.synchronise()
    assert "OPSDEBUG_CACHE" in told.value.next_step


def test_where_the_cache_is(tmp_path: Path) -> None:
    own = {"OPSDEBUG_CACHE": str(tmp_path / "a"), "XDG_CACHE_HOME": str(tmp_path / "b"), "HOME": str(tmp_path / "c")}
    assert cache_directory(own) == tmp_path / "a"
    assert cache_directory({**own, "OPSDEBUG_CACHE": ""}) == tmp_path / "b" / "opsdebug"
    assert cache_directory({"HOME": str(tmp_path / "c")}) == tmp_path / "c" / ".cache" / "opsdebug"
    assert store_place(own, "one") != store_place(own, "two")
    assert store_place(own, "one").parent == tmp_path / "a" / "stores"
