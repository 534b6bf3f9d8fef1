"""What several shards say of speed, as one.

Decides no verdict: each comparison was believed, or not, by the controls of its own machine, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import SEVERITY, Comparison, ComparisonRun

Value = TypeVar("Value")


def merged_speed(parts: Sequence[PerformanceDocument]) -> PerformanceDocument | None:
    """One document; None where no shard was asked about speed. What there is but one of is the first that has it."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return PerformanceDocument(
        peaks=_united(part.peaks for part in parts),
        profiles=_united(part.profiles for part in parts),
        sweeps=_united(part.sweeps for part in parts),
        comparison=_one_run([part.comparison for part in parts if part.comparison is not None]),
        history=_united(part.history for part in parts),
        alarms=next((part.alarms for part in parts if part.alarms is not None), None),
        notes=_united(part.notes for part in parts),
        imported=_united(part.imported for part in parts),
        comparable=next((part.comparable for part in parts if part.comparable is not None), None),
        trends=_united(part.trends for part in parts),
    )


def _one_run(runs: Sequence[ComparisonRun]) -> ComparisonRun | None:
    """All comparisons, the worst first. Shards had machines of their own: how far each is believed is in its notes."""
    if len(runs) < 2:
        return runs[0] if runs else None
    return replace(
        runs[0],
        arms=_united(run.arms for run in runs),
        comparisons=tuple(sorted(_united(run.comparisons for run in runs), key=_severity)),
        controls=_united(run.controls for run in runs),
        contaminated=next((run.contaminated for run in runs if run.contaminated is not None), None),
        probe_ratio=None,
        processes=sum(run.processes for run in runs),
        duration_s=sum(run.duration_s for run in runs),
        complete=all(run.complete for run in runs),
        notes=_united(run.notes for run in runs),
    )


def _severity(comparison: Comparison) -> tuple[int, float]:
    ratio = 1.0 if comparison.effect is None else comparison.effect.ratio
    return SEVERITY.index(comparison.verdict), -ratio


def _united(parts: Iterable[Sequence[Value]]) -> tuple[Value, ...]:
    """Everything once, in order. Values hold mappings, which cannot be hashed; what they look like can."""
    return tuple({repr(each): each for part in parts for each in part}.values())
