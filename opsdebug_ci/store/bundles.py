"""Failure bundles beside the tables: content-addressed files that appear whole and never change.

Decides names, `bundles/<first two digits>/<sha256>.opsbundle`, and that bytes which do not hash to their name are
reported, never handed out. Deliberately does not look into a bundle: whoever replays it does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from opsdebug_ci.bundle.durable import make_directory, write_durably
from opsdebug_ci.errors import StoreError, UsageError

DIRECTORY = "bundles"
"""Name of the directory, in a store and elsewhere."""

SUFFIX = ".opsbundle"
"""Ending of every bundle's name."""

LARGEST_BYTES = 128 * 1024 * 1024
"""Largest file that is read: twice what one bundle may hold, so that a foreign file cannot fill the memory."""

SHOWN = 10
"""Candidates listed for a prefix that stands for several."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PREFIX = re.compile(r"[0-9a-f]{1,64}")


def put_bundle(root: Path, data: bytes) -> str:
    """Keep `data` below `root`, durably, and return its sha256; nothing is written where it is there already."""
    sha256 = hashlib.sha256(data).hexdigest()
    path = bundle_path(root, sha256)
    if not _holds(path, data):
        make_directory(path.parents[1])
        make_directory(path.parent)
        write_durably(path, data)
    return sha256


def bundle_path(root: Path, sha256: str) -> Path:
    """Where a bundle lies below `root`."""
    return root / DIRECTORY / sha256[:2] / f"{sha256}{SUFFIX}"


def list_bundles(root: Path) -> tuple[str, ...]:
    """sha256 of every bundle below `root`, sorted; files that are named otherwise are none."""
    found = (path.name.removesuffix(SUFFIX) for path in (root / DIRECTORY).glob(f"*/*{SUFFIX}"))
    return tuple(
        sorted(sha256 for sha256 in found if _SHA256.fullmatch(sha256) and bundle_path(root, sha256).is_file())
    )


def read_bundle(root: Path, sha256: str) -> bytes:
    """The bytes of a bundle.

    Raises:
        StoreError: it is not there, is too large, or its bytes do not hash to its name.
    """
    path = bundle_path(root, sha256)
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST_BYTES else b""
    except OSError as error:
        raise StoreError(
            f"cannot read bundle `{path}`: got `{error.strerror}`; wanted a file this user can read",
            next_step="list the bundles there are with `opsdebug failures`",
        ) from error
    if size > LARGEST_BYTES:
        raise StoreError(
            f"bundle `{path}` has {size:,} bytes; wanted at most {LARGEST_BYTES:,}",
            next_step="remove the file: no bundle of ours is so large",
        )
    got = hashlib.sha256(data).hexdigest()
    if got != sha256:
        raise StoreError(
            f"bundle `{path}` is damaged: its bytes have sha256 `{got}`; wanted the one it is named by",
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


def _holds(path: Path, data: bytes) -> bool:
    """Whether the file is there with these bytes; a damaged one is written anew."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False
