"""Bare repositories of our own, for one process at a time.

Decides that nobody ever waits or is in another's way: each operation has a repository to itself. What was fetched for
reading is kept for the next time under a fixed name; whoever needs it takes it by renaming it, and puts it back when
all went well. A process that is killed leaves one that nobody uses, which is removed a day later.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opsdebug_ci.errors import StoreError
from opsdebug_ci.git.command import run
from opsdebug_ci.git.remote import Remote
from opsdebug_ci.git.repository import Repository

KEPT = "reading.git"
"""Name of the repository that is kept."""

LEFT_S = 24 * 3600
"""Age from which one was left by somebody who was killed: no operation takes that long."""

MOST_PACKS = 50
"""With more packs than that a repository is not kept: git gets slow with hundreds, and a fresh one has two."""

_PREFIX = "scratch-"


@contextmanager
def scratch(place: Path, remote: Remote, *, keep: bool) -> Iterator[Repository]:
    """A repository in the directory `place`, for as long as the context lasts.

    Args:
        place: made when it is not there.
        remote: where it fetches from and pushes to.
        keep: begin with what was fetched before, and keep what is fetched now.

    Raises:
        StoreError: none can be made there.
    """
    path = place / f"{_PREFIX}{secrets.token_hex(8)}.git"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(place)
        taken = keep and _renamed(place / KEPT, path)
    except OSError as error:
        raise _unusable(place, error.strerror or str(error)) from error
    try:
        if not taken:
            _make(path, remote)
        yield Repository(path=path, remote=remote)
        if keep and len(list((path / "objects" / "pack").glob("*.pack"))) <= MOST_PACKS:
            _renamed(path, place / KEPT)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _make(path: Path, remote: Remote) -> None:
    ended = run(path.parent, "init", "--quiet", "--bare", "--template=", str(path), environment=remote.environment)
    if ended.code:
        raise _unusable(path.parent, ended.said.strip())


def _renamed(path: Path, to: Path) -> bool:
    """Whether `path` was there to be renamed, and nothing was in its way."""
    try:
        path.rename(to)
    except FileNotFoundError:
        return False
    except OSError:
        if to.exists():  # another process has put its own there
            return False
        raise
    return True


def _sweep(place: Path) -> None:
    for path in place.glob(f"{_PREFIX}*"):
        try:
            left = time.time() - path.stat().st_mtime > LEFT_S
        except FileNotFoundError:
            continue
        if left:
            shutil.rmtree(path, ignore_errors=True)


def _unusable(place: Path, found: str) -> StoreError:
    return StoreError(
        f"cannot prepare a repository in `{place}`: got `{found}`; wanted a directory this user can write, with "
        "room in it",
        next_step="free space there, or set OPSDEBUG_CACHE to another directory",
    )
