"""Failure bundles by name: which one a prefix stands for, and that its bytes are those it is named by.

Decides that bytes which do not hash to their name are reported, never handed out. Deliberately does not look into a
bundle: whoever replays it does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable

from opsdebug_ci.bundle.archive import MOST_BYTES
from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.errors import BundleError, UsageError

SHOWN = 10
"""Candidates listed for a prefix that stands for several."""

_PREFIX = re.compile(r"[0-9a-f]{1,64}")


def stored_bytes(place: BundlePlace, sha256: str) -> bytes:
    """The bytes of a bundle in a directory of bundles.

    Raises:
        BundleError: it is not there, is too large, or its bytes do not hash to its name.
    """
    path = place.path(sha256)
    try:
        return checked_bytes(sha256, path.stat().st_size, path.read_bytes, f"at `{path}`")
    except OSError as error:
        raise BundleError(
            f"cannot read bundle `{path}`: got `{error.strerror}`; wanted a file this user can read",
            next_step="list the bundles there are with `opsdebug failures`",
        ) from error


def checked_bytes(sha256: str, size: int | None, read: Callable[[], bytes], where: str) -> bytes:
    """The bytes of a bundle that is there.

    Args:
        sha256: what it is named by.
        size: its size, so that one that cannot be ours is not read; None: not known before it is read.
        read: gives its bytes.
        where: where it is, in words.

    Raises:
        BundleError: it is too large, or its bytes do not hash to its name.
    """
    if size is not None and size > MOST_BYTES:
        raise BundleError(
            f"bundle {sha256[:12]} {where} has {size:,} bytes; wanted at most {MOST_BYTES:,}",
            next_step="remove the file: no bundle of ours is so large",
        )
    data = read()
    got = hashlib.sha256(data).hexdigest()
    if got != sha256:
        raise BundleError(
            f"bundle {sha256[:12]} {where} is damaged: its bytes have sha256 `{got}`; wanted the one it is named by",
            next_step="restore the file from a copy of the store, or remove it",
        )
    return data


def only_match(hashes: Iterable[str], prefix: str, where: str) -> str:
    """The only one of `hashes` that starts with `prefix`.

    Args:
        hashes: sha256 of bundles, each as often as it likes.
        prefix: beginning of one, in lower case or not.
        where: which places were searched, in words.

    Raises:
        UsageError: none does, or several do; names those.
    """
    wanted = prefix.lower()
    if not _PREFIX.fullmatch(wanted):
        raise UsageError(
            f"`{prefix[:80]}` is neither a file nor the beginning of a sha256; wanted one of both",
            next_step="`opsdebug failures` lists what is stored",
        )
    found = sorted({sha256 for sha256 in hashes if sha256.startswith(wanted)})
    if not found:
        raise UsageError(
            f"no bundle starts with `{wanted}` in {where}; wanted the beginning of the sha256 of one",
            next_step="`opsdebug failures` lists what is stored",
        )
    if len(found) > 1:
        more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
        raise UsageError(
            f"`{wanted}` stands for {len(found):,} bundles in {where}: {', '.join(found[:SHOWN])}{more}; wanted one",
            next_step="write more of its digits",
        )
    return found[0]
