"""What is in a store's directory at one moment, however many write and compact it.

Decides how a listing becomes one that held at a single moment: `runs` is listed before and after everything else, and
if anything of it was removed meanwhile, or a pack was added, the listing is made anew. What is added meanwhile by
others is not in it. Links are not followed: a store lies in its own directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.files.contents import ROOT_TABLE, Contents, PackHead, packs_among, read_contents
from opsdebug_ci.store.files.heads import FileFault, read_head
from opsdebug_ci.store.places.backend import StoreEntry

TRIES = 20
"""Listings before it is said that the store does not hold still; each is overtaken only by a whole compaction."""

DEPTH = 3
"""Names in the longest path of a store: table, day, file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What is in a store."""

    root: Path
    """Its directory."""

    contents: Contents
    """What counts."""

    faults: tuple[FileFault, ...]
    """Files that cannot be what they are named, and are left out."""


def take_inventory(root: Path) -> Inventory:
    """What is in the store at `root` now.

    Raises:
        StoreError: the directory cannot be read, or is compacted over and over again meanwhile.
    """
    for _ in range(TRIES):
        try:
            found = _one_listing(root)
        except FileNotFoundError:  # a pack was replaced between its listing and its reading
            continue
        except OSError as error:
            raise StoreError(
                f"cannot list store `{root}`: got `{error.strerror}` at `{error.filename}`; wanted a directory this "
                "user can read",
                next_step="check the permissions of the store",
            ) from error
        if found is not None:
            return found
    raise StoreError(
        f"store `{root}` changed during each of {TRIES} listings; wanted one moment without compaction",
        next_step="try again when no `opsdebug baselines compact` runs in a loop",
    )


def paths_below(root: Path, within: str = "") -> Iterator[str]:
    """Path of every regular file below the store, or below one directory of it, without temporary ones and links."""
    return (path for path, kind in _walk(root, within) if kind == "file")


def entries_below(root: Path) -> tuple[StoreEntry, ...]:
    """Every file with its size, by path; those that vanish meanwhile are left out."""
    found = []
    for path in sorted(paths_below(root)):
        try:
            stat = (root / path).stat()
        except FileNotFoundError:
            continue
        # NOTE: copies of stores may bring times of change from elsewhere, but not the time at which they were put here.
        written = datetime.fromtimestamp(max(stat.st_mtime, stat.st_ctime), timezone.utc)
        found.append(StoreEntry(path=path, size_bytes=stat.st_size, written_at=written))
    return tuple(found)


def _one_listing(root: Path) -> Inventory | None:
    """An inventory; None: it was overtaken."""
    before = set(paths_below(root, ROOT_TABLE))
    heads, faults = _heads(root, sorted(before))
    listed = list(_walk(root, ""))
    after = set(paths_below(root, ROOT_TABLE))
    if before - after or packs_among(after - before):
        return None
    paths = [path for path, kind in listed if kind == "file" and not path.startswith(f"{ROOT_TABLE}/")]
    contents = read_contents([*before, *paths], heads)
    links = [FileFault(path=path, found="is a link or no regular file") for path, kind in listed if kind == "other"]
    strangers = [FileFault(path=path, found="has no name that a store's file has") for path in contents.strangers]
    return Inventory(root=root, contents=contents, faults=(*faults, *links, *strangers))


def _heads(root: Path, paths: Sequence[str]) -> tuple[list[PackHead], list[FileFault]]:
    read = [read_head(root, str(path), path.name) for path in packs_among(paths)]
    return [one for one in read if isinstance(one, PackHead)], [one for one in read if isinstance(one, FileFault)]


def _walk(root: Path, within: str) -> Iterator[tuple[str, str]]:
    """Path and kind (`file`, `other`) of what is below; names that begin with a dot are nobody's business."""
    try:
        entries = list(os.scandir(root / within))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = f"{within}/{entry.name}" if within else entry.name
        if entry.is_dir(follow_symlinks=False):
            if path.count("/") < DEPTH - 1:
                yield from _walk(root, path)
            else:
                yield path, "other"
        else:
            yield path, "file" if entry.is_file(follow_symlinks=False) else "other"
