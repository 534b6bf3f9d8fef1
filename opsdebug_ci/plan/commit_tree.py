"""The code of a commit as a directory of its own, while the person's repository and work tree stay as they are.

Decides where trees lie (`.opsdebug/trees/<key>` beside the configuration), that one is there whole or not at all, that
two invocations share it, and which are pruned. Deliberately knows no arms and builds nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from opsdebug_ci.bundle.durable import TEMPORARY_PREFIX, write_whole
from opsdebug_ci.bundle.place import OWN_DIRECTORY, make_beside
from opsdebug_ci.errors import EnvironmentLimitError, UsageError
from opsdebug_ci.git.command import answer
from opsdebug_ci.plan.checkout import check_out

KEPT_TREES = 6
"""Trees that stay whatever their age: the base, and three rungs of the ladder, of two branches, about."""

IN_USE_S = 24 * 3600
"""A tree asked for since then may still be in use and stays. A job of a hosted runner ends after 6 hours."""

KEY_DIGITS = 20
"""Hexadecimal digits of a tree's key: 80 bits, so that no two of a repository's trees ever share one."""

UNSHALLOW = "in GitHub Actions give actions/checkout `fetch-depth: 0`, elsewhere `git fetch --unshallow`"
"""What to do about a shallow clone."""

_ABOUT = "about.json"
_USED = "used"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCommit:
    """A commit by any of its names."""

    commit: str
    """Full hash."""

    tree: str
    """Hash of its tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTree:
    """The code of a commit."""

    commit: str
    """Full hash."""

    tree: str
    """Hash of its tree."""

    place: Path
    """Directory of everything that belongs to it: the code, and what is made from it."""

    top: Path
    """Directory of the code, named like the repository's."""

    root: Path
    """What the configuration's directory is there."""

    notes: tuple[str, ...]
    """What is missing in it, in sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """What is written down beside the code."""

    name: str
    """Name of its directory."""

    notes: tuple[str, ...]
    """What is missing in it."""


def find_commit(root: Path, revision: str) -> FoundCommit:
    """The commit that `revision` names in the clone around `root`; a branch that only `origin` has is found too.

    Raises:
        UsageError: `root` is in no repository, or the clone does not know the revision.
    """
    if answer(root, "rev-parse", "--show-toplevel") is None:
        raise UsageError(
            f"`{revision}`: {root} is not in a git work tree, or git is not installed; wanted a commit of a repository",
            next_step="run this inside a clone, or compare two interpreters instead of two commits",
        )
    for name in (revision, f"origin/{revision}"):
        commit = answer(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        tree = answer(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}") if commit else None
        if commit and tree:
            return FoundCommit(commit=commit, tree=tree)
    shallow = is_shallow(root)
    raise UsageError(
        f"`{revision}`: this {'shallow ' if shallow else ''}clone knows no such commit; wanted a branch, tag or hash",
        next_step=UNSHALLOW if shallow else "check the spelling, or `git fetch` it first",
    )


def is_shallow(root: Path) -> bool:
    """The clone around `root` lacks a part of the history."""
    return answer(root, "rev-parse", "--is-shallow-repository") == "true"


def prepare_tree(root: Path, revision: str, now: datetime, *, variant: str = "") -> CommitTree:
    """The code of `revision`, made or reused.

    Args:
        root: directory of the configuration.
        revision: any name of a commit.
        now: the time; says which trees are old.
        variant: what a tree must not share with another of the same code, e.g. how it is built.

    Raises:
        UsageError: see `find_commit`; or the commit has no directory like `root`.
        EnvironmentLimitError: the clone lacks the files of the commit, or nothing can be written here.
    """
    found = find_commit(root, revision)
    prefix = _prefix(root, found.commit, revision)
    top = Path(answer(root, "rev-parse", "--show-toplevel") or root)
    trees = root / OWN_DIRECTORY / "trees"
    digest = hashlib.sha256(f"{found.tree}\0{top.name}\0{variant}".encode(errors="surrogateescape")).hexdigest()
    place = trees / digest[:KEY_DIGITS]
    try:
        make_beside(trees)
        with alone(trees / "lock"):
            if not (place / _ABOUT).is_file():
                _make(top, found.commit, place)
            _touch(place, now)
            _prune(trees, now)
    except OSError as fault:
        raise EnvironmentLimitError(
            f"{trees}: found {fault.strerror or fault}; wanted room for the code of `{revision}`",
            next_step=f"make {trees} writable, or free space there; everything in it may be deleted",
        ) from fault
    about = msgspec.json.decode((place / _ABOUT).read_bytes(), type=_About)
    code = place / about.name
    return CommitTree(
        commit=found.commit, tree=found.tree, place=place, top=code, root=code / prefix, notes=about.notes
    )


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting for whoever holds it; the system frees it when its holder dies."""
    with path.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _prefix(root: Path, commit: str, revision: str) -> str:
    """Where the configuration's directory lies in the repository."""
    prefix = (answer(root, "rev-parse", "--show-prefix") or "").rstrip("/")
    if prefix and answer(root, "cat-file", "-t", f"{commit}:{prefix}") != "tree":
        raise UsageError(
            f"`{revision}`: commit {commit[:12]} has no directory `{prefix}`, where the configuration lies; wanted one",
            next_step="choose a later commit, or move the configuration to a directory that both commits have",
        )
    return prefix


def _make(top: Path, commit: str, place: Path) -> None:
    temporary = _temporary(place)
    name = top.name or "code"  # a repository may be the root of a container's file system
    temporary.mkdir()
    try:
        notes = check_out(top, commit, temporary / name)
        write_whole(temporary / _ABOUT, msgspec.json.encode(_About(name=name, notes=notes)))
        if place.exists():  # damaged by somebody
            _remove(place)
        temporary.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _touch(place: Path, now: datetime) -> None:
    (place / _USED).touch()
    os.utime(place / _USED, (now.timestamp(), now.timestamp()))


def _prune(trees: Path, now: datetime) -> None:
    """Remove trees beyond the newest that were not asked for lately, and what crashes left."""
    used = {place: _last_use(place) for place in trees.iterdir() if place.is_dir()}
    newest = sorted((place for place in used if not _is_temporary(place)), key=used.__getitem__, reverse=True)
    left = [place for place in used if _is_temporary(place)]
    for place in (*newest[KEPT_TREES:], *left):
        if now.timestamp() - used[place] > IN_USE_S:
            _remove(place)


def _remove(place: Path) -> None:
    """Out of the way first, so that one removed by half is never taken for whole."""
    gone = place if _is_temporary(place) else _temporary(place)
    if gone != place:
        place.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _temporary(place: Path) -> Path:
    return place.with_name(f"{TEMPORARY_PREFIX}{place.name}.{secrets.token_hex(8)}.tmp")


def _is_temporary(place: Path) -> bool:
    return place.name.startswith(TEMPORARY_PREFIX)


def _last_use(place: Path) -> float:
    mark = place / _USED
    return (mark if mark.exists() else place).stat().st_mtime
