"""What a place that holds a baseline store can do: a directory, a branch of a git repository, a bucket.

Decides the interface. A place knows files by their paths below the store, and nothing of what is in them; what the
paths mean is in `layout`, and everything the store does with them is written once, over this interface.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

Told = Callable[[str, int, int], None]
"""Who is told how far something is: what is being done, how much of it is done, of how much."""


def untold(doing: str, done: int, of: int) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFile:
    """One file that is to be in a store."""

    path: str
    """Path below the store, with forward slashes."""

    data: bytes = field(repr=False)
    """Its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEntry:
    """One file that is in a store."""

    path: str
    """Path below the store, with forward slashes."""

    size_bytes: int | None
    """Its size; None: it cannot be known without fetching the file."""

    written_at: datetime | None = field(default=None, compare=False)
    """When it was put there, by the clock of the place; None: files of one addition appear together there, so that none
    is ever seen without the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A directory on this machine that holds the store's tables, for reading."""

    root: Path
    """The directory; its layout is that of a store in a directory. Bundles may be missing."""

    note: str = ""
    """What a reader must know of it, e.g. that the remote could not be reached and this copy is of yesterday."""


class Backend(ABC):
    """A place that holds a store. Files are never changed once they are there.

    Every method may raise StoreError (the place cannot be reached, read or written; says what, where, and what to do)
    and StoreFormatError (what is there is no store, or one of a newer format).
    """

    @property
    @abstractmethod
    def location(self) -> str:
        """As the user wrote it, without secrets."""

    @property
    @abstractmethod
    def bundle_limit_bytes(self) -> int | None:
        """Largest bundle that is kept here; None: any. Larger ones stay with the run, and its row says where."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether anything was ever stored here."""

    @abstractmethod
    def check_writable(self) -> None:
        """Find out, before any work is done, whether files could be added; leaves nothing behind."""

    @abstractmethod
    def add(self, files: Sequence[StoreFile]) -> None:
        """Make the place a store if it is none, and add files, durably, in this order: none is seen before those ahead
        of it, and when it returns all are there to stay.

        A file that is there already with the same bytes is left alone, so that a repeated call does no harm. Where its
        bytes differ, a bundle (which is named by its hash) was damaged and is written anew, and anything else raises
        StoreError: nothing of these files has then been added that a reader sees.
        """

    @abstractmethod
    def exchange(self, added: Sequence[StoreFile], removed: Sequence[str]) -> None:
        """Raise the format version of the store to ours, add files as `add` does, and then remove others in this order;
        those that are gone already do not matter. Killed half-way, it has removed nothing before everything was added.
        """

    @abstractmethod
    def entries(self) -> tuple[StoreEntry, ...]:
        """Every file that is there now, in the order of paths; none where there is no store. Temporary files, and those
        that are no regular file, are left out."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The bytes of one file."""

    @abstractmethod
    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Path and bytes of many files, in any order; those that are not there are left out."""

    @abstractmethod
    def mend(self, paths: Collection[str], told: Told = untold) -> bool:
        """Fetch anew those files of the copy that `mirror` makes which turned out unsound, before anybody is told that
        the store is; whether any of them was another one there. False where nothing is copied."""

    @abstractmethod
    def mirror(self, told: Told = untold) -> Mirror:
        """The store's tables as a directory on this machine, as they are now. A place elsewhere that cannot be reached
        gives the copy of last time, with a note, where there is one."""
