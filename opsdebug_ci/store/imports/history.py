"""What a file of another tool comes to: its runs, and what was left out of it and why.

Decides the values that every format is read into, and the interface of a format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.model.vocabulary import Word


class LeftOut(Word):
    """Why a benchmark of the source became no row."""

    NOT_A_TIME = "not a time"
    """It counts bytes, a rate of something else, or any other thing."""
    FAILED = "failed or skipped there"
    """The source holds no value for it."""
    NO_NUMBER = "no positive, finite time"
    """Its value is zero, negative, infinite or too large to be a time."""
    FUTURE = "dated more than a day ahead of now"
    """A clock was wrong there: its run would be the newest for years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMachine:
    """What a source tells of the machine; what it does not tell is empty or zero."""

    system: str = ""
    """Operating system and architecture."""

    cpu: str = ""
    """CPU model."""

    cores: int = 0
    """Cores; 0: not told."""

    memory_bytes: int = 0
    """Physical memory; 0: not told."""

    python: str = ""
    """Version of the interpreter."""

    facts: tuple[str, ...] = ()
    """Everything its key is made of, in a fixed order: what tells two machines, environments or suites apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """One run of another tool."""

    tool: str
    """Which tool, without its version."""

    version: str
    """Its version, or that of its format; empty where the source has neither."""

    commit: str
    """Full hash; empty where the source names none."""

    branch: str = ""
    """Branch; empty where the source names none."""

    dirty: bool = False
    """The source says that the work tree differed from the commit."""

    started_at: datetime
    """When, by the source; UTC."""

    machine: SourceMachine
    """Where."""

    times: tuple[ImportedTime, ...]
    """Its benchmarks, in the order of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHistory:
    """Everything a file, or a directory of files, holds."""

    runs: tuple[SourceRun, ...]
    """Its runs, in the order of the source; one without a time is left out."""

    left_out: Mapping[LeftOut, int] = field(default_factory=dict)
    """Benchmarks that became no row, by reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of another tool, parsed."""

    path: Path
    """Where it is."""

    document: Any
    """Its JSON as plain values, not checked yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFormat:
    """A format of history that is understood."""

    name: str
    """Name of the tool that writes it."""

    recognises: Callable[[Any], bool]
    """Whether a parsed document is of this format, by its outermost keys."""

    read: Callable[[Sequence[SourceFile]], SourceHistory]
    """Reads files of this format. Raises UsageError for one that is not as the format says."""


def has_keys(document: Any, *keys: str) -> bool:
    """Whether a parsed document is an object with all these keys."""
    return isinstance(document, dict) and all(key in document for key in keys)
