"""The baseline store as one command reads it.

Decides that a store elsewhere is brought up to date once, and that everything the command asks is answered from that
copy: what it says of known failures, of times and of acceptances then belongs together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.errors import StoreError, StoreUnreachableError
from opsdebug_ci.plan import Configuration
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.places.backend import Told, untold
from opsdebug_ci.store.places.backends import open_store

NO_RECORDS = Path("/dev/null/no-store")
"""Where nothing is, and nothing can be: what is asked there has no answer, as in a store that does not exist yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What is stored, for reading."""

    root: Path
    """Directory of this machine; `NO_RECORDS` where nothing was ever stored, or it could not be read."""

    notes: tuple[str, ...] = ()
    """What a reader must know of it, in sentences."""


def configured_store(configuration: Configuration, environ: Mapping[str, str] | None = None) -> BaselineStore:
    """The baseline store; nothing of it is read yet.

    Args:
        configuration: says where it is.
        environ: where credentials and the place for copies are found; None: none are.
    """
    directory = configuration.store_directory
    location = configuration.store if directory is None else str(directory)
    return open_store(location, root=configuration.root, environ=environ)


def read_records(store: BaselineStore, *, needed: bool, told: Told = untold) -> Records:
    """What the store holds now.

    Args:
        store: which.
        needed: without it the command makes no sense; otherwise one that cannot be read is a note.
        told: who hears how far the copy is.

    Raises:
        StoreError: it is needed and cannot be read.
        StoreFormatError: it is no store, or one of a newer format.
    """
    try:
        if not _exists(store):
            return Records(root=NO_RECORDS)
        mirror = store.mirror(told)
    except StoreError as error:
        if needed or error.exit_code != StoreError.exit_code:
            raise
        return Records(root=NO_RECORDS, notes=(f"the store could not be read: {error.message}",))
    return Records(root=mirror.root, notes=(mirror.note,) if mirror.note else ())


def _exists(store: BaselineStore) -> bool:
    """Whether there is a store; True where it cannot be reached, for there may be a copy of it."""
    try:
        return store.exists()
    except StoreUnreachableError:
        return True
