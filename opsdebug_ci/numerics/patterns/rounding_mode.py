"""Values one step from the reference, always to the same side: cut, rounded down or up, or ties broken otherwise.

Decides which way of rounding reproduces the output. Deliberately silent about larger differences, except those between
the two conventions of integer division.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format, round_to, ulp_of
from opsdebug_ci.numerics.patterns.sample import Numbers, Sample, aligned_at, sampled, sampled_finite, share

SUPPORT = 8
"""Elements needed on which two ways of rounding differ: all on one side by chance has probability 2**-8."""

MATCH = 0.98
"""Share of those elements that must follow one way of rounding."""

SURE, LIKELY, HINT = 0.99, 0.88, 0.5
"""Confidence where a rival that looks the same within the tolerance is ruled out bit by bit; where it is not; and of
outputs of fewer than SUPPORT distinct values, of which a step to either side is one way of rounding or the other."""

LEAST_MISSES = 8.0
"""Elements a rival must be expected to get wrong before seeing none rules it out: chance e**-8 = 0.03 %."""

MISSES_SEEN = 0.125
"""Share of the expected misses up to which none counts as seen: roundings before the last one decide a few."""

MOST_LEVELS = 512
"""Distinct values of a reference up to which they are taken for the levels of a quantiser."""

TIES = 0.3
"""Share of wrong elements below which only ties can be meant: cutting is wrong on half of all values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One element's step from the level of the reference, in levels."""

    step: torch.Tensor
    """Signed, away from the reference towards larger values."""

    sign: torch.Tensor
    """Sign of the value that was rounded."""


WAYS: dict[str, Callable[[_Step], torch.Tensor]] = {
    "cut towards zero": lambda steps: steps.step * steps.sign < 0,
    "rounded away from zero": lambda steps: steps.step * steps.sign > 0,
    "rounded down": lambda steps: steps.step < 0,
    "rounded up": lambda steps: steps.step > 0,
}
"""Ways of rounding, and the elements that went that way."""


def rounding_mode(failure: Failure) -> Iterator[Clue]:
    """Wrong elements one step from the reference, >= 98 % of them to one side of it, or of zero.

    For floats a step is an ulp, and the output must be the reference so rounded on all elements where that differs from
    rounding to nearest: bit for bit, so that many of them tell it from a number that is a little off (`_sure`). For
    integers and quantised values it is a level. Fewer than 30 % wrong: only ties can differ.
    Two integer arguments, wrong only where their signs differ, by 1 or by the divisor: C's division against Python's.
    """
    if failure.kind is Kind.INDEX or failure.actual.dtype == torch.bool:
        return
    division = list(_division(failure))
    yield from division
    if division:
        return
    if failure.actual.is_floating_point():
        floats = list(_floats(failure))
        yield from floats
        if floats:
            return
    yield from _levels(failure)


def _floats(failure: Failure) -> Iterator[Clue]:
    """The output is the reference rounded another way to its own format."""
    seen = sampled_finite(failure)
    below, above = _neighbours(seen.expected, failure.actual.dtype)
    negative = seen.expected < 0
    ways = {
        "cut towards zero": torch.where(negative, above, below),
        "rounded down": below,
        "rounded up": above,
        "rounded away from zero": torch.where(negative, below, above),
    }
    nearest = round_to(seen.expected, failure.actual.dtype)
    for way, values in ways.items():
        telling = values != nearest
        matching = share((seen.actual == values)[telling])
        kept = share((seen.actual == nearest)[~telling]) if not bool(telling.all()) else 1.0
        if int(telling.sum()) >= SUPPORT and matching >= MATCH and kept >= MATCH and bool((telling & seen.bad).any()):
            statement = f"{100 * matching:.4g} % of the values that the way of rounding decides are {way}"
            evidence: Numbers = {
                "way": way,
                "telling": int(telling.sum()),
                "matching": matching,
                "others_nearest": kept,
            }
            sure = _sure(seen, values, telling)
            yield failure.clue("rounding_mode", Cause.WRONG_ROUNDING, sure, statement, evidence)
            return


def _sure(seen: Sample, values: torch.Tensor, telling: torch.Tensor) -> float:
    """How sure a way of rounding is that gave `values`, bit for bit, where a wrong number would be about as near.

    A formula with one number a little off moves a value y by c * y, which is c * m steps where m is its significand;
    rounded to nearest, that is the value cut wherever it is half a step. Elsewhere a share of |c * m - 1/2| comes out
    one step away: on average at least half the mean relative deviation of the m from their median, whatever c is.
    """
    if torch.unique(seen.expected[telling]).numel() < SUPPORT:
        return HINT
    distinct = torch.unique(seen.expected[seen.expected != 0].abs())
    significands = 2 * torch.frexp(distinct).mantissa
    middle = significands.median()
    least = float((significands - middle).abs().mean() / middle) / 2
    missed = 1 - share(seen.actual == values)
    return SURE if least * distinct.numel() >= LEAST_MISSES and missed <= MISSES_SEEN * least else LIKELY


def _neighbours(values: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of a format at or below, and at or above, each value."""
    nearest = round_to(values, dtype)
    spacing = ulp_of(values, float_format(dtype))
    below = torch.where(nearest > values, nearest - spacing, nearest)
    above = torch.where(nearest < values, nearest + spacing, nearest)
    return below, above


def _levels(failure: Failure) -> Iterator[Clue]:
    steps = _steps(failure, sampled(failure, failure.bad))
    if steps is None or steps.step.numel() < SUPPORT:
        return
    wrong = share(failure.bad)
    ties = wrong < TIES
    signs = bool((steps.sign > 0).any()) and bool((steps.sign < 0).any())
    for way, goes in WAYS.items():
        matching = share(goes(steps))
        if matching < MATCH:
            continue
        what = f"ties {way}" if ties else way
        statement = (
            f"{100 * matching:.4g} % of the {int(failure.bad.sum()):,} wrong elements are one step from the reference, "
            f"{what}" + ("" if signs else "; all of one sign, so another way may look the same")
        )
        evidence: Numbers = {
            "way": way,
            "ties_only": ties,
            "wrong_share": wrong,
            "matching": matching,
            "both_signs": signs,
        }
        quantised = failure.kind is Kind.QUANTIZE or failure.kind is Kind.AUTO
        yield failure.clue("rounding_mode", Cause.WRONG_ROUNDING, 0.86 if quantised else 0.7, statement, evidence)
        return
    if failure.kind is Kind.QUANTIZE:
        statement = (
            f"the {int(failure.bad.sum()):,} wrong elements are one step from the reference, to either side: the value "
            "was rounded before it was quantised"
        )
        numbers: Numbers = {"wrong_share": wrong, "steps_up": share(steps.step > 0)}
        yield failure.clue("rounding_mode", Cause.WRONG_ROUNDING, 0.6, statement, numbers)


def _steps(failure: Failure, seen: Sample) -> _Step | None:
    """Steps of the wrong elements; None unless every one of them is a single step."""
    if failure.actual.is_floating_point():
        whole = sampled_finite(failure)
        levels = torch.unique(torch.cat([whole.expected, seen.expected[torch.isfinite(seen.expected)]]))
        if not 3 <= levels.numel() <= min(MOST_LEVELS, len(whole) // 4):
            return None
        known = torch.isin(seen.actual, levels)
        step = torch.searchsorted(levels, seen.actual) - torch.searchsorted(levels, seen.expected)
    else:
        known, step = torch.ones_like(seen.bad), seen.error
    if share(known & (step.abs() == 1)) < MATCH:
        return None
    return _Step(step=step.double(), sign=_signs(seen))


def _signs(seen: Sample) -> torch.Tensor:
    """Signs of what was rounded: of the larger in magnitude of the two results, zero being on either side."""
    return torch.where(seen.expected.abs() >= seen.actual.abs(), seen.expected, seen.actual).sign()


def _division(failure: Failure) -> Iterator[Clue]:
    """Quotients off by one, or remainders off by the divisor, exactly where the operands' signs differ."""
    seen = sampled(failure)
    whole = share((seen.expected == seen.expected.floor()) & (seen.actual == seen.actual.floor())) == 1.0
    operands = list(aligned_at(failure, seen.places).items())[:2]
    if len(operands) < 2 or int(seen.bad.sum()) < SUPPORT:
        return
    for (a, dividend), (b, divisor) in (operands, operands[::-1]):
        differ = (dividend * divisor) < 0
        if not bool(differ[seen.bad].all()) or share(seen.bad[~differ]) > 0 or not bool((~differ).any()):
            continue
        error, by = seen.error[seen.bad], divisor[seen.bad]
        if whole and share(error.abs() == 1) >= MATCH and len(torch.unique(error)) == 1:
            words, cause = "quotients are off by one", Cause.WRONG_ROUNDING
            why = "division rounds towards zero on one side and down on the other"
        elif share((error.abs() - by.abs()).abs() <= 1e-6 * by.abs()) >= MATCH:
            words, cause = f"remainders are off by `{b}`", Cause.SIGN_FLIP
            why = "the remainder has the sign of the dividend on one side and of the divisor on the other"
        else:
            continue
        statement = f"{words} exactly where `{a}` and `{b}` differ in sign, {int(seen.bad.sum()):,} elements: {why}"
        evidence: Numbers = {
            "wrong": int(seen.bad.sum()),
            "signs_differ": int(differ.sum()),
            "dividend": a,
            "divisor": b,
        }
        yield failure.clue("rounding_mode", cause, 0.92, statement, evidence)
        return
