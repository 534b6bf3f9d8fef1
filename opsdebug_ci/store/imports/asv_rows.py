"""One benchmark of an asv result file, whichever version of the format it is written in.

Version 2 has a row per benchmark, whose cells are named by the file's `result_columns`; version 1 has an object, or the
bare result of a benchmark without parameters. Both come to the same value here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import msgspec

from opsdebug_ci.store.imports.history import SourceFile
from opsdebug_ci.store.imports.source_text import refuse

Number = Union[float, None]
"""A number, or null; spelled so because Python 3.10 reads it with the types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one benchmark with one combination of its parameters."""

    values: tuple[str, ...]
    """Its parameters' values, as Python writes them."""

    result_s: float | None
    """What asv calls the result; None: it failed, or was skipped."""

    samples_s: tuple[float | None, ...] | None
    """Its samples; None: they were not kept."""

    repeat: int | None
    """Number of samples; None: not told."""

    number: int | None
    """Calls averaged in a sample; None: not told."""

    described: bool
    """There are statistics or samples of it. Without them the result is the shortest sample: up to version 0.2 asv kept
    nothing else, and since then it is the median of what they describe."""


class _Row(msgspec.Struct, frozen=True):
    """A benchmark in version 2; lists have an entry for every combination."""

    result: list[Number] | None = None
    """Results; None: all failed."""

    params: list[list[str]] | None = None
    """Values of every parameter."""

    samples: list[list[Number] | None] | None = None
    """Samples."""

    stats_repeat: list[int | None] | None = None
    """Numbers of samples."""

    stats_number: list[int | None] | None = None
    """Calls averaged in a sample."""


class _Statistics(msgspec.Struct, frozen=True):
    """What version 1 says of the samples."""

    repeat: int | None = None
    """Their number."""

    number: int | None = None
    """Calls averaged in one."""


class _Older(msgspec.Struct, frozen=True):
    """A benchmark in version 1."""

    result: list[Number] | Number = None
    """Results, or the only one."""

    params: list[list[str]] | None = None
    """Values of every parameter."""

    samples: list[list[Number] | None] | None = None
    """Samples."""

    stats: list[_Statistics | None] | _Statistics | None = None
    """Statistics."""


def results_of(file: SourceFile, name: str, cell: Any, columns: Sequence[str], version: int) -> list[Result]:
    """Every result of a benchmark that is timed.

    Args:
        file: which file it is of.
        name: the benchmark.
        cell: what the file has under its name.
        columns: names of a row's cells in version 2.
        version: of the format, 1 or 2.

    Raises:
        UsageError: it is not as asv writes it.
    """
    try:
        row = _newer(cell, columns) if version == 2 else _older(cell)
    except msgspec.ValidationError as error:
        refuse(file.path, f"benchmark `{name[:80]}`: {str(error)[:200]}", "results as asv writes them")
    results = [None] if row.result is None else row.result
    return [
        Result(
            values=values,
            result_s=result if result is None or not math.isnan(result) else None,
            samples_s=None if (samples := _at(row.samples, position)) is None else tuple(samples),
            repeat=(repeat := _at(row.stats_repeat, position)),
            number=_at(row.stats_number, position),
            described=samples is not None or repeat is not None,
        )
        for position, (result, values) in enumerate(
            zip(results, _combinations(row.params or [], len(results)), strict=True)
        )
    ]


def entries_of(cell: Any, version: int) -> int:
    """How many results a benchmark has that is not timed, whose results may be anything."""
    results = cell[0] if version == 2 and isinstance(cell, list) and cell else cell
    results = results.get("result") if isinstance(results, dict) else results
    return max(len(results), 1) if isinstance(results, list) else 1


def _newer(cell: Any, columns: Sequence[str]) -> _Row:
    cells = msgspec.convert(cell, list[Any], strict=True)
    return msgspec.convert(dict(zip(columns, cells, strict=False)), _Row, strict=True)


def _older(cell: Any) -> _Row:
    plain = cell if isinstance(cell, dict) else {"result": cell}
    old = msgspec.convert(plain, _Older, strict=True)
    stats = old.stats if isinstance(old.stats, list) else [old.stats]
    return _Row(
        result=old.result if isinstance(old.result, list) else [old.result],
        params=old.params,
        samples=old.samples,
        stats_repeat=[None if one is None else one.repeat for one in stats],
        stats_number=[None if one is None else one.number for one in stats],
    )


def _combinations(params: list[list[str]], results: int) -> list[tuple[str, ...]]:
    """Values of the parameters of every result: the last parameter varies fastest."""
    if params and math.prod(map(len, params)) == results:
        return list(itertools.product(*params))
    # NOTE: results without parameters to match are told apart by their position.
    return [()] if results == 1 else [(str(position),) for position in range(results)]


def _at(values: Sequence[Any] | None, position: int) -> Any:
    return values[position] if values is not None and position < len(values) else None
