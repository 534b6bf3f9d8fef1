"""A store on a branch of a real bare repository; the truth is what git there says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from branch_remotes import BRANCH, DAY, Forge, WatchedGit, paths_of, run_files

from opsdebug_ci.errors import StoreError, StoreFormatError, StoreUnreachableError, UsageError
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.branch import BranchBackend
from opsdebug_ci.store.schema import FORMAT_VERSION


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


def below(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def marker(version: int) -> str:
    return json.dumps({"format_version": version, "created_by": "another"})


def test_the_first_writer_makes_the_branch(forge: Forge) -> None:
    backend = forge.backend()
    assert not backend.exists()
    assert backend.entries() == ()
    backend.check_writable()
    assert forge.git("for-each-ref") == ""
    backend.add(run_files("one"))
    assert backend.exists()
    assert forge.files() == paths_of("one")
    assert forge.git("rev-list", "--count", BRANCH) == "1"
    assert forge.git("log", "-1", "--format=%an %cn", BRANCH) == "opsdebug-ci opsdebug-ci"


def test_every_run_is_a_commit_on_top_and_a_repeated_one_is_none(forge: Forge) -> None:
    backend = forge.backend()
    for run in ("one", "two", "two"):
        backend.add(run_files(run))
    assert forge.files() == paths_of("one", "two")
    assert forge.git("rev-list", "--count", BRANCH) == "2"


def test_what_is_read_is_what_was_added(forge: Forge) -> None:
    writer, reader = forge.backend("here"), forge.backend("there")
    files = run_files("one", b"a bundle\0" * 1000)
    writer.add(files)
    sizes = {entry.path: entry.size_bytes for entry in reader.entries() if entry.path != "opsdebug-store.json"}
    assert sizes == {files[0].path: None, **{file.path: len(file.data) for file in files[1:]}}
    assert [reader.read(file.path) for file in files] == [file.data for file in files]
    with pytest.raises(StoreError, match=f"has no `runs/{DAY}/none.parquet`"):
        reader.read(f"runs/{DAY}/none.parquet")


def test_a_file_is_never_overwritten_but_a_damaged_bundle_is_mended(forge: Forge) -> None:
    backend = forge.backend()
    files = run_files("one", b"a bundle")
    backend.add([StoreFile(path=files[0].path, data=b"a bun"), *files[1:]])
    backend.add(files)
    assert forge.file(files[0].path) == "a bundle"
    before = forge.git("rev-parse", BRANCH)
    with pytest.raises(StoreError, match=f"already holds another `runs/{DAY}/one.parquet`"):
        backend.add([*run_files("two"), StoreFile(path=files[-1].path, data=b"other")])
    assert forge.git("rev-parse", BRANCH) == before


def test_an_exchange_begins_a_new_history_with_what_others_added(forge: Forge) -> None:
    backend = forge.backend()
    forge.put(**{"opsdebug-store.json": marker(1)})
    for run in ("one", "two", "three"):
        backend.add(run_files(run))
    assert json.loads(forge.file("opsdebug-store.json"))["format_version"] == 1
    pack = StoreFile(path="runs/date=2026-11-01/pack-1.parquet", data=b"pack")
    gone = [file.path for run in ("one", "two") for file in reversed(run_files(run))]
    backend.exchange([pack], [*gone, "runs/date=2026-11-01/never.parquet"])
    assert forge.files() == {*paths_of("three"), pack.path}
    assert forge.git("rev-list", "--count", BRANCH) == "1"
    assert json.loads(forge.file("opsdebug-store.json"))["format_version"] == FORMAT_VERSION
    tip = forge.git("rev-parse", BRANCH)
    backend.exchange([pack], gone)
    assert forge.git("rev-parse", BRANCH) == tip, "it was done already"


def test_where_history_must_not_be_rewritten_an_exchange_is_a_commit_on_top(forge: Forge) -> None:
    forge.git("config", "receive.denyNonFastForwards", "true")
    backend = forge.backend()
    backend.add(run_files("one"))
    pack = StoreFile(path="runs/date=2026-11-01/pack-1.parquet", data=b"pack")
    backend.exchange([pack], [file.path for file in run_files("one")])
    assert forge.files() == {*paths_of(), pack.path}
    assert forge.git("rev-list", "--count", BRANCH) == "2"


def test_a_branch_of_something_else_is_refused(forge: Forge) -> None:
    commit = forge.put(**{"README.md": "hello", "src__main.py": "print()"})
    backend = forge.backend()
    assert not backend.exists()
    assert backend.entries() == ()
    for write in (
        lambda: backend.add(run_files("one")),
        backend.check_writable,
        lambda: backend.exchange(run_files("one"), []),
    ):
        with pytest.raises(
            StoreFormatError, match=r"it holds src and no opsdebug-store.json; wanted a store or an empty branch"
        ):
            write()
    assert forge.git("rev-parse", BRANCH) == commit


def test_a_branch_with_a_readme_alone_becomes_a_store(forge: Forge) -> None:
    forge.put(**{"README.md": "hello"})
    forge.backend().add(run_files("one"))
    assert forge.files() == {*paths_of("one"), "README.md"}


def test_a_newer_store_is_neither_read_nor_written(forge: Forge) -> None:
    commit = forge.put(**{"opsdebug-store.json": marker(FORMAT_VERSION + 1)})
    backend = forge.backend()
    for use in (backend.exists, backend.entries, backend.mirror, lambda: backend.add(run_files("one"))):
        with pytest.raises(StoreFormatError, match=f"format version {FORMAT_VERSION + 1}"):
            use()
    assert forge.git("rev-parse", BRANCH) == commit


def test_the_copy_follows_the_branch_and_has_no_bundles(forge: Forge) -> None:
    writer, reader = forge.backend("here"), forge.backend("there")
    writer.add(run_files("one", b"a bundle"))
    writer.add(run_files("two"))
    told: list[tuple[int, int]] = []
    copy = reader.mirror(lambda doing, done, of: told.append((done, of)))
    assert below(copy.root) == paths_of("one", "two")
    assert (copy.root / "runs" / DAY / "two.parquet").read_bytes() == run_files("two")[-1].data
    assert copy.note == ""
    assert told == [(done, 5) for done in range(1, 6)]
    pack = StoreFile(path="runs/date=2026-11-01/pack-1.parquet", data=b"pack")
    writer.exchange([pack], [file.path for file in run_files("one")])
    assert below(reader.mirror().root) == {*paths_of("two"), pack.path}


def test_without_the_remote_the_copy_of_last_time_answers_and_says_so(forge: Forge) -> None:
    writer, reader = forge.backend("here"), forge.backend("there")
    writer.add(run_files("one"))
    reader.mirror()
    shutil.move(forge.path, forge.directory / "away.git")
    copy = reader.mirror()
    assert below(copy.root) == paths_of("one")
    assert "could not be reached" in copy.note
    assert "answering from the copy of 2" in copy.note
    with pytest.raises(StoreUnreachableError):
        forge.backend("third").mirror()
    with pytest.raises(StoreError, match="does not appear to be a git repository"):
        writer.add(run_files("two"))


def test_bundles_are_fetched_when_they_are_asked_for_all_in_one_go(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundles = [bytes([number]) * 5000 for number in range(5)]
    forge.backend("here").add(run_files("one", *bundles))
    watched = WatchedGit(tmp_path / "bin")
    reader = forge.backend("there", PATH=watched.path)
    monkeypatch.setenv("PATH", watched.path)
    reader.mirror()
    paths = [entry.path for entry in reader.entries() if entry.size_bytes is None]
    kept = next((tmp_path / "cache-none").parent.glob("there/stores/*/reading.git"))
    listed = ["git", "-C", str(kept), "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize)"]
    here = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.splitlines()
    assert "blob 5000" not in here, "looked for, not fetched"
    assert len([line for line in here if line.startswith("blob")]) == 3
    watched.log.write_text("")
    found = dict(reader.read_all([*paths, "bundles/gone"]))
    assert sorted(found.values()) == sorted(bundles)
    assert watched.log.read_text().count(" rev-list ") == 2, "for the marker, and for all bundles"


def test_a_bad_local_copy_is_mended_and_a_good_one_is_not_fetched(forge: Forge) -> None:
    writer, reader = forge.backend("here"), forge.backend("there")
    writer.add(run_files("one"))
    path = run_files("one")[-1].path
    copy = reader.mirror().root / path
    times = copy.stat()
    copy.write_bytes(b"x" * times.st_size)
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert reader.mend([path])
    assert copy.read_bytes() == run_files("one")[-1].data
    assert not reader.mend([path])
    assert not reader.mend([])


def test_a_branch_that_was_never_written_is_no_store_yet(forge: Forge) -> None:
    with pytest.raises(StoreError, match="nothing was stored on this branch"):
        forge.backend().mirror()


def test_a_remote_that_leaves_nothing_out_is_read_and_written_as_well(forge: Forge) -> None:
    forge.git("config", "uploadpack.allowFilter", "false")
    backend = forge.backend()
    backend.add(run_files("one", b"a bundle"))
    backend.add(run_files("two"))
    assert below(forge.backend("there").mirror().root) == paths_of("one", "two")
    assert backend.read(run_files("one", b"a bundle")[0].path) == b"a bundle"


@pytest.mark.parametrize(
    "location",
    [
        "branch:",
        "branch:-x",
        "branch:a..b",
        "branch:a.lock",
        "branch:.a",
        "branch:a/.b",
        "branch:a/",
        "branch:a b",
        "branch:HEAD",
        "branch:a\n",
        "s3://bucket",
        "branch:a@",
        "branch:a@ext::sh -c true",
        "branch:a@-u/x",
        "branch:a@ftp://host/x",
        "branch:a@https://host:port/x",
    ],
)
def test_no_other_location_is_taken(location: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        BranchBackend(location, tmp_path, {})


def test_a_location_is_told_as_it_was_given(tmp_path: Path) -> None:
    for location in ("branch:a", "branch:a/b.c@git@github.com:o/r.git", "branch:a@ssh://git@host/r", "branch:a@/x/y"):
        assert BranchBackend(location, tmp_path, {}).location == location
