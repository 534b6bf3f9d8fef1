"""Every bundle of a store, read and hashed; and every bundle that a row names.

Decides that a bundle which a row says to be in the store must be there.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.errors import OpsdebugError
from opsdebug_ci.store.backend import Backend, Told
from opsdebug_ci.store.bundles import checked_bytes
from opsdebug_ci.store.heads import FileFault
from opsdebug_ci.store.layout import read_bundle_path


def check_bundles(backend: Backend, named: Mapping[str, str], told: Told) -> tuple[int, list[FileFault]]:
    """How many bundles were read, and what is wrong.

    Args:
        backend: the place of the store.
        named: sha256 of the bundles that rows say to be there -> path of the row's file.
        told: who hears how far it is.
    """
    entries = [(entry, sha256) for entry in backend.entries() if (sha256 := read_bundle_path(entry.path)) is not None]
    faults = []
    for number, (entry, sha256) in enumerate(entries):
        told("bundles read", number, len(entries))
        fault = _fault(backend, entry.path, sha256, entry.size_bytes)
        if fault is not None:
            faults.append(FileFault(path=entry.path, found=fault))
    told("bundles read", len(entries), len(entries))
    there = {sha256 for _, sha256 in entries}
    for sha256, path in sorted(named.items()):
        if sha256 not in there:
            faults.append(FileFault(path=path, found=f"names bundle `{sha256}`, which is not in the store"))
    return len(entries), faults


def _fault(backend: Backend, path: str, sha256: str, size_bytes: int) -> str | None:
    """What is wrong with a bundle; None: nothing."""
    try:
        checked_bytes(sha256, size_bytes, lambda: backend.read(path), "of the store")
    except OpsdebugError as error:
        return f"is not what it is named by: {error.message}"
    return None
