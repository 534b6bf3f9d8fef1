"""What a work tree holds beyond its commit, against real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from opsdebug_ci.plan.revision import content_digest, difference_digest


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(root), *identity, *words], env=environment, capture_output=True, check=True)


def committed(root: Path, **files: str) -> Path:
    """A repository with these modules committed."""
    root.mkdir()
    git(root, "init", "--quiet")
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=first")
    return root.resolve()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return committed(tmp_path / "project", kernel="1")


def test_equal_work_trees_have_equal_digests(tmp_path: Path, root: Path) -> None:
    twin = committed(tmp_path / "twin", kernel="1")
    clean = difference_digest(root)
    assert clean == difference_digest(twin) is not None
    for place in (root, twin):
        (place / "kernel.py").write_text("2")
        (place / "new.cu").write_text("3")
    assert clean != difference_digest(root) == difference_digest(twin)


def test_content_counts_staged_or_not_and_names_too(root: Path) -> None:
    seen = [difference_digest(root)]
    (root / "kernel.py").write_text("2")
    seen.append(difference_digest(root))
    git(root, "add", "--all")
    assert difference_digest(root) == seen[-1]
    (root / "kernel.py").write_bytes(b"\0\xff")
    seen.append(difference_digest(root))
    (root / "kernel.py").unlink()
    seen.append(difference_digest(root))
    (root / "odd\nname é.py").write_text("1")
    seen.append(difference_digest(root))
    assert len(set(seen)) == len(seen)


def test_a_changed_submodule_counts(tmp_path: Path, root: Path) -> None:
    library = committed(tmp_path / "library", part="1")
    git(root, "submodule", "--quiet", "add", str(library), "library")
    git(root, "commit", "--quiet", "--message=second")
    seen = [difference_digest(root)]
    for text in ("2", "3"):
        (root / "library" / "part.py").write_text(text)
        seen.append(difference_digest(root))
    assert len(set(seen)) == 3, "git calls both `dirty`, and they are not the same"


def test_what_the_tool_writes_does_not_count(root: Path) -> None:
    store = root / "base[l]ines"
    store.mkdir()
    (store / "kept.py").write_text("1")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=second")
    clean = difference_digest(root, outputs=(store,))
    (store / "kept.py").write_text("2")
    (store / "new.py").write_text("3")
    assert difference_digest(root, outputs=(store,)) == clean
    assert difference_digest(root, outputs=(root / "elsewhere", root)) != clean


def test_nothing_is_said_where_git_cannot_tell(tmp_path: Path) -> None:
    assert difference_digest(tmp_path) is None
    git(tmp_path, "init", "--quiet")
    assert difference_digest(tmp_path) is None, "no commit"


def test_a_file_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    digests = (content_digest(tmp_path / "file"), content_digest(tmp_path / "none"), content_digest(tmp_path))
    assert digests == ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "", "")
