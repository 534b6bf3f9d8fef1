"""Columns that line up in a terminal.

Decides widths and alignment. Knows nothing about what the cells mean.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

GAP = "  "


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Lines of a table: the first `left` columns left-aligned, the others right-aligned; no trailing blanks."""
    table = [header, *rows]
    widths = [max(width(row[column]) for row in table) for column in range(len(header))]
    return [_line(row, widths, left) for row in table]


def _line(row: Sequence[str], widths: Sequence[int], left: int) -> str:
    cells = []
    for column, (cell, size) in enumerate(zip(row, widths, strict=True)):
        blank = " " * (size - width(cell))
        cells.append(cell + blank if column < left else blank + cell)
    return GAP.join(cells).rstrip()


def width(text: str) -> int:
    """Terminal columns: wide and full-width characters take two, combining marks none (Unicode UAX #11)."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
