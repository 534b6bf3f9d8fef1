"""A store that lies elsewhere, copied to a directory on this machine as far as queries need it: all but the bundles.

Decides how the copy is brought up to date. Files never change, so a name and a size tell whether one is there, unless
somebody wrote to the copy since: missing ones are fetched, and those that make others visible (tables `runs` and
`acceptances`) come last; then those that are gone elsewhere are removed, in the opposite order. Each appears whole, by
rename. So the copy answers like the store at every moment, also when its making was cut short.

One process at a time does this; the others wait for it, and list what is there after it is done. Deliberately does not
know how a place is listed or read, nor what is in the files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from opsdebug_ci.bundle.durable import TEMPORARY_PREFIX, write_whole
from opsdebug_ci.errors import EnvironmentLimitError, StoreError, StoreUnreachableError
from opsdebug_ci.store.files.layout import MARKER, PACK_PREFIX, read_table_path
from opsdebug_ci.store.places.backend import Mirror, StoreEntry, Told, untold
from opsdebug_ci.store.places.cache import VARIABLE

ListEntries = Callable[[], Sequence[StoreEntry]]
"""Lists every file that is in the store now."""

ReadMany = Callable[[Sequence[str]], Iterable[tuple[str, bytes]]]
"""Reads the files of these paths, in any order; those that are gone since they were listed are left out."""

VISIBLE_LAST = ("acceptances", "runs")
"""Tables whose files make rows visible, in the order in which they are added."""

LISTINGS = 10
"""How often a store is listed anew because files were removed before they were read. A compaction takes many times
longer than a listing, so even two would mean that several people compact at once."""

MOST_WORDS = 160
"""Characters of why a store was not reached, beside an answer: two lines; who gets none is told all of it."""

LEFT_S = 3600
"""Age from which a temporary file was left by somebody who was killed: nobody writes one file for an hour."""

COPYING = "files copied"
"""What is being done while missing files come."""

_STORE = "store"
_LOCK = "lock"
_STAMP = "synchronised"


def synchronise(
    list_entries: ListEntries,
    read_many: ReadMany,
    directory: Path,
    told: Told = untold,
    afresh: Collection[str] = (),
) -> Path:
    """Bring the copy in `directory` up to date.

    Args:
        list_entries, read_many: see there; called while no other process changes the copy.
        directory: where, with what is known of the copy; made when it is not there, parents included.
        told: who hears how many of the missing files are there.
        afresh: paths that are fetched although they are there.

    Returns:
        The copy: a directory in the layout of a store.

    Raises:
        StoreError: the copy cannot be written, or the store changes too fast; and what the two callables raise.
    """
    root = directory / _STORE
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(directory / _LOCK, told):
            _sweep(root)
            if not any(_follow(list_entries(), read_many, root, told, afresh) for _ in range(LISTINGS)):
                raise StoreError(
                    f"files of the store were removed while they were read, {LISTINGS} times over; wanted one listing "
                    "whose files are all there",
                    next_step="try again when nobody runs `opsdebug baselines compact` or `prune`",
                )
            (directory / _STAMP).touch()
    except OSError as error:
        raise StoreError(
            f"cannot keep a copy of the store: got `{error.strerror or error}` at `{error.filename or directory}`; "
            "wanted a directory this user can write, with room in it",
            next_step=f"free space there, or set {VARIABLE} to another directory",
        ) from error
    return root


def mirrored(
    location: str, list_entries: ListEntries, read_many: ReadMany, directory: Path, told: Told = untold
) -> Mirror:
    """The copy in `directory`, up to date if the store at `location` can be reached, and as it is if not.

    Raises:
        StoreUnreachableError: it cannot be reached, and there is no copy.
        StoreError: see `synchronise`.
    """
    try:
        return Mirror(root=synchronise(list_entries, read_many, directory, told))
    except StoreUnreachableError as error:
        at = synchronised_at(directory)
        if at is None:
            raise
        return Mirror(
            root=directory / _STORE,
            note=f"answering from the copy of {at:%Y-%m-%d %H:%M:%S} UTC: store `{location}` could not be reached "
            f"({_short(error.message)})",
        )


def _short(words: str) -> str:
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}..."


def mended(
    list_entries: ListEntries,
    read_many: ReadMany,
    directory: Path,
    paths: Collection[str],
    told: Told = untold,
) -> bool:
    """Fetch files of the copy in `directory` anew; whether any of them was another one there.

    Raises:
        StoreError: see `synchronise`; where the store cannot be reached nothing is changed.
    """
    before = _hashes(directory / _STORE, paths)
    return bool(paths) and _hashes(synchronise(list_entries, read_many, directory, told, paths), paths) != before


def synchronised_at(directory: Path) -> datetime | None:
    """When the copy in `directory` was last brought up to date; None: it never was."""
    try:
        seconds = (directory / _STAMP).stat().st_mtime
    except OSError:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc)


def _follow(
    entries: Sequence[StoreEntry], read_many: ReadMany, root: Path, told: Told, afresh: Collection[str]
) -> bool:
    """Make `root` as `entries` say; False when one of them was gone before it was read."""
    wanted = {entry.path: entry.size_bytes for entry in entries if _is_kept(entry.path)}
    there = {path: found.st_size for path, found in _files(root)}
    again = {MARKER, *afresh, *_touched(root)}
    missing = [path for path, size in wanted.items() if path in again or there.get(path) != size]
    done = 0
    for paths in _stages(missing):
        left = set(paths)
        for path, data in read_many(paths) if paths else ():
            left.discard(path)
            _put(root / path, data)
            done += 1
            told(COPYING, done, len(missing))
        if left:
            return False
    for paths in reversed(_stages([path for path in there if path not in wanted])):
        for path in paths:
            (root / path).unlink(missing_ok=True)
    return True


def _is_kept(path: str) -> bool:
    return path == MARKER or read_table_path(path) is not None


def _stages(paths: Sequence[str]) -> list[list[str]]:
    """Paths in the order in which they are added, one list after the other: the marker, rows, what makes them seen.

    Packs come after single runs, so that they are also removed after those, which they hide from readers.
    """
    stages: list[list[str]] = [[] for _ in range(2 + len(VISIBLE_LAST))]
    for path in sorted(paths, key=lambda path: (PACK_PREFIX in path, path)):
        table = path.partition("/")[0]
        first = 0 if path == MARKER else 1
        stages[2 + VISIBLE_LAST.index(table) if table in VISIBLE_LAST else first].append(path)
    return stages


def _files(directory: Path, path: str = "", depth: int = 2) -> Iterator[tuple[str, os.stat_result]]:
    """Path, and what is known, of every file of a copy."""
    with os.scandir(directory / path) as found:
        for entry in found:
            name = f"{path}{entry.name}"
            if depth and entry.is_dir(follow_symlinks=False):
                yield from _files(directory, f"{name}/", depth - 1)
            elif _is_kept(name) and entry.is_file(follow_symlinks=False):
                yield name, entry.stat(follow_symlinks=False)


def _touched(root: Path) -> list[str]:
    """Files of a copy that somebody wrote after it was last brought up to date."""
    stamp = root.parent / _STAMP
    if not stamp.exists():
        return []
    at_ns = stamp.stat().st_mtime_ns
    return [path for path, found in _files(root) if found.st_mtime_ns > at_ns]


def _hashes(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """sha256 of those files of a copy that are there."""
    there = [path for path in paths if _is_kept(path) and (root / path).is_file()]
    return {path: hashlib.sha256((root / path).read_bytes()).hexdigest() for path in there}


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)


def _sweep(root: Path) -> None:
    """Remove what writers left that were killed."""
    for path in (*root.glob(f"{TEMPORARY_PREFIX}*"), *root.glob(f"*/date=*/{TEMPORARY_PREFIX}*")):
        if datetime.now(timezone.utc).timestamp() - path.stat().st_mtime > LEFT_S:
            path.unlink(missing_ok=True)


@contextmanager
def _alone(lock: Path, told: Told) -> Iterator[None]:
    """Hold `lock`; the system frees it when its holder dies. Raises EnvironmentLimitError where there are none."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where stores in directories need none
    except ImportError as error:
        raise EnvironmentLimitError(
            "the copy of a store that lies elsewhere is locked with `fcntl`, which is not here; wanted Linux or macOS",
            next_step="use a store in a directory here, or run this where there is one, e.g. in WSL",
        ) from error
    with lock.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told("waiting for another process that copies this store", 0, 1)
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
