"""The file form of a bundle: a ZIP archive of one manifest and raw storages, in exactly one spelling.

Decides every byte beside the contents: entries stored, never compressed, the manifest first, then the storages by name,
with fixed dates and rights. So the same contents make the same file and the same sha256, any tool can open it, and a
reader need not interpret anything: an archive that is not spelled like this is refused, whatever it may mean to others.
Deliberately knows nothing of what the manifest says.
"""

from __future__ import annotations

import hashlib
import stat
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.bundle.durable import Data
from opsdebug_ci.bundle.entry_name import BLOBS, MANIFEST, name_problem
from opsdebug_ci.errors import BundleError

MIB = 1024 * 1024

MOST_BYTES = 64 * MIB
"""Of a whole bundle."""

MOST_MANIFEST_BYTES = 1 * MIB
"""Of its manifest."""

MOST_ENTRIES = 1024
"""In one bundle, the manifest included."""

NEXT_STEP = "get the file again from where it was made; a bundle is never repaired"
"""What to do about a file that is no bundle."""

# APPNOTE.TXT of the ZIP format, 6.3.10: 4.3.7 local file header, 4.3.12 central directory, 4.3.16 end record.
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION, _UNIX = 10, 3 << 8 | 20
_DATE = 1 << 5 | 1  # 1980-01-01, the first there is
_RIGHTS = (stat.S_IFREG | 0o644) << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A bundle's contents, verified against their checksums and their names."""

    sha256: str
    """Of the whole file."""

    manifest: bytes
    """The manifest, uninterpreted."""

    blobs: Mapping[str, memoryview]
    """sha256 -> storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One file in the archive."""

    name: str
    """Its name."""

    size: int
    """Bytes."""

    crc: int
    """CRC-32 of them."""

    position: int
    """Where its header begins."""

    @property
    def header(self) -> bytes:
        """What stands before its bytes."""
        sizes = (self.crc, self.size, self.size, len(self.name), 0)
        return _LOCAL.pack(b"PK\3\4", _VERSION, 0, 0, 0, _DATE, *sizes) + self.name.encode()

    @property
    def listing(self) -> bytes:
        """What stands about it in the directory."""
        sizes = (self.crc, self.size, self.size, len(self.name), 0, 0, 0, 0)
        fixed = _CENTRAL.pack(b"PK\1\2", _UNIX, _VERSION, 0, 0, 0, _DATE, *sizes, _RIGHTS, self.position)
        return fixed + self.name.encode()


def packed(manifest: bytes, blobs: Mapping[str, Data]) -> bytes:
    """The bytes of a bundle.

    Args:
        manifest: at most `MOST_MANIFEST_BYTES`.
        blobs: sha256 -> storage; the names are taken at their word.

    Raises:
        BundleError: it would be larger than a bundle may be.
    """
    contents: list[tuple[str, Data]] = [(MANIFEST, manifest), *((BLOBS + name, blobs[name]) for name in sorted(blobs))]
    _check_caps(sum(len(data) for _, data in contents), len(manifest), len(contents), "a new bundle")
    parts: list[Data] = []
    entries = []
    position = 0
    for name, data in contents:
        entry = _Entry(name=name, size=len(data), crc=zlib.crc32(data), position=position)
        entries.append(entry)
        parts += [entry.header, data]
        position += len(entry.header) + len(data)
    directory = b"".join(entry.listing for entry in entries)
    result = b"".join([*parts, directory, _end(len(entries), len(directory), position)])
    _check_caps(len(result), len(manifest), len(contents), "a new bundle")
    return result


def read_archive(path: Path) -> Archive:
    """The verified contents of a file.

    Raises:
        BundleError: it cannot be read, or is not a bundle, or not one we take.
    """
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise BundleError(f"{path}: is no file; wanted a bundle", next_step="name an `.opsbundle` file")
        if facts.st_size > MOST_BYTES:
            raise BundleError(f"{path}: has {facts.st_size} bytes; wanted at most {MOST_BYTES}", next_step=NEXT_STEP)
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BundleError(
            f"{path}: cannot be read: {error.strerror}; wanted a bundle", next_step="check its name and rights"
        ) from error
    return unpacked(data, str(path))


def unpacked(data: bytes, where: str) -> Archive:
    """The verified contents of a bundle's bytes; `where` names it in messages.

    Raises:
        BundleError: it is not a bundle, or not one we take.
    """
    if len(data) > MOST_BYTES:
        raise BundleError(f"{where}: has more than {MOST_BYTES} bytes", next_step=NEXT_STEP)
    try:
        manifest, blobs = _contents(memoryview(data))
    except BundleError as refusal:
        raise BundleError(f"{where}: {refusal.message}", next_step=NEXT_STEP) from None
    return Archive(sha256=hashlib.sha256(data).hexdigest(), manifest=bytes(manifest), blobs=blobs)


def _contents(data: memoryview) -> tuple[memoryview, dict[str, memoryview]]:
    """(1) end record, (2) directory, (3) every entry where the directory says, all in their only spelling."""
    count, start = _read_end(data)
    entries = _read_directory(data, count, start)
    blobs: dict[str, memoryview] = {}
    manifest = memoryview(b"")
    position = 0
    for entry in entries:
        body = position + len(entry.header)
        if entry.position != position or data[position:body] != entry.header or body + entry.size > start:
            raise BundleError(f"entry `{entry.name}` is not where and what the directory says; wanted it at {position}")
        contents = data[body : body + entry.size]
        if zlib.crc32(contents) != entry.crc:
            raise BundleError(f"entry `{entry.name}` is damaged: its checksum differs")
        if entry.name == MANIFEST:
            manifest = contents
        else:
            blobs[_verified(entry.name, contents)] = contents
        position = body + entry.size
    if position != start:
        raise BundleError(f"{start - position} bytes belong to no entry; wanted none")
    return manifest, blobs


def _verified(name: str, contents: memoryview) -> str:
    wanted = name.removeprefix(BLOBS)
    got = hashlib.sha256(contents).hexdigest()
    if got != wanted:
        raise BundleError(f"storage {wanted[:16]} holds other bytes: got sha256 {got[:16]}")
    return wanted


def _read_end(data: memoryview) -> tuple[int, int]:
    """Number of entries, and where the directory starts."""
    if len(data) < _END.size or bytes(data[:2]) != b"PK":
        raise BundleError(f"its {len(data)} bytes do not begin as a ZIP archive; wanted a bundle")
    end = data[-_END.size :]
    signature, _, _, _, count, size, start, _ = _END.unpack(end)
    if signature != b"PK\5\6":
        raise BundleError("it does not end as a ZIP archive; it is cut off, or something was added to it")
    if count > MOST_ENTRIES:
        raise BundleError(f"it has {count} entries; wanted at most {MOST_ENTRIES}")
    if end != _end(count, size, start) or start + size + _END.size != len(data):
        raise BundleError("its end record does not fit the file; wanted one directory right before it")
    return count, start


def _read_directory(data: memoryview, count: int, start: int) -> list[_Entry]:
    entries: list[_Entry] = []
    position = start
    for number in range(count):
        fixed = data[position : position + _CENTRAL.size]
        if len(fixed) < _CENTRAL.size:
            raise BundleError(f"its directory ends after {number} of {count} entries")
        entry = _listed(_CENTRAL.unpack(fixed), data[position + _CENTRAL.size :])
        listing = entry.listing
        if data[position : position + len(listing)] != listing:
            raise BundleError(f"entry `{entry.name}` is listed in another way than bundles list theirs")
        entries.append(entry)
        position += len(listing)
    if position + _END.size != len(data):
        raise BundleError(f"its directory holds more than its {count} entries")
    names = [entry.name for entry in entries]
    if not names or names != [MANIFEST, *sorted(set(names) - {MANIFEST})]:
        raise BundleError(f"its {len(names)} entries are not one `{MANIFEST}`, then storages in order, each once")
    if entries[0].size > MOST_MANIFEST_BYTES:
        raise BundleError(f"its manifest has {entries[0].size} bytes; wanted at most {MOST_MANIFEST_BYTES}")
    return entries


def _listed(fields: tuple[int, ...], rest: memoryview) -> _Entry:
    """The entry a directory's record is about. Refuses by name what an ordinary archive might hold."""
    _, _, _, flags, method, _, _, crc, size, expanded, length, _, _, _, _, rights, position = fields
    name = bytes(rest[:length]).decode("latin-1")
    problem = name_problem(name)
    if problem:
        raise BundleError(problem)
    shown = f"entry `{name}`"
    if flags & 1:
        raise BundleError(f"{shown} is encrypted; wanted plain bytes")
    if method:
        raise BundleError(f"{shown} is compressed (method {method}, {size} to {expanded} bytes); wanted it stored")
    if stat.S_ISLNK(rights >> 16):
        raise BundleError(f"{shown} is a symbolic link; wanted a file")
    if size != expanded or size > MOST_BYTES:
        raise BundleError(f"{shown} claims {size} and {expanded} bytes; wanted one size of at most {MOST_BYTES}")
    return _Entry(name=name, size=size, crc=crc, position=position)


def _end(count: int, size: int, start: int) -> bytes:
    return _END.pack(b"PK\5\6", 0, 0, count, count, size, start, 0)


def _check_caps(size: int, manifest: int, entries: int, where: str) -> None:
    for what, got, most in (
        ("bytes", size, MOST_BYTES),
        ("bytes of manifest", manifest, MOST_MANIFEST_BYTES),
        ("entries", entries, MOST_ENTRIES),
    ):
        if got > most:
            raise BundleError(
                f"{where} would have {got} {what}; wanted at most {most}", next_step="leave out the storages"
            )
