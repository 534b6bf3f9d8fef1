"""pytest-benchmark: what `--benchmark-json` and `--benchmark-save` write.

Times are in seconds per call. `data`, the samples, is there with `--benchmark-save-data`, and always in version 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from opsdebug_ci.model.case_document import CaseDocument
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

NAME = "pytest-benchmark"

UNVERSIONED = "unversioned"
"""What it writes for the commit outside a repository."""


class _Stats(msgspec.Struct, frozen=True):
    """Statistics of one benchmark."""

    min: float | None = None
    """Shortest sample; s."""

    median: float | None = None
    """Median; s."""

    mean: float | None = None
    """Mean; s."""

    stddev: float | None = None
    """Standard deviation; s."""

    rounds: int | None = None
    """Number of samples."""

    iterations: int | None = None
    """Calls averaged in a sample."""

    data: list[float | None] | None = None
    """Every sample; s."""


class _Benchmark(msgspec.Struct, frozen=True):
    """One benchmark."""

    name: str
    """Function with its parameters."""

    fullname: str = ""
    """The same with its file."""

    params: dict[str, Any] | list[Any] | None = None
    """Parameters by name; a list in files of no version we know the names of."""

    extra_info: dict[str, Any] = {}
    """What the benchmark wrote beside its times."""

    stats: _Stats | None = None
    """None: it failed."""


class _Commit(msgspec.Struct, frozen=True):
    """Where in the history it ran."""

    id: str | None = None
    """Full hash."""

    branch: str | None = None
    """Branch."""

    dirty: bool | None = None
    """The work tree differed."""


class _File(msgspec.Struct, frozen=True):
    """A whole file."""

    machine_info: dict[str, Any]
    """What the tool found out about the machine."""

    benchmarks: list[_Benchmark]
    """In the order they ran."""

    datetime: str
    """When; versions before 4 leave the time zone out, which is UTC."""

    commit_info: _Commit = _Commit()
    """Empty outside a repository."""

    version: str = ""
    """Of the tool."""


def read(files: Sequence[SourceFile]) -> SourceHistory:
    """One run per file. Raises UsageError for a file that is not as the tool writes it."""
    left_out: Counter[LeftOut] = Counter()
    runs = tuple(_run(file, left_out) for file in files)
    return SourceHistory(runs=runs, left_out=left_out)


def _run(file: SourceFile, left_out: Counter[LeftOut]) -> SourceRun:
    found = converted(file, _File)
    commit = found.commit_info.id or ""
    source = f"{NAME} {found.version}".strip()
    return SourceRun(
        tool=NAME,
        version=found.version,
        commit="" if commit == UNVERSIONED else measured.full_commit(commit, file.path, "commit_info.id"),
        branch=found.commit_info.branch or "",
        dirty=bool(found.commit_info.dirty),
        started_at=measured.instant(found.datetime, file.path, "datetime"),
        machine=_machine(found.machine_info),
        times=tuple(time for one in found.benchmarks for time in _times(one, source, left_out)),
    )


def _times(one: _Benchmark, source: str, left_out: Counter[LeftOut]) -> list[ImportedTime]:
    stats = one.stats
    if stats is None:
        left_out[LeftOut.FAILED] += 1
        return []
    samples = measured.samples_of(stats.data, measured.SECOND_NS)
    time = ImportedTime(
        case=_case(one),
        source=source,
        min_ns=measured.time_ns(stats.min, measured.SECOND_NS),
        median_ns=measured.time_ns(stats.median, measured.SECOND_NS),
        mean_ns=measured.time_ns(stats.mean, measured.SECOND_NS),
        stddev_ns=measured.spread_ns(stats.stddev, measured.SECOND_NS),
        samples_ns=samples,
        samples=stats.rounds,
        calls=stats.iterations,
    )
    return measured.told(time, left_out)


def _case(one: _Benchmark) -> CaseDocument:
    name = one.fullname or one.name
    given = one.params if isinstance(one.params, dict) else {}
    # NOTE: `extra_info` may hold anything, also results; only what is called like an axis of ours is taken from it.
    axes: dict[str, object] = {key: one.extra_info[key] for key in ("dtype", "shape") if key in one.extra_info}
    operator = name.split("[", 1)[0]
    return measured.case_of(NAME, name, {**axes, **given}, operator=operator, identity=[name, given])


def _machine(info: Mapping[str, Any]) -> SourceMachine:
    told = info.get("cpu")
    processor = told if isinstance(told, dict) else {}
    system = f"{_text(info, 'system')} {_text(info, 'machine')}".strip()
    cpu = _text(processor, "brand_raw") or _text(processor, "brand")
    count = processor.get("count")
    cores = count if isinstance(count, int) and 0 <= count <= measured.MOST_DIM else 0
    python = _text(info, "python_version")
    implementation = _text(info, "python_implementation")
    # NOTE: neither the host's name nor its frequency: both change from job to job on machines of one kind.
    facts = (NAME, system, cpu, str(cores), implementation, python)
    return SourceMachine(system=system, cpu=cpu, cores=cores, python=python, facts=facts)


def _text(info: Mapping[str, Any], key: str) -> str:
    value = info.get(key)
    return value if isinstance(value, str) else ""


FORMAT = HistoryFormat(
    name=NAME, recognises=lambda document: has_keys(document, "machine_info", "benchmarks"), read=read
)
