"""Google Benchmark: what `--benchmark_format=json` and `--benchmark_out` write.

Times are wall time (`real_time`, and manual time where the benchmark sets it) per iteration. Repetitions of one
benchmark are its samples; of its aggregates the mean, the median and the standard deviation are taken as stated. The
file names a commit only where one was given, as in `--benchmark_context=git_sha=...`.
"""

from __future__ import annotations

import re
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

NAME = "google-benchmark"

COMMIT_KEYS = ("git_sha", "git_commit", "git_hash", "commit", "commit_sha", "sha", "revision")
"""Keys of the context that name the commit, as projects give them; the first that is there counts."""

BRANCH_KEYS = ("git_branch", "branch")
"""Keys of the context that name the branch."""

STATED = ("min", "mean", "median", "stddev")
"""Aggregates that are taken; the coefficient of variation says nothing beside them."""

IGNORED = "cv"

SETTINGS = frozenset({"min_time", "min_warmup_time", "iterations", "repeats", "threads"})
"""Words ahead of a colon in a name that set how it is measured, and are no parameters."""

_OLD_AGGREGATE = re.compile(r"(?P<run>.+)_(?P<aggregate>mean|median|stddev|cv|BigO|RMS)", re.DOTALL)
"""Names of aggregates in versions before 1.4, which have no `run_type`."""

_ARGUMENT = re.compile(r"(?P<name>[A-Za-z_]\w*):(?P<value>.+)", re.DOTALL)
"""A named argument in a benchmark's name."""


class _Entry(msgspec.Struct, frozen=True):
    """One repetition, or one aggregate."""

    name: str
    """Full name; that of an aggregate ends with it."""

    run_name: str = ""
    """Name of the benchmark, the same for all of its entries; empty before version 1.4."""

    run_type: str = ""
    """`iteration` or `aggregate`; empty before version 1.4."""

    aggregate_name: str = ""
    """Which aggregate."""

    iterations: int | None = None
    """Iterations averaged in a repetition."""

    real_time: float | None = None
    """Wall time per iteration."""

    time_unit: str = "ns"
    """Unit of it."""

    error_occurred: bool = False
    """It failed, or skipped itself."""

    skipped: bool = False
    """It skipped itself, in newer versions."""


class _File(msgspec.Struct, frozen=True):
    """A whole file."""

    context: dict[str, Any]
    """What is known of the machine and the build, and what was added on the command line."""

    benchmarks: list[_Entry]
    """In the order they ran."""


def read(files: Sequence[SourceFile]) -> SourceHistory:
    """One run per file. Raises UsageError for a file that is not as the tool writes it."""
    left_out: Counter[LeftOut] = Counter()
    runs = tuple(_run(file, left_out) for file in files)
    return SourceHistory(runs=runs, left_out=left_out)


def _run(file: SourceFile, left_out: Counter[LeftOut]) -> SourceRun:
    found = converted(file, _File)
    context = {key: value for key, value in found.context.items() if isinstance(value, str)}
    commit_key = next((key for key in COMMIT_KEYS if context.get(key)), COMMIT_KEYS[0])
    version = context.get("library_version", "")
    return SourceRun(
        tool=NAME,
        version=version,
        commit=measured.full_commit(context.get(commit_key, ""), file.path, f"context.{commit_key}"),
        branch=next((context[key] for key in BRANCH_KEYS if context.get(key)), ""),
        started_at=measured.instant(context.get("date", ""), file.path, "context.date"),
        machine=_machine(found.context),
        times=tuple(
            time
            for run_name, entries in _grouped(found.benchmarks).items()
            for time in _times(run_name, entries, f"{NAME} {version}".strip(), left_out)
        ),
    )


def _grouped(entries: Sequence[_Entry]) -> dict[str, list[_Entry]]:
    """Benchmark -> its repetitions and aggregates."""
    groups: dict[str, list[_Entry]] = {}
    for entry in entries:
        groups.setdefault(_run_name(entry), []).append(entry)
    return groups


def _run_name(entry: _Entry) -> str:
    old = _OLD_AGGREGATE.fullmatch(entry.name) if not entry.run_type else None
    return entry.run_name or (old["run"] if old else entry.name)


def _aggregate(entry: _Entry) -> str:
    """Which aggregate an entry is; empty: it is a repetition."""
    if entry.run_type:
        return entry.aggregate_name or entry.run_type if entry.run_type != "iteration" else ""
    old = _OLD_AGGREGATE.fullmatch(entry.name)
    return old["aggregate"] if old else ""


def _times(run_name: str, entries: list[_Entry], source: str, left_out: Counter[LeftOut]) -> list[ImportedTime]:
    sound = [entry for entry in entries if not (entry.error_occurred or entry.skipped)]
    timed = [entry for entry in sound if entry.time_unit in measured.UNITS_NS and entry.real_time is not None]
    stated = {_aggregate(entry): entry for entry in timed if _aggregate(entry) in STATED}
    repeated = [entry for entry in timed if not _aggregate(entry)]
    if not stated and not repeated:
        left_out[LeftOut.NOT_A_TIME if sound else LeftOut.FAILED] += 1
        return []
    if other := sum(_aggregate(entry) not in ("", IGNORED, *STATED) for entry in sound):
        left_out[LeftOut.NOT_A_TIME] += other
    samples = _samples(repeated)
    time = ImportedTime(
        case=_case(run_name),
        source=source,
        min_ns=_stated(stated, "min") or measured.smallest(samples),
        median_ns=_stated(stated, "median") or measured.middle(samples),
        mean_ns=_stated(stated, "mean"),
        stddev_ns=None if "stddev" not in stated else measured.spread_ns(*_time_and_unit(stated["stddev"])),
        samples_ns=samples,
        samples=len(samples) if samples else next((entry.iterations for entry in stated.values()), None),
        calls=repeated[0].iterations if len({entry.iterations for entry in repeated}) == 1 else None,
    )
    return measured.told(time, left_out)


def _samples(repeated: Sequence[_Entry]) -> tuple[float, ...] | None:
    found = [measured.time_ns(*_time_and_unit(entry)) for entry in repeated]
    return measured.samples_of(found, 1.0)


def _stated(stated: Mapping[str, _Entry], aggregate: str) -> float | None:
    return None if aggregate not in stated else measured.time_ns(*_time_and_unit(stated[aggregate]))


def _time_and_unit(entry: _Entry) -> tuple[float | None, float]:
    return entry.real_time, measured.UNITS_NS[entry.time_unit]


def _case(run_name: str) -> CaseDocument:
    operator, *segments = run_name.split("/")
    named = [match for segment in segments if (match := _ARGUMENT.fullmatch(segment)) and match["name"] not in SETTINGS]
    parameters = {match["name"]: _plain(match["value"]) for match in named}
    return measured.case_of(NAME, run_name, parameters, operator=operator, identity=[run_name])


def _plain(text: str) -> object:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else text


def _machine(context: Mapping[str, Any]) -> SourceMachine:
    count = context.get("num_cpus")
    cores = count if isinstance(count, int) and 0 <= count <= measured.MOST_DIM else 0
    # NOTE: neither the host's name nor its frequency: both change from job to job on machines of one kind.
    facts = [f"{key}={context.get(key)}" for key in ("caches", "library_build_type", "cpu_scaling_enabled")]
    return SourceMachine(cores=cores, facts=(NAME, str(cores), *facts))


FORMAT = HistoryFormat(name=NAME, recognises=lambda document: has_keys(document, "context", "benchmarks"), read=read)
