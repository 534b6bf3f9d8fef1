"""The file a configuration comes from: which one, its table, and the line of a key.

Decides precedence between `opsdebug.toml` and `pyproject.toml`. Deliberately does not look at what the keys mean.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from opsdebug_ci.errors import ConfigurationError

OWN_FILE = "opsdebug.toml"
"""File that holds nothing but our configuration, at its top level."""

SHARED_FILE = "pyproject.toml"
"""File that holds our configuration under `[tool.opsdebug]`."""

SHARED_TABLE = "tool.opsdebug"
"""Our table in the shared file."""

EXAMPLE = 'write `[tool.opsdebug]` with `operators = ["kernels.py"]` into pyproject.toml, or run `opsdebug init`'
"""The smallest configuration that works, as a next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file with our table in it, read."""

    path: Path
    """The file, absolute."""

    shown: str
    """Its name in messages, relative to where the person stands."""

    text: str
    """Its whole text."""

    table: Mapping[str, object]
    """Our table, as TOML has it."""

    prefix: str
    """Header of our table: `tool.opsdebug`, or empty in our own file."""

    def where(self, key: str) -> str:
        """File and line of `key` (dotted inside our table), or of the nearest key around it that has a line."""
        parts = [*filter(None, self.prefix.split(".")), *key.split(".")]
        shortest = len(parts) - key.count(".") - 1
        for length in range(len(parts), shortest, -1):
            line = _line_of(self.text, ".".join(parts[:length]))
            if line:
                return f"{self.shown}:{line}"
        return self.shown


def find_source(start: Path) -> Source | None:
    """The nearest configuration from `start` upwards, or None. Raises ConfigurationError when a file is unusable."""
    for directory in (start.resolve(), *start.resolve().parents):
        own = _read(directory / OWN_FILE, start) if (directory / OWN_FILE).is_file() else None
        shared = _read(directory / SHARED_FILE, start) if (directory / SHARED_FILE).is_file() else None
        if own and shared:
            raise ConfigurationError(
                f"two configurations in one directory: {own.shown}, and [{SHARED_TABLE}] in {shared.shown}",
                next_step=f"keep one: delete the [{SHARED_TABLE}] table, or {own.shown}",
            )
        if own or shared:
            return own or shared
    return None


def read_source(path: Path, start: Path) -> Source:
    """The configuration in exactly this file. Raises ConfigurationError when there is none."""
    resolved = start / path
    if not resolved.is_file():
        kind = "a directory" if resolved.is_dir() else "no such file"
        raise ConfigurationError(
            f"`--config {path}`: {kind}; wanted a TOML file",
            next_step=f"name an existing file, or leave `--config` out to use the nearest {OWN_FILE} or {SHARED_FILE}",
        )
    source = _read(resolved.resolve(), start)
    if source is None:
        raise ConfigurationError(f"`--config {path}`: it has no [{SHARED_TABLE}] table", next_step=EXAMPLE)
    return source


def _read(path: Path, start: Path) -> Source | None:
    shown = os.path.relpath(path, start.resolve())
    try:
        text = path.read_text(encoding="utf-8")
        document = msgspec.toml.decode(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{shown} cannot be read: {error}", next_step="make it a readable UTF-8 file"
        ) from error
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{shown} is not valid TOML: {error}", next_step="correct that line") from error
    shared = path.name == SHARED_FILE
    table = _shared_table(document, shown) if shared else document
    if table is None:
        return None
    return Source(path=path, shown=shown, text=text, table=table, prefix=SHARED_TABLE if shared else "")


def _shared_table(document: Mapping[str, object], shown: str) -> Mapping[str, object] | None:
    tool = document.get("tool")
    table = tool.get("opsdebug") if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return table
    raise ConfigurationError(f"{shown}: `{SHARED_TABLE}` is {table!r}; wanted a table", next_step=EXAMPLE)


def _line_of(text: str, wanted: str) -> int | None:
    """First line that assigns or opens the dotted key `wanted`; keys inside inline tables are not looked for."""
    header = ""
    for number, line in enumerate(text.splitlines(), start=1):
        opened = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        assigned = re.match(r"\s*([\w.\-\"' ]+?)\s*=", line)
        if opened:
            header = _plain(opened[1])
        name = header if opened else _plain(f"{header}.{assigned[1]}" if header else assigned[1]) if assigned else None
        if name == wanted:
            return number
    return None


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
