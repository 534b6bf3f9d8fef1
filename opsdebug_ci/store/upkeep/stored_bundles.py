"""Every bundle of a store, read and hashed; and every bundle that a row names.

Decides that a bundle which a row says to be in the store must be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from opsdebug_ci.errors import OpsdebugError
from opsdebug_ci.store.bundles import checked_bytes
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.layout import bundle_path, read_bundle_path
from opsdebug_ci.store.places.backend import Backend, StoreEntry, Told


def check_bundles(backend: Backend, named: Mapping[str, str], told: Told) -> tuple[int, list[FileFault]]:
    """How many bundles were read, and what is wrong.

    Args:
        backend: the place of the store.
        named: sha256 of the bundles that rows say to be there -> path of the row's file.
        told: who hears how far it is.
    """
    there = {sha256: entry for entry in backend.entries() if (sha256 := read_bundle_path(entry.path)) is not None}
    faults = []
    for number, (sha256, size_bytes, read) in enumerate(_readings(backend, there)):
        told("bundles read", number, len(there))
        fault = _fault(sha256, size_bytes, read)
        if fault is not None:
            faults.append(FileFault(path=bundle_path(sha256), found=fault))
    told("bundles read", len(there), len(there))
    for sha256, path in sorted(named.items()):
        if sha256 not in there:
            faults.append(FileFault(path=path, found=f"names bundle `{sha256}`, which is not in the store"))
    return len(there), faults


def _readings(
    backend: Backend, there: Mapping[str, StoreEntry]
) -> Iterator[tuple[str, int | None, Callable[[], bytes]]]:
    """sha256 of every bundle, its size, and how it is read: all at once where not even their sizes are known."""
    for sha256, entry in there.items():
        if entry.size_bytes is not None:
            yield sha256, entry.size_bytes, partial(backend.read, entry.path)
    away = {entry.path: sha256 for sha256, entry in there.items() if entry.size_bytes is None}
    for path, data in backend.read_all(list(away)) if away else ():
        yield away[path], len(data), partial(bytes, data)


def _fault(sha256: str, size_bytes: int | None, read: Callable[[], bytes]) -> str | None:
    """What is wrong with a bundle; None: nothing."""
    try:
        checked_bytes(sha256, size_bytes, read, "of the store")
    except OpsdebugError as error:
        return f"is not what it is named by: {error.message}"
    return None
