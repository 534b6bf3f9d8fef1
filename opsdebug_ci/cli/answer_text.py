"""Rows as text: an aligned table, CSV, JSON.

Decides how values are spelt where a format has no word for them. A value is never altered to please a program that may
open it: CSV is data, and a text that begins with `=` stays one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.table import aligned

Row = Sequence[object]

_QUOTED = frozenset(',"\r\n')
"""Characters for which a field of CSV must be in quotes (RFC 4180, section 2)."""


def table_text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A table for people, under it the number of rows."""
    cells = [["NULL" if value is None else plain(_cell(value)) for value in row] for row in rows]
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return "\n".join([*aligned(columns, cells), f"({count})"]) + "\n"


def csv_text(columns: Sequence[str], pieces: Iterator[Sequence[Row]]) -> Iterator[str]:
    """RFC 4180 with a header, some lines at a time. NULL is an empty field, an empty text is `""`."""
    yield _line(columns)
    for rows in pieces:
        yield "".join(map(_line, rows))


def json_text(names: Sequence[str], pieces: Iterator[Sequence[Row]]) -> Iterator[str]:
    """A list of objects, some at a time; infinities and NaN are null, as in every document of ours."""
    before = "["
    for rows in pieces:
        objects = (dict(zip(names, map(_finite, row), strict=True)) for row in rows)
        yield before + ", ".join(json.dumps(each, default=_spelt, allow_nan=False) for each in objects)
        before = ", "
    yield "]\n" if before == ", " else "[]\n"


def _line(row: Row) -> str:
    line = ",".join(map(_field, row))
    # NOTE: a line without anything is skipped by those who read CSV; a single NULL is spelt as an empty text instead.
    return (line or '""') + "\r\n"


def _cell(value: object) -> str:
    """A list or struct as JSON, as in CSV; everything else as Python has it."""
    return json.dumps(_finite(value), default=_spelt) if isinstance(value, (list, tuple, dict)) else str(value)


def _field(value: object) -> str:
    if value is None:
        return ""
    text = json.dumps(_finite(value), default=_spelt) if isinstance(value, (list, tuple, dict)) else _spelt(value)
    return text if text and not _QUOTED & set(text) else '"' + text.replace('"', '""') + '"'


def _spelt(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.hex() if isinstance(value, bytes) else str(value)


def _finite(value: object) -> object:
    """`value` without the numbers JSON has no spelling for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return value
