"""Timing of several things in one loop, so that whatever else the machine does meets all of them alike."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence


def medians(subjects: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 1) -> dict[str, float]:
    """Median seconds of each subject over `rounds` rounds, every subject once a round, the order turning."""
    names = list(subjects)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warm_up, rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            began = time.perf_counter()
            subjects[name]()
            if turn >= 0:
                samples[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in samples.items()}


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table under a line about the machine and its load."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        f"{title}  [{platform.machine()}, {os.cpu_count()} cores, load {load}, Python {platform.python_version()}]"
    ]
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first, *others = zip(row, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip())
    sys.stdout.write("\n".join(lines) + "\n\n")


def against(value: float, budget: float) -> str:
    """Whether `value` keeps its budget."""
    return "kept" if value <= budget else "MISSED"
