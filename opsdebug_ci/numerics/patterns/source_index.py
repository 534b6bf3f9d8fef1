"""Bad elements that are exact copies of elements of the reference or of an argument: where they were copied from.

Decides the relation of source and place. Deliberately asks for values that occur once; few distinct values tell
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.fit import FITTING, bad_elements, elements_at
from opsdebug_ci.numerics.patterns.permutation import PARTLY, THROUGHOUT, allowed_at
from opsdebug_ci.numerics.patterns.placement import MANY_BAD, coordinates

SEEN = 512
"""Bad elements that are looked at."""

FOUND = 0.9
"""Share of them that must occur exactly once in the pool."""

LARGEST = 1 << 17
"""Elements of a pool that is searched."""

STRAIGHT = 1e-6
"""Largest share of the sources' variance a straight line may leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Bad elements with their sources, flat positions in a pool of one shape."""

    pool: str
    """What was copied from, in words."""

    shape: tuple[int, ...]
    """Its shape."""

    held: torch.Tensor
    """Sources of what the elements hold."""

    wanted: torch.Tensor
    """Sources of what they should hold."""


def source_index(failure: Failure) -> Iterator[Clue]:
    """Fires when FOUND of the bad elements occur once in the reference, or both sides in an argument, and the sources
    follow a rule: one shift, one row for all, a multiple of 2**15 or 2**16 off, a straight line, or whole rows moved.

    One row for all is `broadcasting`, a multiple of 2**15 `index_overflow`, other shifts and slopes `stride_view`.
    Rivals: `permutation` (named rearrangements), `index_argument`.
    """
    for copies in _copies(failure):
        found = _relation(copies)
        if found is not None:
            cause, confidence, text = found
            count = int(torch.count_nonzero(failure.bad))
            if cause is Cause.STRIDE_VIEW and count < THROUGHOUT * failure.bad.numel():
                confidence = min(confidence, PARTLY)
            statement = f"the {count:,} bad elements are copies of elements of {copies.pool}: {text}"
            evidence: dict[str, EvidenceValue] = {"bad": count, "of": failure.bad.numel(), "pool": copies.pool}
            yield failure.clue("source_index", cause, confidence, statement, evidence)
            return


def _copies(failure: Failure) -> Iterator[Copies]:
    seen = bad_elements(failure, SEEN)
    if seen is None or failure.bad.ndim == 0 or failure.actual.is_complex():
        return
    total = failure.bad.numel()
    if total <= LARGEST:
        allowed = allowed_at(failure, torch.arange(total, device=failure.bad.device))
        held = _places(failure.expected, seen.actual, allowed)
        if held is not None:
            known = held >= 0
            yield Copies(
                pool="the right output", shape=tuple(failure.bad.shape), held=held[known], wanted=seen.places[known]
            )
    for name, argument in failure.tensors.items():
        if not argument.is_floating_point() or not MANY_BAD <= argument.numel() <= LARGEST:
            continue
        held = _places(argument, elements_at(failure, seen.places).actual, None)
        wanted = None if held is None else _places(argument, seen.expected, None)
        if held is not None and wanted is not None:
            known = (held >= 0) & (wanted >= 0)
            yield Copies(pool=f"`{name}`", shape=tuple(argument.shape), held=held[known], wanted=wanted[known])


def _places(pool: torch.Tensor, values: torch.Tensor, allowed: torch.Tensor | None) -> torch.Tensor | None:
    """Flat position of each value in the pool, -1 where it occurs not once; None when that is so too often."""
    flat = pool.detach().to(values.device).flatten().double()
    ordered, order = flat.sort()
    room = torch.zeros_like(values)
    if allowed is not None:
        nearest = torch.searchsorted(ordered, values).clamp(max=len(ordered) - 1)
        room = allowed[order][nearest]
    low = torch.searchsorted(ordered, values - room)
    high = torch.searchsorted(ordered, values + room, right=True)
    once = high - low == 1
    if int(torch.count_nonzero(once)) < FOUND * len(values):
        return None
    return torch.where(once, order[low.clamp(max=len(order) - 1)], -1)


def _relation(copies: Copies) -> tuple[Cause, float, str] | None:
    if len(copies.held) < MANY_BAD:
        return None
    apart = copies.held - copies.wanted
    shift = int(apart.mode().values)
    row = copies.shape[-1] if len(copies.shape) > 1 else 1
    if shift and _nearly_all(apart == shift):
        steps = f"{abs(shift):,} elements" + (f" ({abs(shift) / row:.4g} rows)" if row > 1 else "")
        text = f"each is the one {steps} {'further on' if shift > 0 else 'before'}"
        overflow = abs(shift) >= 2**15 and shift % 2**15 == 0
        return (Cause.INDEX_OVERFLOW, 0.9, text) if overflow else (Cause.STRIDE_VIEW, 0.85, text)
    if _nearly_all(apart % 2**15 == 0):
        return Cause.INDEX_OVERFLOW, 0.88, "multiples of 2**15 elements off"
    return _by_axis(copies) or _straight(copies)


def _by_axis(copies: Copies) -> tuple[Cause, float, str] | None:
    """All indices but one are right; that one is constant, or belongs to whole rows that moved."""
    held, wanted = coordinates(copies.held, copies.shape), coordinates(copies.wanted, copies.shape)
    wrong = [axis for axis, (have, want) in enumerate(zip(held, wanted, strict=True)) if not _nearly_all(have == want)]
    if len(wrong) != 1 or len(copies.shape) < 2:
        return None
    axis = wrong[0]
    have, want = held[axis], wanted[axis]
    one = int(have.mode().values)
    if _nearly_all(have == one) and len(torch.unique(want)) > 1:
        return Cause.BROADCASTING, 0.88, f"index {one:,} of axis {axis} stands for all"
    moved = torch.unique(torch.stack([want, have]), dim=1)
    moves = int(torch.count_nonzero(moved[0].diff())) + 1
    if moves < 4 or moved.shape[1] != moves:
        return None
    if len(torch.unique(moved[1])) == moves:
        return Cause.LAYOUT_PERMUTATION, 0.8, f"whole slices of axis {axis} have changed places ({moves:,} of them)"
    return Cause.STRIDE_VIEW, 0.6, f"whole slices of axis {axis} come from other ones ({moves:,} of them)"


def _straight(copies: Copies) -> tuple[Cause, float, str] | None:
    """source = slope * place + intercept by least squares."""
    place, source = copies.wanted.double(), copies.held.double()
    centred = place - place.mean()
    variance = centred.square().sum()
    if not bool(variance > 0):
        return None
    slope = float((centred * source).sum() / variance)
    intercept = float(source.mean() - slope * place.mean())
    left = (source - slope * place - intercept).square().sum() / (source - source.mean()).square().sum()
    if abs(slope - 1) < 0.01 or not bool(left <= STRAIGHT):
        return None
    text = f"source = {slope:.4g} x place + {intercept:.4g}: the stride is another one"
    return Cause.STRIDE_VIEW, 0.88, text


def _nearly_all(holds: torch.Tensor) -> bool:
    return int(torch.count_nonzero(holds)) >= FITTING * len(holds)
