"""The store and bundles under attack: A26 to A30."""

from __future__ import annotations

import io
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attack_list import attack, twin

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))
sys.path.insert(0, str(Path(__file__).parents[1] / "bundles"))

from branch_remotes import BRANCH, DAY, Forge, WatchedGit, executable, paths_of, run_files
from bundles_hostile import GOOD, zipped
from store_documents import run_document

from opsdebug_ci.cli import outcome
from opsdebug_ci.errors import BundleError, QueryError, StoreError
from opsdebug_ci.failures.bundle_reader import read_bundle
from opsdebug_ci.git.patience import Patience
from opsdebug_ci.store.files.soundness import MOST_GROUP_ROWS
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.places.branch import BranchBackend
from opsdebug_ci.store.sql.query import query

Told = Callable[..., tuple[int, str, str]]

MOODY = """
draw=$(od -An -N1 -tu1 /dev/urandom)
[ $draw -lt 60 ] && { echo "error: cannot lock ref 'refs/heads/x'" >&2; exit 1; }
[ $draw -lt 100 ] && { echo "! [rejected] (fetch first)" >&2; exit 1; }
exit 0
"""
"""A hook that declines two pushes of five."""

WRITERS = 6


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


@attack("A26")
def test_six_writers_at_once_lose_nothing(forge: Forge) -> None:
    """Forty, and a branch that is calm, are shown by tests/endurance/many_writers.py."""
    forge.hook(MOODY)
    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(lambda n: forge.backend(f"cache{n}").add(run_files(f"w{n}")), range(WRITERS)))
    assert forge.files() == paths_of(*(f"w{n}" for n in range(WRITERS)))
    assert forge.git("rev-list", "--count", BRANCH) == str(WRITERS)


@attack("A26")
@pytest.mark.parametrize(
    "meanwhile",
    [
        "made by another",
        pytest.param("deleted", marks=pytest.mark.slow),
        pytest.param("rewritten", marks=pytest.mark.slow),
    ],
)
def test_what_happens_between_look_and_push_costs_nothing(meanwhile: str, forge: Forge, tmp_path: Path) -> None:
    kept = {"opsdebug-store.json": '{"format_version": 1}', f"runs__{DAY}__kept.parquet": "kept"}
    other = forge.put("waiting", **kept)
    if meanwhile != "made by another":
        forge.backend().add(run_files("old"))
    watched = WatchedGit(tmp_path / "bin")
    moved = f"-d refs/heads/{BRANCH}" if meanwhile == "deleted" else f"refs/heads/{BRANCH} {other}"
    watched.pushing(f"git -C '{forge.path}' update-ref {moved}", "")
    forge.backend(PATH=watched.path).add(run_files("one"))
    there = set() if meanwhile == "deleted" else {f"runs/{DAY}/kept.parquet"}
    assert forge.files() == {*paths_of("one"), *there}


@attack("A26")
@pytest.mark.parametrize(
    ("says", "tries", "named"),
    [
        ("GH006: Protected branch update failed for refs/heads/x.", 1, "protected"),
        ("remote: Permission to o/r.git denied to bot.", 1, "authentication"),
        ("cannot lock ref", 5, "overtaken"),
    ],
)
def test_what_stays_refused_is_said_and_changes_nothing(
    says: str, tries: int, named: str, forge: Forge, tmp_path: Path
) -> None:
    forge.hook(f'echo "{says}" >&2; exit 1')
    watched = WatchedGit(tmp_path / "bin")
    around = {"PATH": watched.path, "OPSDEBUG_CACHE": str(tmp_path / "cache")}
    patience = Patience(tries=5, sleep=lambda seconds: None)
    with pytest.raises(StoreError) as told:
        BranchBackend(f"branch:{BRANCH}@{forge.url}", tmp_path, around, writing=patience).add(run_files("one"))
    assert f"({named})" in told.value.message
    assert "nothing was changed there" in told.value.message
    assert watched.log.read_text().count(" push ") == tries
    assert forge.git("for-each-ref") == ""


@twin("A26")
def test_one_writer_needs_one_push(forge: Forge, tmp_path: Path) -> None:
    watched = WatchedGit(tmp_path / "bin")
    forge.backend(PATH=watched.path).add(run_files("one"))
    assert forge.files() == paths_of("one")
    assert watched.log.read_text().count(" push ") == 1


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """What a command says in a directory with a store of one run, in a job of an event."""
    monkeypatch.chdir(tmp_path)
    open_store(tmp_path / "baselines").append(run_document("add:pass gelu:fail/f1", "r1", commit="c" * 40))
    open_store(tmp_path / "apart").append(run_document("add:pass", "r2", commit="d" * 40))

    def run(event: str, payload: object, *words: str) -> tuple[int, str, str]:
        (tmp_path / "event.json").write_text(json.dumps(payload), encoding="utf-8")
        for name, value in {
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_ACTOR": "maintainer",
        }.items():
            monkeypatch.setenv(name, value)
        code = outcome(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


PULL = {
    "repository": {"default_branch": "main"},
    "pull_request": {"number": 7, "head": {"sha": "a" * 40}, "base": {"sha": "b" * 40, "ref": "main"}},
}
GROUP = {
    "repository": {"default_branch": "main"},
    "merge_group": {"head_sha": "a" * 40, "base_sha": "b" * 40, "base_ref": "refs/heads/main"},
}
WRITES = {
    "push": ("baselines", "push", "--from", "apart"),
    "accept": ("baselines", "accept", "f1", "--reason", "I say so"),
    "prune": ("baselines", "prune", "--keep-runs", "1"),
    "compact": ("baselines", "compact"),
}


def names_in(store: Path) -> set[str]:
    return {path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file()}


@attack("A27")
@pytest.mark.parametrize("doing", WRITES)
@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("pull_request", PULL),
        pytest.param("pull_request_target", PULL, marks=pytest.mark.slow),
        pytest.param("merge_group", GROUP, marks=pytest.mark.slow),
        pytest.param("issue_comment", {}, marks=pytest.mark.slow),
    ],
)
def test_a_job_of_a_pull_request_writes_no_baseline(
    doing: str, event: str, payload: object, told: Told, tmp_path: Path
) -> None:
    before = names_in(tmp_path / "baselines")
    code, out, err = told(event, payload, *WRITES[doing])
    assert (code, out) == (2, "")
    assert f"in a job of event `{event}`" in err
    assert names_in(tmp_path / "baselines") == before


@attack("A27")
def test_rows_of_a_pull_request_are_left_out_of_what_is_pushed(told: Told, tmp_path: Path) -> None:
    theirs = run_document("add:pass", "r3", event="pull_request", pull_request=7, commit="e" * 40)
    open_store(tmp_path / "apart").append(theirs)
    code, out, _ = told("push", {"repository": {"default_branch": "main"}}, *WRITES["push"], "--store", "other")
    assert code == 0
    assert "1 run not of the default branch left out" in out
    assert not [name for name in names_in(tmp_path / "other") if "r3" in name]


@twin("A27")
def test_a_job_of_the_default_branch_writes(told: Told, tmp_path: Path) -> None:
    code, out, err = told("push", {"repository": {"default_branch": "main"}}, *WRITES["push"])
    assert (code, err) == (0, "")
    assert out.startswith("1 run and 0 bundles sent from apart to ")
    assert f"runs/{DAY}/r2.parquet" in names_in(tmp_path / "baselines")


PLANTED = {
    "core.fsmonitor": "{trap}",
    "core.hooksPath": "{hooks}",
    "core.sshCommand": "{trap}",
    "credential.helper": "!{trap}",
    "filter.planted.clean": "{trap}",
    "url.ext::{trap}.insteadOf": "file://",
    "remote.origin.uploadpack": "{trap}",
    "remote.origin.receivepack": "{trap}",
    "uploadpack.packObjectsHook": "{trap}",
    "protocol.allow": "always",
}
"""A configuration that makes git run something wherever it can."""


@attack("A28")
def test_a_store_on_a_branch_runs_nothing_of_the_work_tree(forge: Forge, tmp_path: Path) -> None:
    work, trap, hooks = tmp_path / "work", tmp_path / "trap", tmp_path / "hooks"
    hooks.mkdir()
    for path in (trap, hooks / "pre-push", hooks / "reference-transaction", hooks / "post-index-change"):
        executable(path, f"#!/bin/sh\ntouch '{tmp_path}/sprung'\nexit 1\n")
    subprocess.run(["git", "init", "--quiet", "--template=", str(work)], check=True)
    subprocess.run(["git", "-C", str(work), "remote", "add", "origin", forge.url], check=True)
    (work / ".gitattributes").write_text("* filter=planted\n", encoding="utf-8")
    for setting in PLANTED.items():
        named = [text.format(trap=trap, hooks=hooks) for text in setting]
        subprocess.run(["git", "-C", str(work), "config", *named], check=True)
    backend = BranchBackend(f"branch:{BRANCH}", work, {**os.environ, "OPSDEBUG_CACHE": str(tmp_path / "cache")})
    backend.add(run_files("one"))
    backend.mirror()
    assert forge.files() == paths_of("one")
    assert not (tmp_path / "sprung").exists()


ACCURACY = f"accuracy/{DAY}/r2.parquet"
RUNS = f"runs/{DAY}/r2.parquet"


def _flipped(root: Path) -> None:
    data = bytearray((root / ACCURACY).read_bytes())
    data[len(data) // 2] ^= 0x55
    (root / ACCURACY).write_bytes(data)


def _not_parquet(root: Path) -> None:
    (root / ACCURACY).write_bytes(pickle.dumps({"run_id": "r2"}))


def _drifted(root: Path) -> None:
    rows = pq.ParquetFile(root / ACCURACY).read()
    place = rows.schema.get_field_index("compared")
    changed = rows.set_column(place, "compared", pa.array(["/etc/passwd"] * len(rows)))
    pq.write_table(changed, root / ACCURACY)


def _huge(root: Path) -> None:
    """A few KiB with more rows in one group than anybody writes."""
    rows = MOST_GROUP_ROWS + 1
    run_ids = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int8), ["r2"])
    pq.write_table(pa.table({"run_id": run_ids}), root / ACCURACY, row_group_size=rows)


def _linked(root: Path) -> None:
    (root / ACCURACY).unlink()
    (root / ACCURACY).symlink_to("/etc/passwd")


def _of_another(root: Path) -> None:
    (root / RUNS).write_bytes((root / f"runs/{DAY}/r1.parquet").read_bytes())


@attack("A29")
@pytest.mark.parametrize(
    "poison",
    [
        _flipped,
        _not_parquet,
        _drifted,
        _linked,
        pytest.param(_huge, marks=pytest.mark.slow),
        pytest.param(_of_another, marks=pytest.mark.slow),
    ],
)
def test_a_poisoned_file_is_named_and_left_out(poison: Callable[[Path], None], told: Told, tmp_path: Path) -> None:
    store = open_store(tmp_path / "baselines")
    store.append(run_document("add:pass gelu:fail/f1", "r2", commit="f" * 40))
    poison(tmp_path / "baselines")
    code, out, err = told("push", {}, "sql", "select distinct run_id from accuracy order by 1", "--format", "csv")
    assert (code, out.split()) == (4, ["run_id", "r1"])
    assert "r2.parquet" in err
    assert "root:" not in out + err


@twin("A29")
def test_a_sound_store_answers_whole(told: Told, tmp_path: Path) -> None:
    open_store(tmp_path / "baselines").append(run_document("add:pass", "r2", commit="f" * 40))
    code, out, err = told("push", {}, "sql", "select distinct run_id from accuracy order by 1", "--format", "csv")
    assert (code, out.split(), err) == (0, ["run_id", "r1", "r2"], "")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one run."""
    directory = tmp_path_factory.mktemp("sound")
    open_store(directory).append(run_document("add:pass", "r1"))
    return directory


@attack("A29")
@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "create view v as select * from read_csv('/etc/passwd')",
        "copy (select 1) to '/tmp/x.csv'",
        "attach '/tmp/x.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "select getenv('HOME')",
        "from '/etc/passwd'",
    ],
)
def test_sql_reads_no_file(sql: str, sound: Path) -> None:
    with pytest.raises(QueryError):
        query(sound, sql)


class Payload:
    """Unpickled, it leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch '{self.path}'",)


def _pickle(sprung: Path) -> bytes:
    return pickle.dumps(Payload(sprung))


def _checkpoint(sprung: Path) -> bytes:
    return zipped(("archive/data.pkl", _pickle(sprung)), ("archive/version", b"3\n"))


def _objects(sprung: Path) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload(sprung)], dtype=object), allow_pickle=True)
    return zipped(("inputs.npy", buffer.getvalue()))


def _link(sprung: Path) -> bytes:
    return zipped(("manifest.json", str(sprung).encode()), mode=stat.S_IFLNK | 0o777)


def _leads_out(sprung: Path) -> bytes:
    return zipped((f"../../../../../../../../..{sprung}", b"x"))


def _program(sprung: Path) -> bytes:
    return zipped(("manifest.json", b"{}"), ("repro.py", f"open({str(sprung)!r}, 'w')".encode()))


@attack("A30")
@pytest.mark.parametrize("made", [_pickle, _checkpoint, _objects, _link, _leads_out, _program])
def test_a_bundle_of_a_stranger_is_refused_and_runs_nothing(
    made: Callable[[Path], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "opsdebug.toml").write_text('operators = ["ops.py"]\n', encoding="utf-8")
    (tmp_path / "ops.py").write_text("", encoding="utf-8")
    (tmp_path / "x.opsbundle").write_bytes(made(tmp_path / "sprung"))
    with pytest.raises(BundleError):
        read_bundle(tmp_path / "x.opsbundle")
    assert outcome(["replay", "x.opsbundle"]) == 2
    assert outcome(["failures", "import", "x.opsbundle"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "sprung").exists()


@attack("A30")
def test_a_link_to_a_bundle_is_followed_to_nothing_but_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "x.opsbundle").symlink_to("/etc/passwd")
    with pytest.raises(BundleError) as told:
        read_bundle(tmp_path / "x.opsbundle")
    assert "root:" not in str(told.value)


@twin("A30")
def test_a_sound_bundle_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.opsbundle").write_bytes(GOOD)
    assert read_bundle(tmp_path / "x.opsbundle").manifest.case.operator == "op"


@twin("A30")
@pytest.mark.parametrize("made", [_pickle])
def test_the_payload_is_one(made: Callable[[Path], bytes], tmp_path: Path) -> None:
    pickle.loads(made(tmp_path / "sprung"))
    assert (tmp_path / "sprung").exists()
    assert not zipfile.is_zipfile(io.BytesIO(made(tmp_path / "sprung")))
