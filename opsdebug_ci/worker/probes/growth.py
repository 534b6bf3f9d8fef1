"""How does the error grow with the length of the sum?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind, Status
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.worker.probes.scene import Scene

RULE = "growth"

SUMMING = (Kind.REDUCTION, Kind.MATMUL, Kind.SCAN)
"""Kinds whose tolerance follows the error of a running sum."""

FACTORS = (0.25, 0.5, 1.0, 2.0)
"""Lengths, as multiples of the case's."""

SHORTEST = 16
"""Terms below which a sum makes no error to speak of."""

FLAT = 0.25
"""Largest slope, in decades per decade, that counts as none."""

FEWEST_BAD = 8
"""Bad elements from which their largest error is a statistic."""


def growth(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Verifies the operator at other lengths of each dim that is summed over, and fits a power of the length.

    The statistic is the largest error in tolerances, which are lambda*u*sqrt(V) here: flat means errors that grow as
    those of a running sum do, in a coarser format (reference: the error of recursive summation, Higham, ASNA 2nd ed.,
    section 4.2); rising means a sum that stagnates; falling, with the root of the length, operands that were rounded
    once. Silent unless the errors have both signs, or all point to zero, as roundings do.
    """
    if failure.kind not in SUMMING or failure.tolerance is None or not _looks_like_rounding(failure):
        return
    for dim, size in scene.case.dims.items():
        if size in failure.actual.shape or size * FACTORS[0] < SHORTEST or scene.expired:
            continue
        ratios = {length: _ratio(scene, dim, length) for length in (round(size * factor) for factor in FACTORS)}
        told = {length: ratio for length, ratio in ratios.items() if ratio}
        if len(told) < 3:
            continue
        slope = _slope(told)
        listed = ", ".join(f"{ratio:.3g} at {length}" for length, ratio in told.items())
        meaning = _meaning(slope)
        if meaning is not None:
            yield failure.clue(
                RULE,
                Cause.LOW_PRECISION_ACCUM,
                0.8,
                f"the error in tolerances of a {failure.accumulate.name} sum, by {dim}: {listed}; {meaning}",
                {"dim": dim, "slope": slope, "ratios": listed},
            )


def _looks_like_rounding(failure: Failure) -> bool:
    error = failure.error[failure.bad]
    finite = torch.isfinite(error)
    if int(finite.sum()) < FEWEST_BAD:
        return False
    error, expected = error[finite], failure.expected[failure.bad][finite].double()
    positive = float((error > 0).double().mean())
    toward_zero = float((error * expected < 0).double().mean())
    return 0.2 < positive < 0.8 or toward_zero > 0.95


def _ratio(scene: Scene, dim: str, length: int) -> float | None:
    """Largest error in tolerances at another length; None when it did not run or has none."""
    if scene.expired:
        return None
    observation = scene.observe_at({dim: length})
    worst = observation.worst_output
    if observation.status is not Status.RAN or worst is None or worst.accuracy is None:
        return None
    return worst.accuracy.worst.ratio if worst.accuracy.worst is not None else None


def _slope(ratios: dict[int, float]) -> float:
    """Least squares of log(ratio) on log(length)."""
    xs, ys = [math.log(length) for length in ratios], [math.log(ratio) for ratio in ratios.values()]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def _meaning(slope: float) -> str | None:
    if slope > 3 * FLAT:
        return "it grows faster than a running sum's, as where a narrow sum stagnates"
    if abs(slope) <= FLAT:
        return "it is the running sum of a coarser format"
    if -0.75 < slope < -FLAT:
        return "it falls with the root of the length, as where operands are rounded once to a coarser format"
    return None
