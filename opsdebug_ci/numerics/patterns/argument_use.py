"""Arguments that enter in another way than they should: their first entry for all, along the other axis, not at all.

Decides from terms and factors: the error is the difference of two uses of an argument, or the ratio their quotient.
Deliberately knows no formula beyond that: where an argument enters otherwise, altered references tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.fit import FITTING, BadElements, bad_elements, elements_at, varied
from opsdebug_ci.numerics.patterns.placement import bad_places, coordinates
from opsdebug_ci.numerics.patterns.uses import OTHER_CONSTANT, Use, uses

SEEN = 512
"""Bad elements, and right ones, that are looked at."""

LEFT = 1e-3
"""Largest share of the error's energy a use may leave: arguments are often alike."""

Entries = Callable[[list[torch.Tensor]], torch.Tensor]
"""Entries of an argument from indices of the output."""

MOST_ALIGNMENTS = 6
"""Ways in which an argument's axes may be those of the output that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A use that explains the failure."""

    use: Use
    """How the argument enters."""

    entering: str
    """`term` or `factor`."""


def argument_use(failure: Failure) -> Iterator[Clue]:
    """Fires when another use of an argument g as a term, or as a factor, turns the reference into the output.

    A term: actual - expected = use(g) - g; a factor: actual * g = expected * use(g); on FITTING of the bad and of the
    right elements. Silent where g hardly varies over the bad elements. Rivals: `scale`, `source_index`.
    """
    bad = bad_elements(failure, SEEN)
    if bad is None or failure.bad.ndim == 0 or failure.actual.is_complex():
        return
    right = elements_at(failure, bad_places(~failure.bad, SEEN))
    for name, argument in failure.tensors.items():
        if argument.numel() < 2 or argument.ndim > failure.bad.ndim or _unordered(argument):
            continue
        values = argument.detach().to(failure.bad.device)
        for axes in itertools.islice(_alignments(values.shape, failure.bad.shape), MOST_ALIGNMENTS):
            found = _explained(failure, bad, right, values, axes)
            if found is not None:
                yield from _clues(failure, name, found)
                return


def _unordered(argument: torch.Tensor) -> bool:
    return argument.dtype == torch.bool or argument.is_complex()


def _alignments(shape: torch.Size, wanted: torch.Size) -> Iterator[tuple[int, ...]]:
    """Increasing axes of the output the argument's axes can be, the last ones first; axes of size 1 fit any."""
    for axes in itertools.combinations(reversed(range(len(wanted))), len(shape)):
        pairs = zip(shape, reversed(axes), strict=True)
        if all(size in (1, wanted[axis]) for size, axis in pairs):
            yield tuple(reversed(axes))


def _explained(
    failure: Failure, bad: BadElements, right: BadElements, argument: torch.Tensor, axes: Sequence[int]
) -> Explained | None:
    at_bad = coordinates(bad.places, tuple(failure.bad.shape))
    at_right = coordinates(right.places, tuple(failure.bad.shape))
    for use in uses(argument, axes, tuple(failure.bad.shape)):
        proper, used = use.values(at_bad)
        if not varied(proper):
            return None
        if use.as_term and _as_term(bad, proper, used) and _agrees(right, *use.values(at_right), term=True):
            return Explained(use=use, entering="term")
        if use.as_factor and _as_factor(bad, proper, used) and _agrees(right, *use.values(at_right), term=False):
            return Explained(use=use, entering="factor")
    return _multiple(failure, bad, right, lambda at: use.values(at)[0])


def _multiple(failure: Failure, bad: BadElements, right: BadElements, proper: Entries) -> Explained | None:
    """The error is a multiple of the argument: the constant before it is another one."""
    values = proper(coordinates(bad.places, tuple(failure.bad.shape)))
    power = values.square().sum()
    if not bool(power > 0):
        return None
    times = float((bad.error * values).sum() / power)
    at_right = proper(coordinates(right.places, tuple(failure.bad.shape)))
    fits = bad.fits(bad.expected + times * values, 2.0, LEFT)
    if not fits or not _agrees(right, at_right, (1 + times) * at_right, term=True):
        return None
    text = f"has another constant before it: the error is {times:.6g} times it"
    use = Use(text=text, values=lambda _: (values, values), term_causes=OTHER_CONSTANT, factor_causes=())
    return Explained(use=use, entering="term")


def _as_term(seen: BadElements, proper: torch.Tensor, used: torch.Tensor) -> bool:
    return seen.fits(seen.expected + used - proper, 2.0, LEFT)


def _as_factor(seen: BadElements, proper: torch.Tensor, used: torch.Tensor) -> bool:
    """Multiplied out, so that zeros among the entries are no obstacle."""
    gap = (seen.actual * proper - seen.expected * used).abs()
    close = gap <= seen.allowed * 2 * (proper.abs() + used.abs())
    if int(torch.count_nonzero(close)) < FITTING * len(seen):
        return False
    energy = (seen.error * proper)[close].square().sum()
    return bool(energy > 0) and bool(gap[close].square().sum() <= LEFT * energy)


def _agrees(right: BadElements, proper: torch.Tensor, used: torch.Tensor, *, term: bool) -> bool:
    """Right elements must stay right; where nothing is left of a factor, some must be right because it is 0 there."""
    if not len(right):
        return term or bool((used != 0).any()) or not len(used)
    if term:
        gap, allowed = (right.error - (used - proper)).abs(), 2 * right.allowed
    else:
        gap = (right.actual * proper - right.expected * used).abs()
        allowed = 2 * right.allowed * (proper.abs() + used.abs())
        if not bool((used != 0).any()):
            vanishing = proper == 0
            return bool(vanishing.any()) and bool((right.expected[vanishing] == 0).all())
    return int(torch.count_nonzero(gap <= allowed)) >= FITTING * len(right)


def _clues(failure: Failure, name: str, found: Explained) -> Iterator[Clue]:
    use, count = found.use, int(torch.count_nonzero(failure.bad))
    place = "term" if found.entering == "term" else "factor"
    statement = f"the {count:,} bad elements are what comes out when `{name}`, a {place}, {use.text}"
    evidence: dict[str, EvidenceValue] = {
        "argument": name,
        "as": place,
        "use": use.text,
        "bad": count,
        "of": failure.bad.numel(),
    }
    causes = use.term_causes if found.entering == "term" else use.factor_causes
    for cause, confidence in causes:
        yield failure.clue("argument_use", cause, confidence, statement, evidence)
