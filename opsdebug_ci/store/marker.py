"""`opsdebug-store.json`: says that a directory is a store, of which format version, and who created it.

Decides whether a directory may be read or written as a store.
"""

from __future__ import annotations

import json
from pathlib import Path

from opsdebug_ci import __version__
from opsdebug_ci.bundle.durable import write_durably
from opsdebug_ci.errors import StoreError, StoreFormatError
from opsdebug_ci.store.schema import FORMAT_VERSION

MARKER = "opsdebug-store.json"
"""Its name, at the root of every store."""


def read_format_version(root: Path) -> int | None:
    """Format version of the store at `root`; None when there is no marker.

    Raises:
        StoreError: the marker cannot be read.
        StoreFormatError: the marker is damaged, or its version is newer than this program reads.
    """
    path = root / MARKER
    try:
        version = json.loads(path.read_text(encoding="utf-8"))["format_version"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(
            f"cannot read `{path}`: got `{error.strerror}`; wanted a file this user can read",
            next_step="check the permissions of the store, or choose another `store`",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreFormatError(
            f"`{path}` is not a store's marker ({type(error).__name__}: {error}); wanted JSON with `format_version`",
            next_step="restore the file from a copy of the store, or choose another `store`",
        ) from error
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise StoreFormatError(
            f"store `{root}` has format version {version}; this opsdebug-ci {__version__} reads up to {FORMAT_VERSION}",
            next_step="upgrade opsdebug-ci to the version that wrote the store",
        )
    return version


def check_ours(root: Path) -> None:
    """Nothing, when the directory `root` is a store or may become one.

    Raises:
        StoreFormatError: it holds something else; a README and dot files do not count.
    """
    foreign = sorted(path.name for path in root.iterdir() if not path.name.startswith((".", "README")))
    if read_format_version(root) is None and foreign and MARKER not in foreign:
        raise StoreFormatError(
            f"`{root}` is not a store: it holds {', '.join(foreign[:5])} and no {MARKER}; wanted a store or an empty "
            "directory",
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
    marker = {"format_version": FORMAT_VERSION, "created_by": f"opsdebug-ci {__version__}"}
    write_durably(root / MARKER, (json.dumps(marker, indent=2) + "\n").encode())
