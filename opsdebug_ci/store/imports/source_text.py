"""Files of other tools as plain values, and plain values as the types a format has.

Decides what is accepted as text: JSON of a bounded size, with the NaN and Infinity that Python's own writers leave in
it, or the same assigned to a variable in JavaScript, of which nothing is run. A mistake is told once, with its place.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.imports.history import SourceFile

MOST_BYTES = 256 << 20
"""Largest file that is read. A file that holds the whole history grows by some 300 bytes a benchmark and run, so this
is about a million of them; its plain values need some five times as much memory."""

_ASSIGNED = re.compile(r"\s*(?:window\.)?[A-Za-z_$][\w$]{0,99}\s*=\s*(?=\{)")
"""What stands ahead of the JSON in a JavaScript file that only assigns it."""

Value = TypeVar("Value")


def read_source(path: Path) -> SourceFile:
    """Read and parse one file.

    Raises:
        UsageError: it cannot be read, is too large, or is no JSON.
    """
    return SourceFile(path=path, document=_parsed(_text(path), path))


def converted(file: SourceFile, kind: type[Value]) -> Value:
    """The document of `file` as a value of `kind`; keys that `kind` does not know are left alone.

    Raises:
        UsageError: something in it has another type; says where.
    """
    try:
        return msgspec.convert(file.document, kind, strict=True)
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        refuse(file.path, str(error)[:300], "a file as the tool writes it")


def refuse(path: Path, got: str, wanted: str, next_step: str = "write it again with the tool it is of") -> NoReturn:
    """Raise the UsageError that says what is wrong with a file."""
    raise UsageError(f"cannot import `{path}`: got {got}; wanted {wanted}", next_step=next_step)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        refuse(path, f"`{error.strerror}`", "a file this user can read", "check the path")
    if len(data) > MOST_BYTES:
        refuse(path, f"more than {MOST_BYTES:,} bytes", "less", "split its history into several files")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(path, f"a byte that is no UTF-8 at position {error.start:,}", "JSON")


def _parsed(text: str, path: Path) -> Any:
    assigned = _ASSIGNED.match(text)
    body = text[assigned.end() :].rstrip().removesuffix(";") if assigned else text
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        line = error.lineno + (text.count("\n", 0, assigned.end()) if assigned else 0)
        refuse(path, f"`{error.msg}` at line {line:,}, column {error.colno:,}", "JSON")
    except RecursionError:
        refuse(path, "objects nested too deep to be read", "JSON as the tool writes it")
    except ValueError as error:
        refuse(path, f"a number that is none (`{str(error)[:80]}`)", "JSON as the tool writes it")
