"""One commit holds another by ancestry or by files; dates say nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from opsdebug_ci.plan.commit_order import is_within

WHO = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(root: Path, *words: str, **environ: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **WHO, **environ},
    ).stdout.strip()


def commit(root: Path, text: str, **environ: str) -> str:
    (root / "file").write_text(text)
    git(root, "add", "file")
    git(root, "commit", "-qm", text, **environ)
    return git(root, "rev-parse", "HEAD")


def test_ancestors_and_equal_files_are_within_and_nothing_else(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    first = commit(tmp_path, "1")
    second = commit(tmp_path, "2")
    git(tmp_path, "checkout", "-qb", "aside", first)
    same = commit(tmp_path, "2", GIT_COMMITTER_DATE="2030-01-01T00:00:00Z")
    forged = commit(tmp_path, "3", GIT_COMMITTER_DATE="2001-01-01T00:00:00Z")
    assert is_within(tmp_path, first, second)
    assert is_within(tmp_path, second, second)
    assert is_within(tmp_path, same, second)
    assert not is_within(tmp_path, second, first)
    assert not is_within(tmp_path, forged, second)
    assert not is_within(tmp_path, "0" * 40, second)
    assert not is_within(tmp_path / "nowhere", first, second)
