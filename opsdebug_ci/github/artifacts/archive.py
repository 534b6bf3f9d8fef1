"""One file out of an uploaded archive, in memory, whoever made the archive.

Decides that an archive holds exactly the one file it must hold and not a byte beside it, stored or deflated; nothing is
ever written to a disk. Sizes are looked at before anything is read for them, and what comes out is counted while it
does, so that no archive costs more than it may. Deliberately knows nothing of what the file is about. The format is
that of APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
"""

from __future__ import annotations

import stat
import struct
import zlib
from dataclasses import dataclass

from opsdebug_ci.errors import ArtifactError

ARCHIVE_LIMIT_BYTES = 16 * 2**20
"""Bytes of an archive: a quarter of what the document in it may have, which shrinks to a tenth."""

RATIO_LIMIT = 200
"""Bytes that may come out of one. Documents of runs shrink 10 to 12 times, zeros 1,030 times."""

CHUNK_BYTES = 2**18
"""Bytes that come out at once."""

STORED, DEFLATED = 0, 8
"""The methods that are read."""

_END = struct.Struct("<4sHHHHIIH")
_LISTED = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_END_MARK, _LISTED_MARK, _LOCAL_MARK = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"

_LARGE = 0xFFFFFFFF
"""Stands for a number that only zip64 can spell."""

_ENCRYPTED = 0b10_0000_0100_0001
"""Flags 0, 6 and 13: encrypted, strongly, and its directory too."""

_NEXT = "look at the job that uploaded it, and at the step that did"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What the directory says of the file."""

    method: int
    """How it is packed: STORED or DEFLATED."""

    crc: int
    """CRC-32 of what was packed."""

    packed: int
    """Bytes as they are packed."""

    size: int
    """Bytes that come out."""

    end: int
    """Where the directory begins; the file ends before it."""


def read_member(data: bytes, name: str, limit: int) -> bytes:
    """The file `name` of an archive that holds nothing else.

    Args:
        data: the archive.
        name: of the file.
        limit: bytes it may have.

    Raises:
        ArtifactError: it is no such archive, or the file is larger, or not what the archive says of it.
    """
    if len(data) > ARCHIVE_LIMIT_BYTES:
        raise _refusal(f"it has {len(data):,} bytes; at most {ARCHIVE_LIMIT_BYTES:,} are read")
    entry = _listed(data, name)
    if entry.size > limit:
        raise _refusal(f"`{name}` has {entry.size:,} bytes; at most {limit:,} are read")
    if entry.size > RATIO_LIMIT * max(1, entry.packed):
        raise _refusal(f"{entry.size:,} bytes come out of {entry.packed:,}; at most {RATIO_LIMIT} times as many may")
    packed = _packed(data, name, entry)
    content = bytes(packed) if entry.method == STORED else _inflated(packed, entry.size)
    if len(content) != entry.size or zlib.crc32(content) != entry.crc:
        raise _refusal(f"`{name}` is not what was packed: its length or checksum is another")
    return content


def _listed(data: bytes, name: str) -> _Entry:
    """The only entry of the directory, which must be the last thing before the end record, which must be the last."""
    if len(data) < _END.size or data[-_END.size : -_END.size + 4] != _END_MARK:
        raise _refusal("it is no zip archive, or does not end with its end record")
    _, disk, first_disk, here, count, length, start, _ = _END.unpack_from(data, len(data) - _END.size)
    if disk or first_disk or here != count or count != 1:
        raise _refusal(f"it has {count:,} entries; wanted `{name}` alone")
    if _LARGE in (length, start) or start + length != len(data) - _END.size or length < _LISTED.size:
        raise _refusal("its directory is not where its end record says")
    mark, made_by, _, flags, method, _, _, crc, packed, size, *rest = _LISTED.unpack_from(data, start)
    name_length, extra, comment, _, _, attributes, offset = rest
    if mark != _LISTED_MARK or _LISTED.size + name_length + extra + comment != length or offset:
        raise _refusal(f"its directory is not that of `{name}` alone")
    found = data[start + _LISTED.size : start + _LISTED.size + name_length]
    if found != name.encode():
        raise _refusal(f"it holds {found[:80].decode('utf-8', 'replace')!a}; wanted `{name}`")
    _check_kind(name, flags, method, attributes >> 16 if made_by >> 8 == 3 else 0)
    if _LARGE in (packed, size):
        raise _refusal(f"`{name}` is said to be larger than any that is read")
    return _Entry(method=method, crc=crc, packed=packed, size=size, end=start)


def _check_kind(name: str, flags: int, method: int, mode: int) -> None:
    """It is an ordinary file that can be read without a key. `mode` is 0 where the archive has none."""
    if flags & _ENCRYPTED:
        raise _refusal(f"`{name}` is encrypted")
    if method not in (STORED, DEFLATED):
        raise _refusal(f"`{name}` is packed by method {method}; wanted {STORED} or {DEFLATED}")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise _refusal(f"`{name}` is no ordinary file")


def _packed(data: bytes, name: str, entry: _Entry) -> memoryview:
    """The bytes of the file as they are packed, which must begin the archive and agree with the directory."""
    if entry.end < _LOCAL.size:
        raise _refusal(f"`{name}` is not where the directory says")
    mark, _, flags, method, _, _, _, _, _, name_length, extra = _LOCAL.unpack_from(data)
    begin = _LOCAL.size + name_length + extra
    same = data[_LOCAL.size : _LOCAL.size + name_length] == name.encode() and method == entry.method
    if mark != _LOCAL_MARK or flags & _ENCRYPTED or not same or begin + entry.packed > entry.end:
        raise _refusal(f"`{name}` is not where, or not what, the directory says")
    return memoryview(data)[begin : begin + entry.packed]


def _inflated(packed: memoryview, size: int) -> bytes:
    """What comes out of `packed`, at most one byte more than `size`."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    found: list[bytes] = []
    room, rest = size + 1, bytes(packed)
    try:
        while room > 0 and not stream.eof:
            piece = stream.decompress(rest, min(room, CHUNK_BYTES))
            rest = stream.unconsumed_tail
            if not piece and not rest:
                break
            found.append(piece)
            room -= len(piece)
    except zlib.error as error:
        raise _refusal(f"what is packed is damaged: {error}") from error
    if not stream.eof or stream.unused_data:
        raise _refusal("what is packed does not end where the directory says")
    return b"".join(found)


def _refusal(why: str) -> ArtifactError:
    return ArtifactError(f"the archive is not taken: {why}", next_step=_NEXT)
