"""Where an absolute path begins and ends in a text that people read.

Decides it by form alone: of either system, with blanks, in quotation marks, as an address of `file:`. A blank may be
part of a path or its end: inside a name two are taken for the path's own, not right before what is looked for, which no
installation has.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath
from urllib.parse import quote

_APART = r"(?<![\w./\\-])"
"""Before a path: what stands behind one of these is the rest of a longer name."""

_SEPARATOR = r"[/\\]+"
"""Doubled where a text was quoted."""

_START = rf"(?:file:)?(?:[/\\]{{1,4}}(?:[?.]{_SEPARATOR})?(?:[A-Za-z]:{_SEPARATOR})?|[A-Za-z]:{_SEPARATOR})"
"""The root, a drive, a server, an address."""

_WORD = r"(?:[^\s'\"`(),;:=/\\]|=(?![/\\])){1,255}"
"""Of a name: as long as file systems let a name be. Behind `=` another path begins."""

_NAMES = rf"(?:{_WORD}(?:[ \u00a0]{_WORD}){{0,2}}{_SEPARATOR}){{0,60}}{_WORD}{_SEPARATOR}"
"""More than any path of 4,096 characters has in practice, so that the time it takes grows as the text does."""

_QUOTED = r"(?:(?!\s[/\\]|[:;,] )[^'\"`\n]){0,999}"
"""Whatever is in quotation marks, but for the beginning of another path, or a sentence."""


def before(marker: str) -> re.Pattern[str]:
    """What stands before a directory, from the beginning of its absolute path.

    Args:
        marker: expression for the directory's name.
    """
    ahead = rf"(?=(?:{marker})[/\\])"
    return re.compile(rf"(?<=['\"`]){_START}{_QUOTED}(?<=[/\\]){ahead}|{_APART}{_START}(?:{_NAMES})?{ahead}")


def spellings(directory: PurePath) -> str:
    """Expression for `directory` as texts spell it: with separators of either kind, composed or not, percent-encoded,
    escaped; also as the path of an address."""
    parts = [part.strip("/\\") for part in directory.parts]
    ways = (
        str,
        lambda part: unicodedata.normalize("NFC", part),
        lambda part: unicodedata.normalize("NFD", part),
        lambda part: quote(part, safe=":"),
        lambda part: ascii(part)[1:-1],
    )
    texts = dict.fromkeys(_SEPARATOR.join(re.escape(way(part)) for part in parts if part) for way in ways)
    rooted = r"[/\\]+" if directory.root and not directory.drive else r"(?:[/\\]{3})?"
    return rf"{_APART}(?:file:)?{rooted}(?:{'|'.join(texts)})"
