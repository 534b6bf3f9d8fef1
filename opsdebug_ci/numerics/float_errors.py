"""The errors of a float output against its reference, gathered in one pass over both.

Decides when nothing need be computed, and when a pass must be repeated because an element was not finite after all.
Deliberately decides neither which pairs are compared (`pairs`) nor what the numbers mean (`readings`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.accuracy import ClassMismatch, Quantiles
from opsdebug_ci.numerics.classes import merged
from opsdebug_ci.numerics.error_pass import ErrorPass
from opsdebug_ci.numerics.pairs import Pairs, survey
from opsdebug_ci.numerics.quantiles import NO_QUANTILES

_ZEROS = Quantiles(p50=0.0, p95=0.0, p99=0.0, max=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatErrors:
    """Errors over the pairs that are finite on both sides."""

    elements: int
    """Such pairs."""

    largest: float | None
    """Largest |a - y|, capped at the largest float64; None when there is no pair."""

    position: int | None
    """The first element that has it, as flat C-order position."""

    relative: Quantiles
    """Of |a - y| / max(|y|, 2**-20 * RMS(y), min normal), capped likewise."""

    ulp: Quantiles
    """Of the distances to the rounded reference, in representable numbers."""

    misrounded: int
    """Elements that are not the rounded reference; +0 is -0."""

    cosine: float | None
    """Cosine similarity, as `cosine` says it."""

    classes: tuple[ClassMismatch, ...]
    """Off-diagonal cells of the confusion matrix against the rounded reference, over all elements."""


def float_errors(actual: torch.Tensor, expected: torch.Tensor) -> FloatErrors:
    """Gather the errors of `actual` against `expected`.

    Args:
        actual: any float dtype, shape and strides, not empty.
        expected: float64, or a float dtype that float64 holds exactly, same shape; not yet rounded to the dtype of
            `actual`. Widened block by block.
    """
    for sifted in (False, True):
        pairs = Pairs(actual, expected, sifted=sifted)
        reference = survey(pairs)
        if reference is None:
            continue
        if reference.equal and not sifted:
            return _no_error(reference.elements)
        gathered = ErrorPass(pairs, reference)
        if not gathered.spoilt:
            return _summary(gathered, reference.elements, tuple(actual.shape))
    raise InternalError("pairs sifted for finite ones are not finite")


def _summary(gathered: ErrorPass, elements: int, shape: tuple[int, ...]) -> FloatErrors:
    classes = merged(gathered.cells(), shape)
    if elements == 0:
        return FloatErrors(
            elements=0,
            largest=None,
            position=None,
            relative=NO_QUANTILES,
            ulp=NO_QUANTILES,
            misrounded=0,
            cosine=None,
            classes=classes,
        )
    ulp, misrounded = gathered.steps()
    return FloatErrors(
        elements=elements,
        largest=gathered.worst.value,
        position=gathered.worst.position,
        relative=gathered.relative(),
        ulp=ulp,
        misrounded=misrounded,
        cosine=gathered.cosine(),
        classes=classes,
    )


def _no_error(elements: int) -> FloatErrors:
    return FloatErrors(
        elements=elements,
        largest=0.0,
        position=0,
        relative=_ZEROS,
        ulp=_ZEROS,
        misrounded=0,
        cosine=1.0,
        classes=(),
    )
