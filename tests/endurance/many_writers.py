"""Many processes that record runs in one place at the same time, by hand: every row is there, once.

    python tests/endurance/many_writers.py 40 1 directory branch branch-that-declines bucket bucket-that-declines

Starts that many writers, with that many runs each, for every place named; each writer has a cache of its own, as if it
were on a machine of its own. Says how long all took, how long one append took, and on a branch how often a writer
pushed until it got through. Everything runs on this machine, so times are those of its cores.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "store"), str(HERE.parents[1])]

from branch_remotes import BRANCH, Forge, WatchedGit  # noqa: E402 - found through the path above
from object_servers import KEY, SECRET, Answer, Storage, in_front, running  # noqa: E402 - as above

from opsdebug_ci.store.places.backends import open_store  # noqa: E402 - as above
from opsdebug_ci.store.sql.query import query  # noqa: E402 - as above

WRITER = """
import hashlib, os, sys, time
from dataclasses import replace
from store_documents import run_document
from opsdebug_ci.store.places.backends import open_store

location, name, runs = sys.argv[1:]
store = open_store(location, environ=os.environ)
sys.stdin.readline()
for number in range(int(runs)):
    data = f"{name} {number} ".encode() * 1000
    document = run_document("add:pass gelu:fail/f1 gelu:fail/f2", f"{name}-{number}")
    named = tuple(replace(o, bundle=hashlib.sha256(data).hexdigest()) for o in document.observations)
    begun = time.monotonic()
    store.append(replace(document, observations=named), bundles=[data])
    print(time.monotonic() - begun, flush=True)
"""
CASES = 3
"""Of each run."""

DECLINES = """
draw=$(od -An -N1 -tu1 /dev/urandom)
[ $draw -lt 26 ] && { echo "! [rejected] (fetch first)" >&2; exit 1; }
[ $draw -lt 52 ] && { echo "error: cannot lock ref 'refs/heads/x': is at 1 but expected 2" >&2; exit 1; }
[ $draw -lt 77 ] && { echo "! [rejected] (stale info)" >&2; exit 1; }
exit 0
"""
"""A hook that declines three pushes of ten that were not overtaken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where they write."""

    location: str
    """Of the store."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """What they need to get there."""


@contextmanager
def in_directory(directory: Path) -> Iterator[Place]:
    """A directory."""
    yield Place(location=str(directory / "baselines"))


@contextmanager
def on_branch(directory: Path, hook: str = "") -> Iterator[Place]:
    """A branch of a bare repository, which may have a hook."""
    forge = Forge(directory)
    if hook:
        forge.hook(hook)
    yield Place(location=f"branch:{BRANCH}@{forge.url}")


@contextmanager
def in_bucket(directory: Path) -> Iterator[Place]:
    """A bucket."""
    with running("s3") as (storage, _):
        storage.make_bucket("bucket")
        yield bucket_of(storage)


@contextmanager
def in_declining_bucket(directory: Path) -> Iterator[Place]:
    """A bucket whose server answers every tenth request with 503, or not at all."""
    draws = random.Random(7)
    faults = (Answer(status=503, code="SlowDown"), Answer(status=0))
    with running("s3") as (storage, _), in_front(storage) as front:
        storage.make_bucket("bucket")
        front.rule = lambda method, path: draws.choice(faults) if draws.random() < 0.1 else None
        yield bucket_of(front.storage)


def bucket_of(storage: Storage) -> Place:
    """The bucket of a server, and the way there."""
    keys = {"AWS_ENDPOINT_URL": storage.address, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    return Place(location="s3://bucket/store", environ=keys)


PLACES: Mapping[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "directory": in_directory,
    "branch": on_branch,
    "branch-that-declines": lambda directory: on_branch(directory, DECLINES),
    "bucket": in_bucket,
    "bucket-that-declines": in_declining_bucket,
}


def start(place: Place, directory: Path, name: str, runs: int) -> subprocess.Popen[str]:
    """A writer that waits for a line."""
    watched = WatchedGit(directory / f"bin-{name}")
    environ = {
        **os.environ,
        **place.environ,
        "PATH": watched.path,
        "OPSDEBUG_CACHE": str(directory / f"cache-{name}"),
        "PYTHONPATH": os.pathsep.join(sys.path[:2]),
    }
    command = [sys.executable, "-c", WRITER, place.location, name, str(runs)]
    return subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def pushes(directory: Path) -> list[int]:
    """How often each writer pushed."""
    return [log.read_text().count(" push ") for log in directory.glob("bin-*/arguments")]


def write(name: str, make: Callable[[Path], AbstractContextManager[Place]], writers: int, runs: int) -> None:
    """Let them write, and say what is there afterwards."""
    with tempfile.TemporaryDirectory() as temporary, make(Path(temporary)) as place:
        directory = Path(temporary)
        processes = [start(place, directory, f"w{number}", runs) for number in range(writers)]
        begun = time.monotonic()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        appended = [float(line) for process in processes for line in process.communicate()[0].split()]
        took_s = time.monotonic() - begun
        failed = [process.returncode for process in processes if process.returncode]
        expected = {f"w{writer}-{number}" for writer in range(writers) for number in range(runs)}
        environ = {**os.environ, **place.environ, "OPSDEBUG_CACHE": str(directory / "cache")}
        store = open_store(place.location, environ=environ)
        root = store.mirror().root
        visible = [str(row[0]) for row in query(root, "select id from runs").rows]
        rows = Counter(str(row[0]) for row in query(root, "select run_id from accuracy").rows)
        bundles = store.bundles()
        assert not failed, failed
        assert sorted(visible) == sorted(expected)
        assert rows == dict.fromkeys(expected, CASES)
        assert len(bundles) == len(expected)
        tries = pushes(directory)
        told = (
            f"; pushes of one writer: {statistics.median(tries):g} in the median, {max(tries)} at most" if tries else ""
        )
        print(  # noqa: T201 - its result
            f"{name}: {writers} writers, {len(visible)} runs, {rows.total()} rows, {len(bundles)} bundles, none lost, "
            f"none twice; {took_s:.1f} s in all; an append took {statistics.median(appended):.2f} s in the median, "
            f"{max(appended):.2f} s at most{told}",
            flush=True,
        )


def main(writers: int, runs: int, *names: str) -> None:
    """Every place named, one after the other."""
    for name in names or PLACES:
        write(name, PLACES[name], writers, runs)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
