"""Functions computed to a rounding of 1 everywhere, which is not enough where they are small.

Decides from the size of the errors alone. Deliberately names no formula: 1 - f cancels like a polynomial with a
constant term, or a table of fixed point.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure

ROUNDINGS = 8.0
"""Most roundings of 1 that errors may amount to: a handful of steps at the size of 1."""

SMALL = 0.75
"""Most that a wrong element may be: at 1 a rounding of 1 is right."""

TELLING = 0.1
"""Least that the largest element, and the largest error in roundings of 1, are where this is likely: of tiny outputs
every error is tiny."""


def absolutely_right(failure: Failure) -> Iterator[Clue]:
    """max |error| <= 8 roundings of 1 while all wrong elements are below 3/4: good absolutely, not relatively.

    For elementwise functions alone: elements of a softmax or a product are small for other reasons. Unsure where no
    element comes near 1: other cases tell.
    """
    if failure.kind not in (Kind.ELEMENTWISE, Kind.TRANSCENDENTAL, Kind.AUTO) or failure.tolerance is None:
        return
    shapes = {value.shape for value in failure.tensors.values()}
    if failure.kind is Kind.AUTO and shapes != {failure.actual.shape}:
        return
    step = 2 * failure.compute.unit_roundoff
    error, size = failure.error.abs(), failure.expected.double().abs()
    finite = torch.isfinite(error)
    if not bool(finite[failure.bad].all()) or not bool((failure.tolerance > 0).any()):
        return
    worst, largest = float(error[failure.bad].max()) / step, float(size[finite].max())
    if worst > ROUNDINGS or float(size[failure.bad].max()) > SMALL:
        return
    sure = 0.6 if worst >= TELLING and largest >= TELLING else 0.4
    statement = (
        f"every error is at most {worst * step:.2g}, {worst:.2g} of one rounding of 1 ({step:.2g}), and wrong elements "
        f"are small, up to {float(size[failure.bad].max()):.2g}: good absolutely, not relatively, as of a polynomial "
        "with a constant term or of terms near 1 that cancel"
    )
    yield failure.clue("absolutely_right", Cause.APPROXIMATION, sure, statement, {"roundings_of_one": worst})
