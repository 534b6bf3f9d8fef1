"""The project under test: a git repository with a base that stays and a head that each round writes anew."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parent / "project"
"""What is committed in it."""

FILES = ("kernels.py", "ops.py", "opsdebug.toml", "spins.json", "samples.py")
"""Of those, what every commit has."""

AUTHOR = ("-c", "user.name=qualification", "-c", "user.email=qualification@localhost")
"""Commits need one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Two work trees of one repository."""

    base: Path
    """Branch `main`: no slowdown."""

    head: Path
    """Branch `head`: that of the current round."""

    scratch: Path
    """Where rules may put what they need."""


def create(folder: Path) -> Repository:
    """Write the project and commit it."""
    base, head, scratch = (folder / name for name in ("base", "head", "scratch"))
    for path in (base, scratch):
        path.mkdir()
    for name in FILES:
        shutil.copy(PROJECT / name, base / name)
    (base / ".gitignore").write_text("__pycache__/\n.opsdebug/\nbaselines/\n", encoding="utf-8")
    git(base, "init", "--quiet", "--initial-branch=main")
    _commit(base, "Add twelve operators")
    git(base, "worktree", "add", "--quiet", "-b", "head", str(head))
    return Repository(base=base, head=head, scratch=scratch)


def write_head(repository: Repository, number: int, spins: dict[str, int]) -> None:
    """Commit the head of a round on top of the base: what it plants, and a comment that differs from every other."""
    head = repository.head
    git(head, "checkout", "--quiet", "-B", "head", "main")
    kernels = head / "kernels.py"
    kernels.write_text(f"{kernels.read_text(encoding='utf-8')}\n# Round {number}.\n", encoding="utf-8")
    (head / "spins.json").write_text(json.dumps(spins, indent=1) + "\n", encoding="utf-8")
    _commit(head, f"Round {number}")


def git(folder: Path, *arguments: str) -> str:
    """Run git there."""
    command = ["git", *AUTHOR, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
