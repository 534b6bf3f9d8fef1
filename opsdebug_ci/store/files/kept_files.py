"""Small files that were opened once and stay open for this process, so that its next question reads only their names.

Decides what is kept: files that are in memory anyway, up to a bound, each for as long as the same file lies at its
path. Files of a store never change; one that was damaged, replaced or removed since has another time or number, and is
opened anew, or missed.
"""

from __future__ import annotations

from pathlib import Path
from typing import final

from opsdebug_ci.store.files.contents import LiveFile
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.table_file import IN_MEMORY_BYTES, Expected, OpenedFile, TableReader

MOST_BYTES = 256 << 20
"""Bytes of files that are kept: some ten thousand files of single runs. What comes beyond is kept instead."""

_Key = tuple[str, Expected, int, int, int, int]


@final
class KeptFiles:
    """Files of any store.

    Args:
        most_bytes: how much is kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: dict[_Key, OpenedFile] = {}
        self._bytes = 0

    def open(self, reader: TableReader, root: Path, file: LiveFile, expected: Expected) -> OpenedFile | FileFault:
        """As `TableReader.open`; without reading it, where that was done before."""
        path = root / str(file.path)
        there = path.stat()
        if there.st_size > IN_MEMORY_BYTES:
            return reader.open(file, expected)
        key = (str(path), expected, there.st_size, there.st_mtime_ns, there.st_ctime_ns, there.st_ino)
        kept = self._kept.get(key)
        if kept is not None:
            return OpenedFile(file=file, fragment=kept.fragment)
        opened = reader.open(file, expected)
        if isinstance(opened, OpenedFile):
            self._keep(key, opened, there.st_size)
        return opened

    def _keep(self, key: _Key, opened: OpenedFile, size_bytes: int) -> None:
        if self._bytes + size_bytes > self._most_bytes:
            self._kept, self._bytes = {}, 0
        self._kept[key] = opened
        self._bytes += size_bytes


KEPT_FILES = KeptFiles()
"""Those of this process."""
