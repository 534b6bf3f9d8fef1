"""A result of very few elements that is off by a factor which a size explains.

Decides that the factor is one of the sizes at hand, its inverse, or what a degree of freedom makes of it. Deliberately
leaves larger outputs to `scale`, which can ask for a constant ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure

MOST_ELEMENTS = 3
"""Elements up to which an output is this rule's."""

CLOSE = 2e-5
"""Relative distance of the ratio from what is named: with a hundred names, chance fits one in 250 ratios."""


def whole_ratio(failure: Failure) -> Iterator[Clue]:
    """Fires when every element of an output of at most three is bad and off by one factor made of sizes.

    Rivals: `scale` for larger outputs; altered references, which outrank it.
    """
    if not 0 < failure.bad.numel() <= MOST_ELEMENTS or not bool(failure.bad.all()):
        return
    got, wanted = failure.actual.double().flatten(), failure.expected.double().flatten()
    if not bool((torch.isfinite(got) & torch.isfinite(wanted) & (wanted != 0)).all()):
        return
    ratios = [float(ratio) for ratio in got / wanted]
    for words, value in _names(failure):
        if all(abs(ratio / value - 1) <= CLOSE for ratio in ratios):
            statement = f"the result is {words} times the reference ({ratios[0]:.6g}): another count is divided by"
            evidence: dict[str, EvidenceValue] = {"ratio": ratios[0], "named": words}
            yield failure.clue("whole_ratio", Cause.WRONG_DEFAULT, 0.8, statement, evidence)
            yield failure.clue("whole_ratio", Cause.WRONG_SCALE, 0.7, statement, evidence)
            return


def _names(failure: Failure) -> Iterator[tuple[str, float]]:
    yield from (("-1", -1.0), ("2", 2.0), ("1/2", 0.5), ("ln 2", math.log(2)), ("log2 e", 1 / math.log(2)))
    tensors = list(failure.tensors.values())
    sizes = {size for tensor in tensors for size in tensor.shape} | {tensor.numel() for tensor in tensors}
    sizes |= set(failure.dims.values())
    for size in sorted(size for size in sizes if size > 1):
        yield f"{size}", float(size)
        yield f"1/{size}", 1 / size
        yield f"{size}/{size - 1}", size / (size - 1)
        yield f"{size - 1}/{size}", (size - 1) / size
        yield f"sqrt({size})", math.sqrt(size)
        yield f"1/sqrt({size})", 1 / math.sqrt(size)
