"""Right or wrong at a glance: one launch and one run of the reference, judged by the tolerance of the failing case.

Decides only what is clear: far beyond that tolerance somewhere, or within it everywhere. Deliberately leaves the rest
to a full verification, which measures a tolerance of its own and costs some twenty runs of the reference.
"""

from __future__ import annotations

import torch

from opsdebug_ci.numerics.failure import Failure

CLEARLY = 1000.0
"""Tolerances beyond which an element is wrong at any size: tolerances grow with roots of sizes."""


def glance(failure: Failure, actual: torch.Tensor, expected: torch.Tensor) -> bool | None:
    """Whether `actual` is right, given the reference there; None when it takes a closer look.

    Args:
        failure: the failing case, whose tolerance is the measure: its median, and its median share of the output.
        actual: the output at other inputs.
        expected: the reference there, in float64, of the same shape.
    """
    if actual.shape != expected.shape:
        return None
    got, wanted = actual.double(), expected.double()
    if bool((torch.isnan(got) != torch.isnan(wanted)).any()):
        return False
    finite = torch.isfinite(got) & torch.isfinite(wanted)
    error = (got - wanted).abs()[finite]
    if failure.tolerance is None:
        return bool((got == wanted).all()) if bool(finite.all()) else None
    allowed = _allowed(failure, wanted[finite])
    if bool((error > CLEARLY * allowed).any()):
        return False
    inside = bool(finite.all()) and bool((allowed > 0).all()) and bool((error <= allowed).all())
    return True if inside else None


def _allowed(failure: Failure, wanted: torch.Tensor) -> torch.Tensor:
    """The failing case's tolerances, as far as they can stand for others."""
    assert failure.tolerance is not None  # noqa: S101 - `glance` has looked
    size = failure.expected.double().abs()
    usable = torch.isfinite(size) & (size > 0) & torch.isfinite(failure.tolerance)
    if not bool(usable.any()):
        return torch.zeros_like(wanted)
    tolerance = failure.tolerance[usable]
    return (tolerance / size[usable]).median() * wanted.abs() + tolerance.median()
