"""Appending: whole or not at all, whoever else writes, whatever kills the writer, at the same cost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from store_documents import CALIBRATION, run_document

import opsdebug_ci
from opsdebug_ci.errors import StoreError, StoreFormatError
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query

WRITER = """
import os, signal, sys
from store_documents import CALIBRATION, run_document
from opsdebug_ci.store.places.backends import open_store

store, mode, run_id, limit = open_store(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
seen = []

def watch(event, arguments):
    if event in mode.split(","):
        seen.append(str(arguments[0]))
        if limit and len(seen) == limit:
            os.kill(os.getpid(), signal.SIGKILL)

document = run_document("add:pass gelu:fail/f1", run_id)
if mode != "none":
    sys.addaudithook(watch)
store.append(document, [CALIBRATION])
print("\\n".join(seen))
"""
"""Appends one run; kills itself at the `limit`-th audit event named in `mode`, or prints what the events were about."""

RENAMES = 5
"""Of a first append: the marker, three tables, `runs`."""

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(opsdebug_ci.__file__).parents[1])]),
}


def start_writer(store: Path, run_id: str, mode: str = "none", limit: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(store), mode, run_id, str(limit)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(writer: subprocess.Popen[str]) -> str:
    output, errors = writer.communicate(timeout=300)
    assert (writer.returncode, errors) == (0, "")
    return output


def files(store: Path) -> list[str]:
    """Paths below the store, with the random part of temporary names scrubbed."""
    found = (path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file())
    return sorted(re.sub(r"\.[0-9a-f]{16}\.tmp$", ".RANDOM.tmp", name) for name in found)


def test_a_run_lies_where_the_layout_says(tmp_path: Path) -> None:
    open_store(tmp_path / "s").append(run_document("add:pass gelu:fail/f1"), [CALIBRATION])
    assert files(tmp_path / "s") == [
        "accuracy/date=2026-11-29/r1.parquet",
        "calibrations/date=2026-11-29/r1.parquet",
        "failures/date=2026-11-29/r1.parquet",
        "opsdebug-store.json",
        "runs/date=2026-11-29/r1.parquet",
    ]
    assert json.loads((tmp_path / "s" / "opsdebug-store.json").read_text()) == {
        "format_version": 2,
        "created_by": f"opsdebug-ci {opsdebug_ci.__version__}",
    }


@pytest.mark.slow
def test_twenty_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    ids = [f"r{number:02d}" for number in range(20)]
    for writer in [start_writer(tmp_path / "s", run_id) for run_id in ids]:
        finish(writer)
    assert query(tmp_path / "s", "select id from runs order by id").rows == tuple((run_id,) for run_id in ids)
    assert query(tmp_path / "s", "select count(*), count(distinct run_id) from accuracy").rows == ((40, 20),)
    assert query(tmp_path / "s", "select count(*) from failures").rows == ((20,),)
    assert query(tmp_path / "s", "select count(*) from calibrations").rows == ((40,),)


@pytest.mark.parametrize("limit", range(1, RENAMES))
def test_a_writer_killed_between_files_leaves_no_partial_run(tmp_path: Path, limit: int) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass", "r0"))
    killed = start_writer(tmp_path, "r1", "os.rename", limit)
    killed.communicate(timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert any(name.endswith(".RANDOM.tmp") for name in files(tmp_path))
    assert query(tmp_path, "select id from runs").rows == (("r0",),)
    assert query(tmp_path, "select distinct run_id from accuracy").rows == (("r0",),)
    assert query(tmp_path, "select count(*) from failures").rows == ((0,),)
    assert store.latest().run.id == "r0"
    finish(start_writer(tmp_path, "r1"))
    assert query(tmp_path, "select run_id, count(*) from accuracy group by 1 order by 1").rows == (("r0", 1), ("r1", 2))


def test_a_writer_killed_while_making_the_store_leaves_it_usable(tmp_path: Path) -> None:
    killed = start_writer(tmp_path / "s", "r1", "os.rename", 1)
    killed.communicate(timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert files(tmp_path / "s") == [".opsdebug-opsdebug-store.json.RANDOM.tmp"]
    finish(start_writer(tmp_path / "s", "r2"))
    assert open_store(tmp_path / "s").latest().run.id == "r2"


def test_runs_is_renamed_last(tmp_path: Path) -> None:
    names = re.findall(r"(\w+)(?:/date=[0-9-]+)?/\.opsdebug-", finish(start_writer(tmp_path / "s", "r1", "os.rename")))
    assert names == ["s", "accuracy", "calibrations", "failures", "runs"]


LISTINGS = "os.listdir,os.scandir,glob.glob"


def test_appending_to_a_store_lists_no_directory(tmp_path: Path) -> None:
    open_store(tmp_path).append(run_document("add:pass", "r0"))
    assert str(tmp_path) not in finish(start_writer(tmp_path, "r1", LISTINGS))


def test_the_watch_for_listings_sees_one(tmp_path: Path) -> None:
    assert str(tmp_path) in finish(start_writer(tmp_path, "r1", LISTINGS))


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass"))
    with pytest.raises(StoreError, match=r"already holds another `runs/date=2026-11-29/r1\.parquet`; wanted a new id"):
        store.append(run_document("add:fail"))
    assert store.load("r1") == run_document("add:pass")


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass", "r0"))
    (tmp_path / "accuracy" / "date=2026-11-29" / "r1.parquet").mkdir()
    with pytest.raises(StoreError, match="cannot write to store"):
        store.append(run_document("add:pass", "r1"))
    assert [name for name in files(tmp_path) if "r1" in name] == []


def test_a_missing_parent_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(tmp_path / "no" / "s").append(run_document("add:pass"))
    assert str(caught.value).replace(str(tmp_path), "TMP") == (
        "cannot write to store `TMP/no/s`: got `No such file or directory` at `TMP/no/s`; wanted a directory this "
        "user can write, or a name in one\n  next: set `store` to such a directory"
    )


def test_a_file_in_place_of_the_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    with pytest.raises(StoreError, match="File exists"):
        open_store(tmp_path / "s").append(run_document("add:pass"))
    with pytest.raises(StoreError, match="it is a file"):
        open_store(tmp_path / "s").latest()


@pytest.fixture
def unprivileged(tmp_path_factory: pytest.TempPathFactory) -> int:
    """A user whom permissions bind, for a writer process."""
    if os.name == "nt":
        pytest.skip("permission bits do not bind here")
    return 65534 if os.geteuid() == 0 else os.geteuid()


READ_ONLY_WRITER = """
import os, sys
from store_documents import run_document
from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.places.backends import open_store

os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.seteuid(int(sys.argv[2]))
try:
    open_store("s").append(run_document("add:pass", "r1"))
except StoreError as error:
    print(error)
else:
    print("stored")
"""


@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        (
            0o555,
            "cannot write to store `s`: got `Permission denied` at `s/accuracy`; wanted a directory this user can "
            "write, or a name in one\n  next: set `store` to such a directory\n",
        ),
        (0o777, "stored\n"),
    ],
)
def test_a_read_only_store_is_said(tmp_path: Path, unprivileged: int, mode: int, answer: str) -> None:
    store = tmp_path / "s"
    store.mkdir()
    (store / "opsdebug-store.json").write_text('{"format_version": 2, "created_by": "test"}')
    tmp_path.chmod(0o755)
    store.chmod(mode)
    command = [sys.executable, "-c", READ_ONLY_WRITER, str(tmp_path), str(unprivileged)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (answer, "")


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('{"format_version": 3}', "has format version 3; this opsdebug-ci .* reads up to 2"),
        ('{"format_version": "new"}', "has format version new"),
        ("{}", "is not a store's marker"),
        ("not json", "is not a store's marker"),
    ],
)
def test_a_store_of_a_newer_or_damaged_format_is_refused(tmp_path: Path, marker: str, message: str) -> None:
    (tmp_path / "opsdebug-store.json").write_text(marker)
    for access in (lambda store: store.append(run_document("add:pass")), lambda store: store.latest()):
        with pytest.raises(StoreFormatError, match=message):
            access(open_store(tmp_path))
    with pytest.raises(StoreFormatError, match=message):
        query(tmp_path, "select 1")


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(StoreFormatError, match="is not a store: it holds thesis"):
        open_store(tmp_path).append(run_document("add:pass"))
    assert files(tmp_path) == ["thesis.tex"]


def test_a_readme_and_dot_files_may_be_there_first(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("")
    (tmp_path / ".gitignore").write_text("")
    open_store(tmp_path).append(run_document("add:pass"))
    assert open_store(tmp_path).load("r1") == run_document("add:pass")
