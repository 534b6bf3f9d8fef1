"""What a killed writer left is in nobody's way, and nothing is written through a link."""

from __future__ import annotations

from pathlib import Path

import pytest
from object_servers import Storage

from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.store.places.backend import Backend, StoreFile
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.places.directory import DirectoryBackend

DAY = "date=2026-11-29"


def run(name: str, data: bytes) -> list[StoreFile]:
    return [StoreFile(path=f"{table}/{DAY}/{name}.parquet", data=data) for table in ("accuracy", "runs")]


@pytest.fixture(params=["directory", "bucket"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    if request.param == "directory":
        return DirectoryBackend(tmp_path / "s")
    storage: Storage = request.getfixturevalue("s3")
    return storage.backend(f"bucket/{request.node.name.strip(']').replace('[', '-')}", tmp_path / "cache")


def test_what_was_left_of_a_run_is_replaced_when_it_comes(backend: Backend) -> None:
    backend.add(run("other", b"other"))
    backend.add(run("one", b"half-written")[:1])
    backend.add([*run("two", b"two"), *run("one", b"whole")])
    assert [backend.read(file.path) for file in run("one", b"")] == [b"whole", b"whole"]
    assert backend.read(run("other", b"")[0].path) == b"other"


def test_what_a_run_has_is_never_replaced(backend: Backend) -> None:
    backend.add(run("one", b"one"))
    for files in (run("one", b"other"), [run("one", b"other")[0], run("one", b"one")[1]], run("one", b"other")[:1]):
        with pytest.raises(StoreError, match="already holds another"):
            backend.add([*run("new", b"new"), *files])
    assert [backend.read(file.path) for file in run("one", b"")] == [b"one", b"one"]
    assert "runs/date=2026-11-29/new.parquet" not in [entry.path for entry in backend.entries()]


def test_an_acceptance_is_not_replaced_for_a_run_of_its_name(backend: Backend) -> None:
    path = f"acceptances/{DAY}/one.parquet"
    backend.add([StoreFile(path=path, data=b"mine")])
    with pytest.raises(StoreError, match="already holds another `acceptances"):
        backend.add([StoreFile(path=path, data=b"theirs"), *run("one", b"one")])
    assert backend.read(path) == b"mine"


@pytest.mark.parametrize("link", ["accuracy", f"accuracy/{DAY}", f"accuracy/{DAY}/one.parquet", f"runs/{DAY}"])
def test_nothing_is_written_or_removed_through_a_link(link: str, tmp_path: Path) -> None:
    backend = DirectoryBackend(tmp_path / "s")
    backend.add(run("first", b"first"))
    away = tmp_path / "away" / "date=2026-11-29"
    away.mkdir(parents=True)
    (away / "one.parquet").write_bytes(b"precious")
    place = tmp_path / "s" / link
    if place.is_dir():
        place.rename(tmp_path / "moved")
    place.symlink_to(away / "one.parquet" if link.endswith("parquet") else away if "/" in link else away.parent)
    for write in (
        lambda: backend.add(run("one", b"one")),
        lambda: backend.exchange(run("one", b"one"), ()),
        lambda: backend.exchange((), [file.path for file in run("one", b"")]),
    ):
        with pytest.raises(StoreError, match=f"`{link}` of store .* is a symbolic link"):
            write()
    assert [(path.name, path.read_bytes()) for path in away.iterdir()] == [("one.parquet", b"precious")]


def test_a_store_that_is_a_link_itself_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "s").symlink_to(tmp_path / "real")
    DirectoryBackend(tmp_path / "s").add(run("one", b"one"))
    assert (tmp_path / "real" / "runs" / DAY / "one.parquet").read_bytes() == b"one"


@pytest.mark.parametrize(
    "location", ["https://user:ghp_x@github.com/o/r", "git+https://ghp_x@h/r", "ftp://h/r?t=ghp_x"]
)
def test_no_credential_of_a_mistaken_store_is_shown(location: str) -> None:
    with pytest.raises(UsageError, match="store is not known") as told:
        open_store(location)
    assert "ghp_x" not in str(told.value)
