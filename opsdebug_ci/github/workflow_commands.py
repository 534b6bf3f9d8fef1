"""Workflow commands: the lines on standard output that the runner reads as annotations.

Decides how they are escaped, located and capped. Deliberately prints nothing: every function returns text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from opsdebug_ci.github.plain_text import one_line, plain_text

LEVEL_LIMIT = 10
"""Annotations of one level that GitHub shows per step; the rest would be dropped silently."""

TITLE_LIMIT = 200
"""Characters of a title."""

MESSAGE_LIMIT = 4_000
"""Characters of a message; GitHub cuts the whole annotation at 64 KiB."""


class Level(str, Enum):
    """How an annotation is shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One remark, beside a line of code where the line is known."""

    level: Level
    """How it is shown."""

    title: str
    """Heading; one line, untrusted."""

    message: str
    """Text; may have several lines, untrusted."""

    file: str | None = None
    """POSIX path relative to the repository, or None."""

    line: int | None = None
    """Line in `file` from 1, or None."""


def escape_data(text: str) -> str:
    """`text` as the data of a command (the runner decodes %25, %0D and %0A)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """`text` as the value of a property, where `:` and `,` separate too."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def repository_path(path: str) -> str | None:
    """`path` when it is a relative POSIX path that stays inside the repository, else None."""
    unsafe = path.startswith("/") or "\\" in path or ":" in path[:2] or ".." in path.split("/")
    return None if unsafe or path in ("", ".") or one_line(path, len(path)) != path else path


def render_annotation(annotation: Annotation) -> str:
    """One command line. A location that is not inside the repository is dropped, the remark is kept."""
    properties = [("title", one_line(annotation.title, TITLE_LIMIT))]
    file = None if annotation.file is None else repository_path(annotation.file)
    if file is not None:
        properties.insert(0, ("file", file))
        if annotation.line is not None and annotation.line > 0:
            properties.insert(1, ("line", str(annotation.line)))
    fields = ",".join(f"{name}={escape_property(value)}" for name, value in properties)
    return f"::{annotation.level.value} {fields}::{escape_data(plain_text(annotation.message, MESSAGE_LIMIT))}"


def render_annotations(annotations: Sequence[Annotation]) -> tuple[str, ...]:
    """The first ten of each level as command lines, then one plain line that says how many were left out."""
    lines: list[str] = []
    left_out = 0
    for level in Level:
        chosen = [annotation for annotation in annotations if annotation.level is level]
        lines.extend(render_annotation(annotation) for annotation in chosen[:LEVEL_LIMIT])
        left_out += max(0, len(chosen) - LEVEL_LIMIT)
    if left_out:
        lines.append(f"{left_out} more annotations are in the job summary only")
    return tuple(lines)


def stop_commands(token: str) -> str:
    """The line after which the runner reads no commands until `resume_commands(token)`; `token` must be unguessable."""
    return f"::stop-commands::{token}"


def resume_commands(token: str) -> str:
    """The line that ends `stop_commands(token)`."""
    return f"::{token}::"
