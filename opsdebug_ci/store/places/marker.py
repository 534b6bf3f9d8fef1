"""`opsdebug-store.json`: says that a directory is a store, of which format version, and who created it.

Decides whether a directory may be read or written as a store.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from opsdebug_ci import __version__
from opsdebug_ci.bundle.durable import write_durably
from opsdebug_ci.errors import StoreError, StoreFormatError
from opsdebug_ci.store.files.layout import MARKER
from opsdebug_ci.store.schema import FORMAT_VERSION


def read_format_version(root: Path) -> int | None:
    """Format version of the store at `root`; None when there is no marker.

    Raises:
        StoreError: the marker cannot be read.
        StoreFormatError: the marker is damaged, or its version is newer than this program reads.
    """
    path = root / MARKER
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(
            f"cannot read `{path}`: got `{error.strerror}`; wanted a file this user can read",
            next_step="check the permissions of the store, or choose another `store`",
        ) from error
    return format_version(data, str(root))


def is_store(location: str | os.PathLike[str]) -> bool:
    """Whether there is a store in a directory of this machine. Raises as `read_format_version` does."""
    return read_format_version(Path(location)) is not None


def format_version(data: bytes, store: str) -> int:
    """Format version that a marker says.

    Args:
        data: its bytes.
        store: where the store is, in words.

    Raises:
        StoreFormatError: the marker is damaged, or its version is newer than this program reads.
    """
    try:
        version = json.loads(data)["format_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreFormatError(
            f"`{MARKER}` of `{store}` is not a store's marker ({type(error).__name__}: {error}); wanted JSON with "
            "`format_version`",
            next_step="restore the file from a copy of the store, or choose another `store`",
        ) from error
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise StoreFormatError(
            f"store `{store}` has format version {version}; this opsdebug-ci {__version__} reads up to "
            f"{FORMAT_VERSION}",
            next_step="upgrade opsdebug-ci to the version that wrote the store",
        )
    return version


def check_ours(root: Path) -> None:
    """Nothing, when the directory `root` is a store or may become one.

    Raises:
        StoreFormatError: it holds something else; a README and dot files do not count.
    """
    if read_format_version(root) is None:
        check_free((path.name for path in root.iterdir()), str(root))


def check_free(names: Iterable[str], place: str, kind: str = "directory") -> None:
    """Nothing, when a place without a marker may become a store.

    Args:
        names: of what is directly in it; another writer's marker, a README and dot files do not count.
        place: where it is, in words.
        kind: what it is.

    Raises:
        StoreFormatError: it holds something else.
    """
    foreign = sorted(name for name in names if not name.startswith((".", "README")))
    if foreign and MARKER not in foreign:
        raise StoreFormatError(
            f"`{place}` is not a store: it holds {', '.join(foreign[:5])} and no {MARKER}; wanted a store or an empty "
            f"{kind}",
            next_step="set `store` to a directory of its own, e.g. `baselines/`",
        )


def write_marker(root: Path) -> None:
    """Make `root` a store, unless it is one.

    Raises:
        StoreFormatError: the directory holds something else.
    """
    check_ours(root)
    if read_format_version(root) is not None:  # another writer was faster
        return
    write_durably(root / MARKER, marker_bytes())


def raise_version(root: Path) -> None:
    """Say that the store at `root`, which is one, is of the version this program writes.

    Raises:
        StoreFormatError: it is of a newer one.
    """
    if read_format_version(root) != FORMAT_VERSION:
        write_durably(root / MARKER, marker_bytes())


def marker_bytes() -> bytes:
    """The marker of a store of the version this program writes."""
    marker = {"format_version": FORMAT_VERSION, "created_by": f"opsdebug-ci {__version__}"}
    return (json.dumps(marker, indent=2) + "\n").encode()
