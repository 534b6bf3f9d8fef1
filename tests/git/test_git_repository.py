"""Commits and contents of a bare repository of ours; the truth is what git says of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from opsdebug_ci.git.address import read_address
from opsdebug_ci.git.remote import remote_at
from opsdebug_ci.git.repository import NO_COMMIT, Repository

ODD = 'a/"odd" \\ name\nof two lines'


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    subprocess.run(["git", "init", "--quiet", "--bare", "--template=", str(tmp_path / "r")], check=True)
    return Repository(path=tmp_path / "r", remote=remote_at(read_address("/none", tmp_path), os.environ, believed=True))


def git(repository: Repository, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(repository.path), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_commit_on_top_has_what_is_below_but_what_was_removed(repository: Repository) -> None:
    one, two = repository.keep([b"one", b"two"])
    first = repository.commit(NO_COMMIT, {"a/x": one, "b/y": one, ODD: one}, (), NO_COMMIT, "First, é")
    second = repository.commit(first, {"a/x": two}, ["b/y", ODD], first, "Second")
    assert repository.files(first) == {"a/x": one, "b/y": one, ODD: one}
    assert repository.files(second) == {"a/x": two}
    assert git(repository, "log", "--format=%s|%an|%ae|%cn", second).splitlines() == [
        "Second|opsdebug-ci|opsdebug-ci@localhost|opsdebug-ci",
        "First, é|opsdebug-ci|opsdebug-ci@localhost|opsdebug-ci",
    ]
    assert git(repository, "fsck", "--strict", first, second) == ""


def test_a_commit_that_begins_anew_has_the_files_and_no_parent(repository: Repository) -> None:
    one, two = repository.keep([b"one", b"two"])
    first = repository.commit(NO_COMMIT, {"a/x": one, "b/y": one}, (), NO_COMMIT, "First")
    anew = repository.commit(first, {"c/z": two}, ["a/x"], NO_COMMIT, "Anew")
    assert repository.files(anew) == {"b/y": one, "c/z": two}
    assert git(repository, "rev-list", anew) == anew
    assert repository.files(repository.commit(NO_COMMIT, {}, (), NO_COMMIT, "Nothing")) == {}


def test_a_commit_needs_none_of_the_files_it_takes_over(repository: Repository) -> None:
    one, two = repository.keep([b"one", b"two"])
    first = repository.commit(NO_COMMIT, {"a/x": one}, (), NO_COMMIT, "First")
    (repository.path / "objects" / one[:2] / one[2:]).unlink()
    assert repository.files(repository.commit(first, {"a/y": two}, (), first, "On top")) == {"a/x": one, "a/y": two}
    assert repository.files(repository.commit(first, {"a/y": two}, (), NO_COMMIT, "Anew")) == {"a/x": one, "a/y": two}


class Counted(dict[str, int]):
    """Sizes that count how often one of them is asked for."""

    asked = 0

    def __getitem__(self, name: str) -> int:
        Counted.asked += 1
        return super().__getitem__(name)


def test_contents_come_whole_in_batches(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsdebug_ci.git.repository.BATCH_BYTES", 10)
    data = [bytes([number]) * number for number in range(20)]
    names = repository.keep(data)
    assert dict(repository.contents([*names, *names])) == dict(zip(names, data, strict=True))


def test_sizes_are_added_up_once_each(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    names = repository.keep([b"%d" % number for number in range(50)])
    sizes = Repository.sizes
    monkeypatch.setattr(Repository, "sizes", lambda self, objects: Counted(sizes(self, objects)))
    assert len(list(repository.contents(names))) == 50
    assert Counted.asked <= 50
