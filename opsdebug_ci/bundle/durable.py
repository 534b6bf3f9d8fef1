"""Files that appear whole, and stay after a power cut.

Decides the procedure: write under a temporary name in the same directory, fsync the file, rename, fsync the
directory. Readers skip temporary names, so what a crash leaves behind is invisible.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Union

TEMPORARY_PREFIX = ".opsdebug-"
"""Every temporary name starts so; its suffix keeps it out of every listing by suffix."""

Data = Union[bytes, memoryview]
"""What is written."""


def write_durably(path: Path, data: Data) -> None:
    """Put `data` at `path`: whole or not at all, whoever else writes there, and there to stay."""
    _write(path, data, durable=True)
    sync_directory(path.parent)


def write_whole(path: Path, data: Data) -> None:
    """Put `data` at `path`, whole or not at all; it may be gone after a power cut, as scratch may."""
    _write(path, data, durable=False)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which is at `path` once this ends well, and leaves nothing otherwise; as `write_whole`."""
    with _temporary(path) as file:
        yield file


def make_directory(path: Path) -> None:
    """Create one directory, whose parent exists; not an error when it is there already."""
    if not path.is_dir():
        path.mkdir(exist_ok=True)
        sync_directory(path.parent)


def _write(path: Path, data: Data, *, durable: bool) -> None:
    with _temporary(path) as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _temporary(path: Path) -> Iterator[BinaryIO]:
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_directory(path: Path) -> None:
    """Flush a directory's entries to the disk: a file made in it is then there after a power cut."""
    if os.name == "nt":  # NOTE: Windows cannot open a directory, and flushes its entries with the file.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
