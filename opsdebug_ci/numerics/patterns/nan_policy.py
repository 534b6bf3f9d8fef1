"""Wrong elements that are exactly those a NaN, a row of -inf, or a tie of the inputs reaches.

Decides by the inputs which policy was broken. Deliberately silent where other elements are wrong as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.sample import aligned

MATCH = 0.98
"""Share of the wrong elements that must lie where the special input is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reach:
    """Output elements something special about the inputs reaches."""

    words: str
    """What it is."""

    where: torch.Tensor
    """bool, shaped like the output."""


def nan_policy(failure: Failure) -> Iterator[Clue]:
    """>= 98 % of the wrong elements lie where an input is NaN, its row holds one, is all -inf, or ties.

    And a right element elsewhere. NaN dropped or made: `nan_inf_handling`. For indices and comparisons, which have no
    NaN of their own, the element or row the NaN reaches decides; with ties it is `wrong_default` (first or last, > or
    >=). A tie is asked for last, and only where no NaN explains the same elements.
    """
    if failure.kind is Kind.QUANTIZE:
        return
    exact = not failure.actual.is_floating_point()
    for reach in _nan_reaches(failure):
        if not _explains(failure, reach):
            continue
        words = _change(failure) if not exact else "the result differs"
        if words:
            evidence = _evidence(failure, reach)
            statement = f"{words} exactly where {reach.words} ({int(failure.bad.sum()):,} wrong elements)"
            yield failure.clue("nan_policy", Cause.NAN_INF_HANDLING, 0.92, statement, evidence)
            return
    if exact:
        yield from _ties(failure)


def _ties(failure: Failure) -> Iterator[Clue]:
    for reach in _tie_reaches(failure):
        if _explains(failure, reach):
            statement = f"the result differs exactly where {reach.words} ({int(failure.bad.sum()):,} wrong elements)"
            yield failure.clue("nan_policy", Cause.WRONG_DEFAULT, 0.86, statement, _evidence(failure, reach))
            return


def _evidence(failure: Failure, reach: _Reach) -> dict[str, int | str]:
    return {"wrong": int(failure.bad.sum()), "reached": int(reach.where.sum()), "where": reach.words}


def _explains(failure: Failure, reach: _Reach) -> bool:
    if not bool(reach.where.any()) or bool(reach.where.all()):
        return False
    return bool((failure.bad & reach.where).sum() >= MATCH * failure.bad.sum())


def _change(failure: Failure) -> str | None:
    """What happened to the class of the wrong elements of a floating output; None when most kept theirs."""
    got, wanted = torch.isnan(failure.actual.float())[failure.bad], torch.isnan(failure.expected)[failure.bad]
    if float((wanted & ~got).double().mean()) >= MATCH:
        return "NaN is dropped"
    if float((got & ~wanted).double().mean()) >= MATCH:
        return "NaN is made"
    return None


def _nan_reaches(failure: Failure) -> Iterator[_Reach]:
    for name, value in aligned(failure).items():
        if value.is_floating_point():
            yield _Reach(words=f"`{name}` is NaN", where=torch.isnan(value.float()))
    for name, value in failure.tensors.items():
        for axis, spread in _axes(failure, value):
            wide = value.detach().float()
            along = f"along axis {axis}"
            yield _Reach(
                words=f"`{name}` is -inf all {along}: 0/0", where=spread((wide == -torch.inf).all(axis, keepdim=True))
            )
            yield _Reach(words=f"`{name}` holds a NaN {along}", where=spread(torch.isnan(wide).any(axis, keepdim=True)))
            yield _Reach(
                words=f"`{name}` holds an infinity {along}", where=spread(torch.isinf(wide).any(axis, keepdim=True))
            )


def _tie_reaches(failure: Failure) -> Iterator[_Reach]:
    same = [(name, value) for name, value in aligned(failure).items() if value.numel()]
    if failure.actual.dtype == torch.bool and len(same) > 1:
        (a, left), (b, right) = same[:2]
        yield _Reach(words=f"`{a}` equals `{b}`", where=left == right)
    for name, value in failure.tensors.items():
        for axis, spread in _axes(failure, value):
            wide = value.detach().double()
            for extreme, best in (
                ("largest", wide.amax(axis, keepdim=True)),
                ("smallest", wide.amin(axis, keepdim=True)),
            ):
                tied = (wide == best).sum(axis, keepdim=True) > 1
                yield _Reach(words=f"the {extreme} of `{name}` along axis {axis} occurs twice", where=spread(tied))


def _axes(failure: Failure, value: torch.Tensor) -> Iterator[tuple[int, Callable[[torch.Tensor], torch.Tensor]]]:
    """Axes of an argument whose reduction fits the output, each with what spreads such a reduction over the output."""
    shape = failure.actual.shape
    if not value.is_floating_point() or value.numel() == 0:
        return
    for axis in reversed(range(value.ndim)):
        kept = value.shape[:axis] + value.shape[axis + 1 :]
        if kept == shape:
            yield axis, functools.partial(torch.squeeze, dim=axis)
        elif value.ndim == len(shape) and kept == shape[:axis] + shape[axis + 1 :]:
            yield axis, lambda mask: mask.expand(shape)
