"""github-action-benchmark: the `data.js` of its pages, or the same as JSON (`external-data-json-path`).

The file holds the whole history of every suite: one number per benchmark and commit. Which statistic the number is
depends on the tool that measured: see MEDIAN_TOOLS and RATES. `range` means something else with every tool, so only
what pytest-benchmark writes there, a standard deviation by name, is kept. The file knows no machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.store.imports import measured
from opsdebug_ci.store.imports.history import (
    HistoryFormat,
    LeftOut,
    SourceFile,
    SourceHistory,
    SourceMachine,
    SourceRun,
    has_keys,
)
from opsdebug_ci.store.imports.source_text import converted

NAME = "github-action-benchmark"

MEDIAN_TOOLS = frozenset({"cargo"})
"""Tools whose number is the median; every other's is a mean, or what the author of a custom benchmark made it."""

RATES: Mapping[str, str] = {"pytest": "iter/sec", "benchmarkjs": "ops/sec"}
"""Tools that state how many calls a second takes at the mean, with the unit they do it in."""

PER_CALL = re.compile(r"(?P<unit>[^/]+?)\s*(?:/\s*(?:iter|op))?")
"""A unit of time, per call said or not."""

_STDDEV = re.compile(r"stddev:\s*(?P<seconds>[0-9.eE+-]{1,40})")
_ROUNDS = re.compile(r"(?:^|\n)rounds:\s*(?P<rounds>[0-9]{1,15})\s*(?:\n|$)")


class _Bench(msgspec.Struct, frozen=True):
    """One benchmark of an entry."""

    name: str
    """Name, with its parameters."""

    value: float | None
    """The number."""

    unit: str
    """Its unit."""

    range: Any = None
    """How far values lie apart, in words that depend on the tool."""

    extra: Any = None
    """Further text."""


class _Commit(msgspec.Struct, frozen=True):
    """The commit of an entry."""

    id: str
    """Full hash."""


class _Entry(msgspec.Struct, frozen=True):
    """One run of a suite."""

    commit: _Commit
    """What was measured."""

    date: float
    """When; ms since 1970."""

    benches: list[_Bench]
    """What came out."""

    tool: str = ""
    """Which tool's output it was made from."""


class _File(msgspec.Struct, frozen=True):
    """A whole file."""

    entries: dict[str, list[_Entry]]
    """By suite, oldest first."""


def read(files: Sequence[SourceFile]) -> SourceHistory:
    """One run per entry. Raises UsageError for a file that is not as the tool writes it."""
    left_out: Counter[LeftOut] = Counter()
    runs = tuple(
        _run(file, suite, position, entry, left_out)
        for file in files
        for suite, entries in converted(file, _File).entries.items()
        for position, entry in enumerate(entries)
    )
    return SourceHistory(runs=runs, left_out=left_out)


def _run(file: SourceFile, suite: str, position: int, entry: _Entry, left_out: Counter[LeftOut]) -> SourceRun:
    where = f"entries[{suite[:80]!r}][{position}]"
    return SourceRun(
        tool=NAME,
        version=entry.tool,
        commit=measured.full_commit(entry.commit.id, file.path, f"{where}.commit.id"),
        started_at=measured.instant_of_ms(entry.date, file.path, f"{where}.date"),
        machine=SourceMachine(facts=(NAME, suite, entry.tool)),
        times=tuple(time for one in entry.benches for time in _times(suite, entry.tool, one, left_out)),
    )


def _times(suite: str, tool: str, one: _Bench, left_out: Counter[LeftOut]) -> list[ImportedTime]:
    if one.value is None:
        left_out[LeftOut.FAILED] += 1
        return []
    rate = RATES.get(tool) == one.unit
    unit = PER_CALL.fullmatch(one.unit.strip())
    unit_ns = measured.SECOND_NS if rate else measured.UNITS_NS.get(unit["unit"]) if unit else None
    if unit_ns is None:
        left_out[LeftOut.NOT_A_TIME] += 1
        return []
    value = one.value if not rate else 1 / one.value if one.value else None
    found = measured.time_ns(value, unit_ns)
    median = tool in MEDIAN_TOOLS
    time = ImportedTime(
        case=measured.case_of(NAME, one.name, {}, operator=one.name.split("[", 1)[0], identity=[suite, one.name]),
        source=f"{NAME} {tool}".strip(),
        median_ns=found if median else None,
        mean_ns=None if median else found,
        stddev_ns=_stddev_ns(tool, one.range),
        samples=_rounds(tool, one.extra),
    )
    return measured.told(time, left_out)


def _stddev_ns(tool: str, spread: object) -> float | None:
    found = _STDDEV.fullmatch(spread.strip()) if tool == "pytest" and isinstance(spread, str) else None
    try:
        return None if found is None else measured.spread_ns(float(found["seconds"]), measured.SECOND_NS)
    except ValueError:
        return None


def _rounds(tool: str, extra: object) -> int | None:
    found = _ROUNDS.search(extra) if tool == "pytest" and isinstance(extra, str) else None
    return int(found["rounds"]) if found else None


FORMAT = HistoryFormat(name=NAME, recognises=lambda document: has_keys(document, "entries"), read=read)
