"""Many writers to one branch, and what happens between a look at it and the push; the truth is what git there has."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from branch_remotes import BRANCH, BRISK, DAY, Forge, WatchedGit, paths_of, run_files

import opsdebug_ci
from opsdebug_ci.errors import StoreError
from opsdebug_ci.git.patience import Patience
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.branch import BranchBackend

pytestmark = pytest.mark.slow

MOODY = """
draw=$(od -An -N1 -tu1 /dev/urandom)
[ $draw -lt 50 ] && { echo "error: cannot lock ref 'refs/heads/x'" >&2; exit 1; }
[ $draw -lt 90 ] && { echo "! [rejected] (fetch first)" >&2; exit 1; }
[ $draw -lt 110 ] && { echo "come again later" >&2; exit 1; }
exit 0
"""
"""A hook that declines four pushes of ten, for reasons of every kind."""

WRITERS = 6
RUNS_EACH = 1


def write(forge: Forge, writer: int) -> None:
    backend = forge.backend(f"cache{writer}")
    for number in range(RUNS_EACH):
        backend.add(run_files(f"w{writer}-{number}", f"bundle {writer} {number}".encode()))


def shared(forge: Forge, old: str, new: str) -> str:
    """Files of one commit that the next one lacks."""
    return forge.git("diff", "--diff-filter=DM", "--name-only", old, new)


@pytest.mark.parametrize("hook", ["exit 0", MOODY], ids=["calm", "moody"])
def test_no_file_of_any_writer_is_lost(hook: str, tmp_path: Path) -> None:
    forge = Forge(tmp_path)
    forge.hook(hook)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(forge, number)) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    expected = [
        file
        for writer in range(WRITERS)
        for number in range(RUNS_EACH)
        for file in run_files(f"w{writer}-{number}", f"bundle {writer} {number}".encode())
    ]
    assert forge.files() == {"opsdebug-store.json", *(file.path for file in expected)}
    assert [forge.file(file.path) for file in expected] == [file.data.decode() for file in expected]
    commits = forge.git("rev-list", "--reverse", BRANCH).splitlines()
    assert len(commits) == WRITERS * RUNS_EACH
    assert [shared(forge, *pair) for pair in itertools.pairwise(commits)] == [""] * (len(commits) - 1)


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


@pytest.fixture
def watched(tmp_path: Path) -> WatchedGit:
    return WatchedGit(tmp_path / "bin")


def test_another_first_writer_between_look_and_push(forge: Forge, watched: WatchedGit) -> None:
    other = forge.put(
        "waiting", **{"opsdebug-store.json": '{"format_version": 1}', f"runs__{DAY}__other.parquet": "other"}
    )
    watched.pushing(f"git -C '{forge.path}' update-ref refs/heads/{BRANCH} {other}", "")
    forge.backend(PATH=watched.path).add(run_files("one"))
    assert forge.files() == {*paths_of("one"), f"runs/{DAY}/other.parquet"}
    assert forge.git("rev-parse", f"{BRANCH}^") == other


def test_a_branch_deleted_between_look_and_push_is_made_anew(forge: Forge, watched: WatchedGit) -> None:
    forge.backend().add(run_files("old"))
    watched.pushing(f"git -C '{forge.path}' update-ref -d refs/heads/{BRANCH}", "")
    forge.backend(PATH=watched.path).add(run_files("one"))
    assert forge.files() == paths_of("one")
    assert forge.git("rev-list", "--count", BRANCH) == "1"


def test_a_branch_rewritten_between_look_and_push_is_written_as_it_is_now(forge: Forge, watched: WatchedGit) -> None:
    for run in ("old", "older"):
        forge.backend().add(run_files(run))
    rewritten = forge.put(
        "waiting", **{"opsdebug-store.json": '{"format_version": 1}', f"runs__{DAY}__kept.parquet": "kept"}
    )
    watched.pushing(f"git -C '{forge.path}' update-ref refs/heads/{BRANCH} {rewritten}", "")
    forge.backend(PATH=watched.path).add(run_files("one"))
    assert forge.files() == {*paths_of("one"), f"runs/{DAY}/kept.parquet"}
    assert forge.git("rev-parse", f"{BRANCH}^") == rewritten


def test_a_compaction_keeps_what_was_added_between_look_and_push(forge: Forge, watched: WatchedGit) -> None:
    backend = forge.backend()
    backend.add(run_files("one"))
    tip = forge.git("rev-parse", BRANCH)
    backend.add(run_files("late"))
    late = forge.git("rev-parse", BRANCH)
    forge.git("update-ref", f"refs/heads/{BRANCH}", tip)
    watched.pushing(f"git -C '{forge.path}' update-ref refs/heads/{BRANCH} {late}", "")
    pack = StoreFile(path="runs/date=2026-11-01/pack-1.parquet", data=b"pack")
    forge.backend(PATH=watched.path).exchange([pack], [file.path for file in run_files("one")])
    assert forge.files() == {*paths_of("late"), pack.path}
    assert forge.git("rev-list", "--count", BRANCH) == "1"


def test_a_lost_answer_is_found_out(forge: Forge, watched: WatchedGit) -> None:
    watched.pushing("", "echo 'fatal: the remote end hung up unexpectedly' >&2; code=128")
    forge.backend(PATH=watched.path).add(run_files("one"))
    assert forge.files() == paths_of("one")
    assert forge.git("rev-list", "--count", BRANCH) == "1"
    assert watched.log.read_text().count(" push ") == 1


@pytest.mark.parametrize(
    ("says", "tries", "named", "advised"),
    [
        ("GH006: Protected branch update failed for refs/heads/x.", 1, "protected", "protection rules"),
        ("GitLab: You are not allowed to push code to protected branches on this project.", 1, "protected", "rules"),
        ("remote: Permission to o/r.git denied to bot.", 1, "authentication", "permissions: contents: write"),
        ("No space left on device", 1, "unwritable", "make room"),
        ("commits must name an issue", 8, "declined", "hook"),
        ("cannot lock ref", 40, "overtaken", "fewer others write"),
    ],
)
def test_what_stays_refused_is_told_once_it_is_clear(
    says: str, tries: int, named: str, advised: str, forge: Forge, watched: WatchedGit
) -> None:
    forge.hook(f'echo "{says}" >&2; exit 1')
    with pytest.raises(StoreError) as told:
        quick(forge, watched).add(run_files("one"))
    assert says in told.value.message
    assert f"({named})" in told.value.message
    assert "nothing was changed there" in told.value.message
    assert advised in told.value.next_step
    assert watched.log.read_text().count(" push ") == tries
    assert forge.git("for-each-ref") == ""


def quick(forge: Forge, watched: WatchedGit) -> BranchBackend:
    """A writer that never pauses."""
    around = {"PATH": watched.path, "OPSDEBUG_CACHE": str(forge.directory / "cache")}
    patience = Patience(sleep=lambda seconds: None)
    return BranchBackend(f"branch:{BRANCH}@{forge.url}", forge.directory, around, writing=patience)


def test_a_writer_that_may_not_write_finds_out_before(forge: Forge) -> None:
    forge.backend().add(run_files("one"))
    tip = forge.git("rev-parse", BRANCH)
    forge.git("config", "receive.denyDeletes", "true")
    forge.backend().check_writable()
    assert forge.git("rev-parse", BRANCH) == tip
    (forge.path / "objects").rename(forge.path / "hidden")
    with pytest.raises(StoreError):
        forge.backend().check_writable()


WRITER = """
import sys
from pathlib import Path
from branch_remotes import Forge, run_files

forge = Forge.__new__(Forge)
forge.directory, forge.path, forge.url = Path(sys.argv[1]), Path(sys.argv[2]), "file://" + sys.argv[2]
backend = forge.backend()
print("ready", flush=True)
for number in range(10**6):
    run = f"{sys.argv[3]}-{number}"
    backend.add(run_files(run))
    print(run, flush=True)
"""
"""Records runs and acknowledges them, until it is killed."""

MOMENTS = 4


def test_a_writer_killed_at_any_moment_loses_nothing_acknowledged(forge: Forge) -> None:
    draws = random.Random(20261130)
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(opsdebug_ci.__file__).parents[1])])
    acknowledged: set[str] = set()
    for moment in range(MOMENTS):
        command = [sys.executable, "-c", WRITER, str(forge.directory), str(forge.path), f"k{moment}"]
        writer = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(draws.uniform(0.0, 0.3))
        writer.kill()
        acknowledged |= set(writer.communicate()[0].split())
        assert writer.returncode == -signal.SIGKILL
        there = forge.files() if forge.git("for-each-ref") else paths_of()
        whole = {Path(name).stem for name in there if name.startswith("runs/")}
        assert acknowledged <= whole
        assert there == paths_of(*whole)
    forge.backend().add(run_files("last"))
    assert paths_of("last", *acknowledged) <= forge.files()


def test_pauses_are_drawn_between_nothing_and_a_bound_that_doubles() -> None:
    slept: list[float] = []
    bounds: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        bounds.append((low, high))
        return high

    patience = Patience(
        tries=9, first_s=1.0, longest_s=10.0, sleep=slept.append, monotonic=lambda: sum(slept), draw=draw
    )
    assert list(patience.attempts()) == list(range(1, 10))
    assert bounds == [(0.0, bound) for bound in (2.0, 4.0, 8.0, 10.0, 10.0, 10.0, 10.0, 10.0)]
    slept.clear()
    assert list(
        Patience(limit_s=25.0, first_s=1.0, sleep=slept.append, monotonic=lambda: sum(slept), draw=draw).attempts()
    ) == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert BRISK.tries == 40


def test_the_first_pause_is_as_long_as_a_try_may_take() -> None:
    bounds: list[float] = []
    now = [0.0]

    def draw(low: float, high: float) -> float:
        bounds.append(high)
        return high

    patience = Patience(
        tries=5,
        first_s=0.1,
        longest_s=10.0,
        sleep=lambda _: None,
        monotonic=lambda: now[0],
        draw=draw,
    )
    for _, took_s in zip(patience.attempts(), (0.0, 2.0, 0.01, 1.0, 0.0), strict=True):
        now[0] += took_s
    assert bounds == [0.2, 8.0, 0.8, 10.0]
