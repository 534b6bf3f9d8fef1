"""Timing of several things in one loop, so that whatever else the machine does meets all of them alike."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a subject took, in the median."""

    seconds: float
    """By the clock on the wall."""

    cpu_seconds: float
    """Of all processors together, by this process: other load hardly shows."""


def medians(subjects: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 1) -> dict[str, float]:
    """Median seconds of each subject over `rounds` rounds, as `spent`."""
    return {name: found.seconds for name, found in spent(subjects, rounds=rounds, warm_up=warm_up).items()}


def spent(subjects: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 1) -> dict[str, Spent]:
    """Medians of each subject over `rounds` rounds, every subject once a round, the order turning."""
    names = list(subjects)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for turn in range(-warm_up, rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            began, cpu_began = time.perf_counter(), time.process_time()
            subjects[name]()
            if turn >= 0:
                samples[name].append((time.perf_counter() - began, time.process_time() - cpu_began))
    columns = {name: list(zip(*values, strict=True)) for name, values in samples.items()}
    return {
        name: Spent(seconds=statistics.median(wall), cpu_seconds=statistics.median(cpu))
        for name, (wall, cpu) in columns.items()
    }


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, rows of which may be short, under a line about the machine and its load."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        f"{title}  [{platform.machine()}, {os.cpu_count()} cores, load {load}, Python {platform.python_version()}]"
    ]
    width = max(map(len, (header, *rows)))
    cells = [[*map(str, row), *[""] * (width - len(row))] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first, *others = zip(row, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip())
    sys.stdout.write("\n".join(lines) + "\n\n")


def against(value: float, budget: float) -> str:
    """Whether `value` keeps its budget."""
    return "kept" if value <= budget else "MISSED"
