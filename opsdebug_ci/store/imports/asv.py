"""airspeed velocity (asv): result files `results/<machine>/<commit>-<environment>.json`, versions 1 and 2.

Times are in seconds per call. The run's time is the date of its commit, by which asv orders results too: it may have
measured years of commits in one night. What is a time, and what the parameters are called, tells `benchmarks.json`
beside the machines; without it, the name of the function says whether asv timed it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.store.imports import measured
from opsdebug_ci.store.imports.asv_rows import Result, entries_of, results_of
from opsdebug_ci.store.imports.history import (
    HistoryFormat,
    LeftOut,
    SourceFile,
    SourceHistory,
    SourceMachine,
    SourceRun,
    has_keys,
)
from opsdebug_ci.store.imports.source_text import converted, read_source, refuse

NAME = "asv"

DESCRIPTIONS = "benchmarks.json"
"""File beside the machines' directories that describes every benchmark."""

MACHINE = "machine.json"
"""File beside the results that describes the machine; each result repeats what it says."""

VERSIONS = (1, 2)
"""Versions of the result format that are read."""

LONGEST_LITERAL = 200
"""Characters of a parameter that is looked into: a shape, a number, a name."""

_TIMED = re.compile(r"(?:.*\.)?(?:time(?:raw)?_[^.]*|Time(?:raw)?[A-Z_][^.]*)", re.DOTALL)
"""Functions that asv times, by their names."""

_NAMED = re.compile(r"<class '(?:[\w.]+\.)?(?P<type>\w+)'>|'(?P<quoted>[^'\\]+)'")
"""How a type or a name among the parameters is written."""

_SHAPE = re.compile(r"[(\[][0-9]{1,18}(?:, [0-9]{1,18})*,?[)\]]")
"""How a tuple or list of sizes is."""


class _Described(msgspec.Struct, frozen=True):
    """What benchmarks.json says of a benchmark."""

    type: str = ""
    """`time`, `track`, `peakmemory`, ..."""

    param_names: list[str] = []
    """Names of its parameters, in order."""


class _File(msgspec.Struct, frozen=True):
    """A result file."""

    commit_hash: str
    """Full hash."""

    date: float
    """Date of the commit; ms since 1970."""

    results: dict[str, Any]
    """By benchmark."""

    version: int
    """Of the format."""

    params: dict[str, Any] = {}
    """Facts of the machine and choices of the environment."""

    python: str = ""
    """Interpreter: a version, or a path."""

    requirements: dict[str, Any] = {}
    """What is installed in the environment."""

    env_name: str = ""
    """Name of the environment."""

    result_columns: list[str] = []
    """What stands in a row of version 2."""


def read(files: Sequence[SourceFile]) -> SourceHistory:
    """One run per file. Raises UsageError for a file that is not as the tool writes it."""
    left_out: Counter[LeftOut] = Counter()
    places = dict.fromkeys(place for file in files for place in (file.path.parent, file.path.parent.parent))
    described = {place: _descriptions(place) for place in places}
    runs = tuple(
        _run(file, described[file.path.parent] or described[file.path.parent.parent], left_out) for file in files
    )
    return SourceHistory(runs=runs, left_out=left_out)


def _descriptions(place: Path) -> dict[str, _Described]:
    path = place / DESCRIPTIONS
    if not path.is_file():
        return {}
    document = read_source(path).document
    # NOTE: the version of the file itself stands among the benchmarks.
    kept = {name: one for name, one in document.items() if name != "version"} if isinstance(document, dict) else {}
    return converted(SourceFile(path=path, document=kept), dict[str, _Described])


def _run(file: SourceFile, described: Mapping[str, _Described], left_out: Counter[LeftOut]) -> SourceRun:
    found = converted(file, _File)
    if found.version not in VERSIONS:
        refuse(file.path, f"version {found.version} of asv's results", f"one of {VERSIONS}", "update opsdebug-ci")
    return SourceRun(
        tool=NAME,
        version=f"results/{found.version}",
        commit=measured.full_commit(found.commit_hash, file.path, "commit_hash"),
        started_at=measured.instant_of_ms(found.date, file.path, "date"),
        machine=_machine(found),
        times=tuple(
            time
            for name, cell in found.results.items()
            for time in _times(file, found, name, cell, described.get(name, _Described()), left_out)
        ),
    )


def _times(
    file: SourceFile, found: _File, name: str, cell: Any, described: _Described, left_out: Counter[LeftOut]
) -> Iterator[ImportedTime]:
    timed = described.type == "time" if described.type else _TIMED.fullmatch(name) is not None
    if not timed:
        left_out[LeftOut.NOT_A_TIME] += entries_of(cell, found.version)
        return
    for result in results_of(file, name, cell, found.result_columns, found.version):
        if result.result_s is None:
            left_out[LeftOut.FAILED] += 1
        else:
            source = f"{NAME} results/{found.version}"
            yield from measured.told(_time(name, described.param_names, result, source), left_out)


def _time(name: str, names: Sequence[str], result: Result, source: str) -> ImportedTime:
    samples = measured.samples_of(result.samples_s, measured.SECOND_NS)
    value = measured.time_ns(result.result_s, measured.SECOND_NS)
    known = [*names, *(f"parameter_{position}" for position in range(len(names), len(result.values)))]
    parameters = dict(zip(known, map(_plain, result.values), strict=False))
    full = f"{name}({', '.join(result.values)})" if result.values else name
    return ImportedTime(
        case=measured.case_of(NAME, full, parameters, operator=name, identity=[name, list(result.values)]),
        source=source,
        min_ns=measured.smallest(samples) if result.described else value,
        median_ns=value if result.described else None,
        samples_ns=samples,
        samples=result.repeat if samples is None else len(samples),
        calls=result.number,
    )


def _plain(text: str) -> object:
    """A parameter's value from how Python writes it: a whole number, a name, a type, or a shape; else the text."""
    if len(text) > LONGEST_LITERAL:
        return text
    if named := _NAMED.fullmatch(text):
        return named["type"] or named["quoted"]
    if _SHAPE.fullmatch(text):
        return [int(size) for size in re.findall(r"[0-9]+", text)]
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else text


def _machine(found: _File) -> SourceMachine:
    told = {key: value for key, value in found.params.items() if isinstance(value, str)}
    required = {key: value for key, value in found.requirements.items() if isinstance(value, str)}
    return SourceMachine(
        system=f"{told.get('os', '').split(' ')[0]} {told.get('arch', '')}".strip(),
        cpu=told.get("cpu", ""),
        cores=_whole(told.get("num_cpu", "")),
        memory_bytes=_whole(told.get("ram", "")),
        python=found.python if re.fullmatch(r"[\d.]+", found.python) else "",
        facts=(NAME, found.env_name, found.python, *_pairs(told), *_pairs(required)),
    )


def _pairs(told: Mapping[str, str]) -> list[str]:
    return [f"{key}={told[key]}" for key in sorted(told)]


def _whole(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


FORMAT = HistoryFormat(name=NAME, recognises=lambda document: has_keys(document, "commit_hash", "results"), read=read)
