"""Many processes that record runs in one bucket at the same time, by hand: every row is there, once.

    python tests/endurance/bucket_writers.py 40 5

Starts a server of object storage on this machine, and that many writers with that many runs each; then again through a
server in front that answers every tenth request with 503 or not at all. Says how long each took. The server is one
Python process, so times are those of the machine, not of a bucket.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "store"), str(HERE.parents[1])]

from object_servers import KEY, SECRET, Answer, Storage, in_front, running  # noqa: E402 - found through the path above

from opsdebug_ci.store.backends import open_store  # noqa: E402 - as above
from opsdebug_ci.store.query import query  # noqa: E402 - as above

WRITER = """
import hashlib, os, sys, time
from dataclasses import replace
from store_documents import run_document
from opsdebug_ci.store.backends import open_store

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

FAULTS = (Answer(status=503, code="SlowDown"), Answer(status=0))
SHARE = 0.1


def write(storage: Storage, base: str, writers: int, runs: int, cache: Path) -> None:
    """Let them write, and say what is there afterwards."""
    environ = {
        **os.environ,
        "AWS_ENDPOINT_URL": storage.address,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "OPSDEBUG_CACHE": str(cache),
        "PYTHONPATH": os.pathsep.join(sys.path[:2]),
    }
    location = f"s3://bucket/{base}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, location, f"w{number}", str(runs)],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(writers)
    ]
    begun = time.monotonic()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    appended = [float(line) for process in processes for line in process.communicate()[0].split()]
    took_s = time.monotonic() - begun
    failed = [process.returncode for process in processes if process.returncode]
    expected = {f"w{writer}-{number}" for writer in range(writers) for number in range(runs)}
    mirror = open_store(location, environ=environ).mirror()
    visible = [str(row[0]) for row in query(mirror.root, "select id from runs").rows]
    rows = query(mirror.root, "select run_id, count(*) from accuracy group by 1").rows
    bundles = open_store(location, environ=environ).bundles()
    assert not failed, failed
    assert sorted(visible) == sorted(expected)
    assert {str(run): count for run, count in rows} == dict.fromkeys(expected, CASES)
    assert len(bundles) == len(expected)
    print(  # noqa: T201 - its result
        f"{base}: {writers} writers, {len(visible)} runs, {CASES * len(rows)} rows, {len(bundles)} bundles, none lost, "
        f"none twice; {took_s:.1f} s in all; an append took {statistics.median(appended):.2f} s in the median, "
        f"{max(appended):.2f} s at most"
    )


def main(writers: int, runs: int) -> None:
    """Once with a server that answers, once with one that often does not."""
    draws = random.Random(7)
    with tempfile.TemporaryDirectory() as cache, running("s3") as (storage, _):
        storage.make_bucket("bucket")
        write(storage, "calm", writers, runs, Path(cache))
        with in_front(storage) as front:
            front.rule = lambda method, path: draws.choice(FAULTS) if draws.random() < SHARE else None
            write(front.storage, "faulty", writers, runs, Path(cache))
            print(f"requests: {len(front.seen)}, of which about {SHARE:.0%} failed")  # noqa: T201 - its result


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
