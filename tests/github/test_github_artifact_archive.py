"""One file out of an archive of whoever: each hostile archive is refused, and its clean twin is read."""

from __future__ import annotations

import functools
import io
import stat
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import ArtifactError
from opsdebug_ci.github.artifacts.archive import ARCHIVE_LIMIT_BYTES, RATIO_LIMIT, read_member

NAME = "opsdebug-shard.json"
TEXT = (
    b'{"schema": "opsdebug.shard/1", "cases": "' + bytes(range(32, 127)).replace(b'"', b"").replace(b"\\", b"") + b'"}'
)
LIMIT = 2**20


def archive(
    *entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED, mode: int = 0o644, **facts: object
) -> bytes:
    """An archive of these files, as the standard library writes it."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as file:
        warnings.filterwarnings("ignore", "Duplicate name")
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = method
            file.writestr(info, data)
        file.comment = bytes(facts.get("comment", b""))
    return stream.getvalue()


class _Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError("a stream")

    def seek(self, *_: object) -> int:
        raise OSError("a stream")


def streamed() -> bytes:
    """As a program writes that does not know sizes beforehand: they stand behind the data."""
    stream = _Unseekable()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(NAME, TEXT)
    return stream.getvalue()


GOOD = archive((NAME, TEXT))
START = GOOD.rindex(b"PK\x01\x02")
"""Where the directory of GOOD begins."""


def patched(position: int, shape: str, value: int, data: bytes = GOOD) -> bytes:
    """`data` with one number changed; positions from `START` are of the directory, negative ones of the end record."""
    changed = bytearray(data)
    struct.pack_into("<" + shape, changed, len(data) + position if position < 0 else position, value)
    return bytes(changed)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(GOOD, id="deflated"),
        pytest.param(archive((NAME, TEXT), method=zipfile.ZIP_STORED), id="stored"),
        pytest.param(streamed(), id="streamed"),
        pytest.param(archive((NAME, TEXT), mode=stat.S_IFREG | 0o600), id="an ordinary file"),
        pytest.param(archive((NAME, TEXT), mode=0), id="without a mode"),
    ],
)
def test_an_honest_archive_is_read(data: bytes) -> None:
    assert read_member(data, NAME, LIMIT) == TEXT


@given(st.binary(max_size=5_000), st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
def test_any_content_comes_back(content: bytes, method: int) -> None:
    assert read_member(archive((NAME, content), method=method), NAME, LIMIT) == content


def inner() -> bytes:
    return archive(("inner.zip", archive((NAME, TEXT))))


def many(count: int = 300_000) -> bytes:
    """So many entries in a directory of which its end record says that it has one."""
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    directory = entry * count
    return directory + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(directory), 0, 0)


def sixty_four() -> bytes:
    """An archive that spells its numbers in a zip64 record, which says what it likes."""
    end = GOOD[-22:]
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**40, 2**40, 46, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(GOOD) - 22, 1)
    return GOOD[:-22] + record + locator + end[:8] + b"\xff" * 12 + b"\0\0"


def with_a_tail() -> bytes:
    """An archive whose packed bytes end in some that belong to nothing."""
    tail = b"#!/bin/sh"
    (packed,) = struct.unpack_from("<I", GOOD, START + 20)
    longer = GOOD[:START] + tail + GOOD[START:]
    longer = patched(START + len(tail) + 20, "I", packed + len(tail), longer)
    return patched(-6, "I", START + len(tail), longer)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "not a zip": (lambda: b"<html>nope</html>" * 50, "it is no zip archive"),
    "empty": (lambda: b"", "it is no zip archive"),
    "cut short": (lambda: GOOD[:-30], "it is no zip archive"),
    "something behind it": (lambda: GOOD + b"\0", "it is no zip archive"),
    "a comment": (lambda: archive((NAME, TEXT), comment=b"hello"), "it is no zip archive"),
    "something in front of it": (lambda: b"#!/bin/sh\n" + GOOD, "its directory is not where its end record says"),
    "nothing in it": (archive, "it has 0 entries"),
    "two files": (lambda: archive((NAME, TEXT), ("evil.py", b"x")), "it has 2 entries"),
    "one name twice": (lambda: archive((NAME, TEXT), (NAME, b"{}")), "it has 2 entries"),
    "another file": (lambda: archive(("evil.py", b"x")), "it holds 'evil.py'; wanted"),
    "traversal": (lambda: archive(("../" + NAME, TEXT)), "it holds '../opsdebug-shard.json'; wanted"),
    "absolute": (lambda: archive(("/etc/" + NAME, TEXT)), "it holds '/etc/opsdebug-shard.json'; wanted"),
    "a drive": (lambda: archive(("C:\\" + NAME, TEXT)), "it holds 'C:\\\\opsdebug-shard.json'; wanted"),
    "a name of controls": (lambda: archive(("\u202e\x1b[31m", TEXT)), "it holds '\\u202e\\x1b[31m'; wanted"),
    "a directory": (lambda: archive((NAME + "/", b"")), "it holds 'opsdebug-shard.json/'; wanted"),
    "nested": (inner, "it holds 'inner.zip'; wanted"),
    "a symbolic link": (lambda: archive((NAME, b"/etc/passwd"), mode=stat.S_IFLNK | 0o777), "is no ordinary file"),
    "a device": (lambda: archive((NAME, b""), mode=stat.S_IFCHR | 0o666), "is no ordinary file"),
    "bzip2": (lambda: archive((NAME, TEXT), method=zipfile.ZIP_BZIP2), "is packed by method 12"),
    "lzma": (lambda: archive((NAME, TEXT), method=zipfile.ZIP_LZMA), "is packed by method 14"),
    "encrypted": (lambda: patched(START + 8, "H", 1), "is encrypted"),
    "strongly encrypted": (lambda: patched(START + 8, "H", 0x41), "is encrypted"),
    "encrypted by its header alone": (lambda: patched(6, "H", 1), "is not where, or not what, the directory says"),
    "another method in its header": (lambda: patched(8, "H", 0), "is not where, or not what, the directory says"),
    "another name in its header": (
        lambda: GOOD.replace(b"opsdebug-shard", b"opsdebug-SHARD", 1),
        "is not where, or not",
    ),
    "a wrong checksum": (lambda: patched(START + 16, "I", 0), "its length or checksum is another"),
    "damaged data": (lambda: patched(60, "Q", 0), "the archive is not taken: "),
    "smaller than it says": (lambda: patched(START + 24, "I", len(TEXT) + 1), "its length or checksum is another"),
    "larger than it says": (lambda: patched(START + 24, "I", len(TEXT) - 2), "does not end where the directory says"),
    "packed longer than it is": (lambda: patched(START + 20, "I", 2**20), "is not where, or not what"),
    "packed shorter than it is": (lambda: patched(START + 20, "I", 60), "does not end where the directory says"),
    "something behind what is packed": (with_a_tail, "does not end where the directory says"),
    "a directory elsewhere": (lambda: patched(-6, "I", 5), "its directory is not where its end record says"),
    "a directory of another size": (lambda: patched(-10, "I", 5), "its directory is not where its end record says"),
    "another disk": (lambda: patched(-18, "H", 1), "wanted `opsdebug-shard.json` alone"),
    "entries on another disk": (lambda: patched(-14, "H", 2), "wanted `opsdebug-shard.json` alone"),
    "a file elsewhere": (lambda: patched(START + 42, "I", 7), "its directory is not that of"),
    "many entries": (
        lambda: patched(-12, "H", 65_535, patched(-14, "H", 65_535, many())),
        "it has 65,535 entries",
    ),
    "many entries that are said to be one": (many, "its directory is not that of"),
    "a million entries": (lambda: many(1_000_000), "bytes; at most 16,777,216 are read"),
    "zip64": (sixty_four, "entries; wanted"),
    "a size that only zip64 spells": (lambda: patched(START + 24, "I", 2**32 - 1), "is said to be larger than any"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused(what: str) -> None:
    make, why = HOSTILE[what]
    with pytest.raises(ArtifactError) as refusal:
        read_member(make(), NAME, LIMIT)
    assert why in refusal.value.message
    assert refusal.value.message.startswith("the archive is not taken: ")
    assert refusal.value.message.isascii() and refusal.value.next_step


@pytest.mark.parametrize("position", range(0, len(GOOD), 7))
def test_any_byte_that_is_another_is_refused_or_means_nothing(position: int) -> None:
    changed = bytearray(GOOD)
    changed[position] ^= 0x55
    try:
        content = read_member(bytes(changed), NAME, LIMIT)
    except ArtifactError:
        return
    assert content == TEXT, "a date or a version may differ, what is in it may not"


@functools.cache
def bomb() -> bytes:
    """200 MB of zeros in 204 KB."""
    data = archive((NAME, bytes(200 * 2**20)))
    assert len(data) < 210_000
    return data


def lying_bomb() -> bytes:
    """The same, and it says that a hundred bytes come out."""
    data = bomb()
    return patched(data.rindex(b"PK\x01\x02") + 24, "I", 100, data)


@pytest.mark.parametrize(
    ("make", "limit", "why"),
    [
        (bomb, LIMIT, "at most 1,048,576 are read"),
        (bomb, 2**30, f"at most {RATIO_LIMIT} times as many may"),
        (lying_bomb, LIMIT, "does not end where the directory says"),
    ],
)
def test_a_bomb_costs_little(make: Callable[[], bytes], limit: int, why: str) -> None:
    data = make()
    tracemalloc.start()
    try:
        with pytest.raises(ArtifactError, match=why):
            read_member(data, NAME, limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 2**20, "bytes; the archive itself is not counted"


def test_a_ratio_that_documents_have_is_read() -> None:
    content = (TEXT * 30)[: 60 * len(TEXT)]
    data = archive((NAME, content))
    assert len(content) / len(data) > 10
    assert read_member(data, NAME, LIMIT) == content


def test_an_archive_that_is_too_large_is_not_looked_into() -> None:
    with pytest.raises(ArtifactError, match="at most 16,777,216 are read"):
        read_member(bytes(ARCHIVE_LIMIT_BYTES + 1), NAME, LIMIT)


def test_a_file_of_just_the_limit_is_read_and_one_byte_more_is_not() -> None:
    content = zlib.compress(TEXT) * 10
    data = archive((NAME, content))
    assert read_member(data, NAME, len(content)) == content
    with pytest.raises(ArtifactError, match="bytes; at most"):
        read_member(data, NAME, len(content) - 1)
