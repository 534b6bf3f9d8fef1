"""`Journal`: what a long stage has come to so far, kept so that the same command can go on after an interruption.

Decides the file: one JSON object a line in `.opsdebug/journal/<key>.<attempt>.jsonl`, each with its own checksum, so
that a line is there whole or is not taken. Every attempt writes a file of its own and reads those of the same key, so
any number of them may run at once and none damages another's; the worst that two at once cost is work done twice.
A line is in the file before its value is used, which outlives the end of the process; the file is flushed to the disk
once a second, so a machine that stops costs a second's work.

Knows no types: a *section* (`observation`, ...) holds values of one type under a *key* (a case id, ...). Deliberately
decides neither which attempts may be continued (`pipeline.attempt` does, by the key) nor what is worth keeping.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, final

import msgspec

from opsdebug_ci.bundle.durable import sync_directory
from opsdebug_ci.bundle.place import OWN_DIRECTORY, make_beside
from opsdebug_ci.model.wire import to_json
from opsdebug_ci.pipeline.world import World

SUFFIX = ".jsonl"

KEPT_S = 3 * 24 * 3600
"""Seconds after which an attempt is neither continued nor kept: from Friday night to Monday night."""

SYNC_NS = 1_000_000_000
"""Longest time between a line and its flush to the disk. A flush for every case would cost thousands of them, at up to
ten milliseconds each."""

Value = TypeVar("Value")


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line."""

    check: int
    """CRC-32 of section, key and value as written."""

    section: str
    """Which type of value."""

    key: str
    """Which value of the section."""

    value: msgspec.Raw
    """The value's JSON."""


@final
class Journal:
    """The journal of one attempt, with what earlier attempts left; made by `open_journal`.

    Args:
        path: this attempt's file, which does not exist yet.
        earlier: files of earlier attempts.
        clock: a clock that never goes back; ns.
    """

    def __init__(self, path: Path, earlier: tuple[Path, ...], clock: Callable[[], int]) -> None:
        self._path = path
        self._earlier = earlier
        self._clock = clock
        self._lines = [line for file in earlier for line in _read(file)]
        self._file: BinaryIO | None = None
        self._synced_ns = clock()
        self._missing: dict[str, int] = {}
        self._fault: str | None = None

    def taken(self, section: str, expected: type[Value]) -> dict[str, Value]:
        """What earlier attempts left of `section`, by key, in the order it was written; read strictly.

        A value that does not fit `expected` is not taken, so it is made anew. Of two with one key the first is taken.
        """
        decoder = msgspec.json.Decoder(expected)
        taken: dict[str, Value] = {}
        for line in self._lines:
            if line.section == section and line.key not in taken:
                try:
                    taken[line.key] = decoder.decode(line.value)
                except (msgspec.MsgspecError, RecursionError):
                    continue
        return taken

    def add(self, section: str, key: str, value: object) -> None:
        """Keep `value`, a dataclass of the wire form. A file that cannot be written ends the keeping, not the run."""
        if self._fault is not None:
            return
        try:
            self._write(_line(section, key, value))
        except OSError as error:
            self._fault = error.strerror or str(error)

    def lacks(self, section: str, count: int) -> None:
        """`count` values of `section` were not reached: the journal stays for the next attempt."""
        self._missing[section] = count

    @property
    def complete(self) -> bool:
        """Whether every section was reached to its end."""
        return not any(self._missing.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        fault = self._fault
        return () if fault is None else (f"this run cannot be continued: got `{fault}` while writing {self._path}",)

    def settle(self) -> tuple[str, ...]:
        """The run has ended and is recorded: forget it where it is complete; what a reader must know about that."""
        self.close()
        return _removed((*self._earlier, self._path)) if self.complete else ()

    def close(self) -> None:
        """Write no more; what is written stays."""
        if self._file is not None:
            self._sync(self._file)
            self._file.close()
            self._file = None

    def _write(self, line: bytes) -> None:
        if self._file is None:
            make_beside(self._path.parent)
            self._file = self._path.open("xb", buffering=0)
            sync_directory(self._path.parent)
        if self._file.write(line) != len(line):
            self._fault = os.strerror(errno.ENOSPC)  # a further line would stand in the torn one
        if self._clock() - self._synced_ns >= SYNC_NS:
            self._sync(self._file)
            self._synced_ns = self._clock()

    def _sync(self, file: BinaryIO) -> None:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            self._fault = self._fault or error.strerror or str(error)


@contextmanager
def open_journal(root: Path, key: str, world: World, *, fresh: bool = False) -> Iterator[Journal]:
    """The journal of an attempt under `key`, closed at the end; stale ones of any key are removed.

    Args:
        root: directory of the configuration.
        key: what an attempt must have in common with this one to be continued.
        world: its clocks, and the entropy for the attempt's name.
        fresh: forget earlier attempts under this key.
    """
    place = root / OWN_DIRECTORY / "journal"
    _removed(tuple(path for path in sorted(place.glob(f"*{SUFFIX}")) if _age_s(path, world.now()) > KEPT_S))
    earlier = tuple(sorted(place.glob(f"{key}.*{SUFFIX}")))
    if fresh:
        _removed(earlier)
        earlier = ()
    journal = Journal(place / f"{key}.{world.entropy(8).hex()}{SUFFIX}", earlier, world.monotonic_ns)
    try:
        yield journal
    finally:
        journal.close()


def _line(section: str, key: str, value: object) -> bytes:
    content = msgspec.json.encode(to_json(value))
    line = _Line(check=_check(section, key, content), section=section, key=key, value=msgspec.Raw(content))
    return msgspec.json.encode(line) + b"\n"


def _check(section: str, key: str, content: Any) -> int:
    return zlib.crc32(content, zlib.crc32(f"{section}\0{key}\0".encode()))


def _read(file: Path) -> list[_Line]:
    """Every whole line; one that was torn, or is damaged, is left out."""
    decoder = msgspec.json.Decoder(_Line)
    lines = []
    for text in _content(file).split(b"\n"):
        try:
            line = decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if line.check == _check(line.section, line.key, line.value):
            lines.append(line)
    return lines


def _content(file: Path) -> bytes:
    """Empty for a file that another attempt has removed meanwhile, or that cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _age_s(path: Path, now: datetime) -> float:
    """Seconds since the last line; 0 for a file that another attempt has removed meanwhile."""
    try:
        return now.timestamp() - path.stat().st_mtime
    except OSError:
        return 0.0


def _removed(paths: tuple[Path, ...]) -> tuple[str, ...]:
    """Remove files; what a reader must know of those that cannot be."""
    return tuple(note for note in map(_remove, filter(Path.exists, paths)) if note is not None)


def _remove(path: Path) -> str | None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        return f"got `{error.strerror}` while removing {path}: the next run goes on from it; remove it by hand"
    return None
