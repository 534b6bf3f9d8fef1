"""Killed at any moment, nobody leaves anything half done that is visible, nor takes anything with it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_documents import run_document
from store_wholeness import broken_parts

import opsdebug_ci
from opsdebug_ci.store.places.backends import open_store

pytestmark = pytest.mark.slow

WRITER = """
import hashlib, sys
from dataclasses import replace
from store_documents import run_document
from opsdebug_ci.store.places.backends import open_store

store = open_store(sys.argv[1])
print("ready", flush=True)
for number in range(10**6):
    data = f"{sys.argv[2]} {number} ".encode() * 100_000
    document = run_document("add:pass gelu:fail/f1 gelu:fail/f2", f"{sys.argv[2]}-{number}")
    named = tuple(replace(o, bundle=hashlib.sha256(data).hexdigest()) for o in document.observations)
    store.put_bundle(data)
    store.append(replace(document, observations=named))
"""
"""Records runs, each with a bundle of about a megabyte, until it is killed."""

MOMENTS = 4


@pytest.fixture
def draws() -> random.Random:
    return random.Random(20261130)


def test_nothing_half_written_is_ever_visible(tmp_path: Path, draws: random.Random) -> None:
    store = tmp_path / "baselines"
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(opsdebug_ci.__file__).parents[1])])
    for moment in range(MOMENTS):
        command = [sys.executable, "-c", WRITER, str(store), f"run{moment}"]
        writer = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(draws.uniform(0.0, 0.1))
        writer.kill()
        writer.communicate()
        assert writer.returncode == -signal.SIGKILL
        assert broken_parts(store) == []
    open_store(store).append(run_document("add:pass", "last"))
    assert open_store(store).load("last").run.id == "last"
    assert broken_parts(store) == []


def moments(number: int, *roles: str) -> subprocess.CompletedProcess[str]:
    """So many processes of each role killed, by a process that has no threads."""
    script = Path(__file__).with_name("store_moments.py")
    return subprocess.run(
        [sys.executable, str(script), str(number), "directory", *roles], capture_output=True, text=True, check=False
    )


def test_neither_a_compactor_nor_a_pruner_takes_anything_with_it() -> None:
    ended = moments(MOMENTS, "compactor", "pruner")
    assert (ended.returncode, ended.stderr) == (0, "")
    told = [line.partition(";")[0] for line in ended.stdout.splitlines()]
    assert told == [f"{role} of a directory: killed {MOMENTS} times" for role in ("compactor", "pruner")]


def test_a_run_that_is_shown_before_its_rows_is_found() -> None:
    ended = moments(1, "careless")
    assert ended.returncode == 1
    assert "wrong m0-0 has 0 cases" in ended.stdout


def test_a_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass gelu:fail/f1", "one"))
    sha256 = store.put_bundle(b"a bundle")
    path = tmp_path / "bundles" / sha256[:2] / f"{sha256}.opsbundle"
    path.write_bytes(b"a bund")
    assert broken_parts(tmp_path) == [f"bundle {path}"]
    [cases] = tmp_path.glob("accuracy/*/*.parquet")
    cases.unlink()
    assert broken_parts(tmp_path)[1:] == ["run one without some of its cases"]
