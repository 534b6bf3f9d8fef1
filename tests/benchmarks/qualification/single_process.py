"""What one fresh process of a commit measured: medians for rules that go by one run, minima to size what is planted."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rules import RuleError, command


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Answer of `samples.py`."""

    kernels: dict[str, list[float]]
    """Operator -> ns per call, by sample."""

    probe: list[float]
    """The copy of memory; ns."""

    excess_ns: float
    """What a planted wait lasts longer than it is told to."""

    def min_ns(self, name: str) -> float:
        """Shortest sample of one operator."""
        return min(self.kernels[name])

    def median_ns(self, name: str) -> float:
        """Median sample of one operator."""
        return statistics.median(self.kernels[name])

    @property
    def probe_ns(self) -> float:
        """Median of the copies of memory."""
        return statistics.median(self.probe)


def measure(tree: Path, python: str) -> Measured:
    """Run a work tree once in a fresh process.

    Raises:
        RuleError: it did not answer.
    """
    ran = command([python, "samples.py"], folder=tree, environment=environment())
    try:
        return msgspec.json.decode(ran.out, type=Measured)
    except msgspec.DecodeError as error:
        raise RuleError(f"exit code {ran.code}, {error}: {ran.tail}") from error


def environment(**others: str) -> dict[str, str]:
    """Ours, without stored byte code: two versions of a file within one second would share it."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **others}
