"""Files that appear whole, and stay after a power cut.

Decides the procedure: write under a temporary name in the same directory, fsync the file, rename, fsync the
directory. Readers skip temporary names, so what a crash leaves behind is invisible.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

TEMPORARY_PREFIX = ".opsdebug-"
"""Every temporary name starts so; its suffix keeps it out of `*.parquet`."""


def write_durably(path: Path, data: bytes) -> None:
    """Put `data` at `path`: whole or not at all, whoever else writes there."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def make_directory(path: Path) -> None:
    """Create one directory, whose parent exists; not an error when it is there already."""
    if not path.is_dir():
        path.mkdir(exist_ok=True)
        _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # NOTE: Windows cannot open a directory, and flushes its entries with the file.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
