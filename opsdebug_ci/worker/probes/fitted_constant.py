"""Is the output the reference's with one number of the formula changed, or one argument multiplied, and to what?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.variants import Call, Explanation, contradicts, explain, read_call
from opsdebug_ci.numerics.variants.constants import MAKERS, cause_of, numbers
from opsdebug_ci.numerics.variants.written_out import written_out
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.scene import Scene

RULE = "fitted_constant"

STEP = 1e-5
"""Relative change of a constant for the derivative; the reference runs in float64, which leaves 5 digits of it."""

ITERATIONS = 6
"""Newton steps: each doubles the digits that are right, and the tolerance is met with fewer than 16."""

EXPLAINED = 0.5
"""Share of the error's square that the derivative must explain for a constant to be pursued."""

HIDDEN_SCALES = ("scale", "slope", "scale of the scores")
"""Numbers that calls hide (`written_out`) and that stretch an argument."""

FEWER_DIGITS = 0.02
"""Relative difference of a constant written with two digits or more."""

FARTHEST = 1e8
"""Factor between two constants from which they are no longer one with another value."""

SURE = 0.9
"""Confidence of the explanation below which a fit is not told: constant outputs fit many constants."""

BITS_PER_DIGIT = 3.32
"""Evidence that a digit of a fitted number costs, log2 of 10: of several that fit, the one that is short is meant."""

MOST_SECONDS = 1.0
"""Longest that constants are fitted."""

MOST_CALLS = 300
"""Calls of a reference that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A number in the reference, or one that an argument is multiplied with: 1, where the reference says nothing."""

    operation: str
    """Name of the call; empty: it is the argument's."""

    call: int
    """Which call of that name, counted from 0."""

    argument: str
    """Which argument of it, or of the operator."""

    value: float
    """What it is there."""

    def __str__(self) -> str:
        """The same in every case of an operator."""
        return f"{self.argument} of {self.operation} {self.call}" if self.operation else f"factor of {self.argument}"


def fitted_hypotheses(scene: Scene, failure: Failure, only: str = "") -> Iterator[Fitted]:
    """Newton's method on every number of the reference in turn, then on a factor of every argument: the value at which
    it gives the operator's output.

    A constant is pursued where its derivative explains half of the error's square. Told apart from chance by the
    elements reproduced, here and in other cases with the same value: one number cannot fit many of them unless it is
    the cause. Silent for failures of fewer than 4 bad elements, which any derivative fits.
    """
    position = scene.position(failure.output)
    if failure.tolerance is None or int(failure.bad.sum()) < 4:
        return
    noted = _Numbers()
    outputs = scene.reference(scene.arguments, noted)
    if outputs is None or position >= len(outputs) or outputs[position].shape != failure.actual.shape:
        return
    budget = Budget(MOST_SECONDS, within=scene.budget)
    factors = [
        _Place(operation="", call=0, argument=name, value=1.0)
        for name, value in scene.arguments.items()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    ]
    for place in (*noted.places, *factors):
        if budget.expired:
            return
        if only and not only.startswith(f"{place}:"):
            continue
        value = _fit(scene, failure, position, place, outputs[position])
        if value is not None and (place.operation or _is_count(value)):
            yield Fitted(place=place, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A number of the formula has another value."""

    place: _Place
    """Which number."""

    value: float
    """Its value in the operator."""

    most_tests: None = None
    counts_bits: bool = True

    @property
    def key(self) -> str:
        return f"{self.place}: {self.value:.5g}"

    @property
    def cause(self) -> Cause:
        return _cause(self.place, self.value)

    def clues(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        for failure in failing:
            candidate = _at(scene, scene.position(failure.output), self.place, self.value)
            explanation = None if candidate is None else explain(failure, candidate)
            if explanation is not None and explanation.complete and explanation.confidence >= SURE:
                yield _clue(failure, self.place, self.value, explanation)

    def clues_at_length(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        del scene, failing
        yield from ()

    def shows(self, scene: Scene, outputs: Sequence[Failure]) -> bool:
        altered = _altered(scene, self.place, self.value)
        return altered is not None and any(map(contradicts, outputs, altered))


class _Numbers:
    """Observer that lists the numbers of a reference."""

    def __init__(self) -> None:
        self.places: list[_Place] = []
        self._names: Counter[str] = Counter()

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        call = read_call(func, args, kwargs, result, {})
        if call.name not in MAKERS and self._names.total() < MOST_CALLS:
            hidden = written_out(call)
            self.places += [
                _Place(call=self._names[call.name], operation=call.name, argument=name, value=float(value))
                for name, value in (*numbers(call).items(), *(hidden[0].items() if hidden else ()))
                if value
            ]
        self._names[call.name] += 1
        return result


class _Changed:
    """Observer that gives one number of one call another value."""

    def __init__(self, place: _Place, value: float) -> None:
        self._place = place
        self._value = value
        self._count = -1

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        call = read_call(func, args, kwargs, result, {})
        self._count += call.name == self._place.operation
        if call.name != self._place.operation or self._count != self._place.call:
            return result
        made = self._made(call)
        mutable = func._schema.is_mutable and isinstance(result, torch.Tensor)
        return result.copy_(made) if mutable else made

    def _made(self, call: Call) -> Any:
        """The call with its number changed; one that hides the number is written out."""
        if self._place.argument in call.values:
            return call.again(**{self._place.argument: self._value})
        hidden = written_out(call)
        assert hidden is not None  # noqa: S101 - the place was read off the same call
        numbers, form = hidden
        return form(**{**numbers, self._place.argument: self._value})


def _fit(scene: Scene, failure: Failure, position: int, place: _Place, now: torch.Tensor) -> float | None:
    """The value of the number that brings the bad elements of the reference to the output's; None if there is none."""
    wanted = failure.actual.double()[failure.bad]
    value, start = place.value, now
    for iteration in range(ITERATIONS):
        moved = _at(scene, position, place, value * (1 + STEP))
        if moved is None or moved.shape != start.shape:
            return None
        derivative = (moved.double() - start.double())[failure.bad] / (value * STEP)
        error = wanted - start[failure.bad].double()
        usable = torch.isfinite(derivative) & torch.isfinite(error)
        slope, error = derivative[usable], error[usable]
        square = float(slope @ slope)
        if not square or not len(slope):
            return None
        step = float(slope @ error) / square
        left = float(error @ error)
        if iteration == 0 and step * step * square < EXPLAINED * left:
            return None
        value += step
        if not 1 / FARTHEST < abs(value / place.value) < FARTHEST:
            return None
        found = _at(scene, position, place, value)
        if found is None:
            return None
        start = found
        if abs(step) <= 1e-9 * abs(value):
            break
    return value


def _at(scene: Scene, position: int, place: _Place, value: float) -> torch.Tensor | None:
    outputs = _altered(scene, place, value)
    return None if outputs is None or position >= len(outputs) else outputs[position]


def _altered(scene: Scene, place: _Place, value: float) -> list[torch.Tensor] | None:
    """Outputs of the reference with the number at `place` changed."""
    if place.operation:
        return scene.reference(scene.arguments, _Changed(place, value))
    changed = scene.arguments.map(lambda name, held: held.double() * value if name == place.argument else held)
    return scene.reference(changed)


WRITTEN = 3
"""Digits of a number that somebody may have written; more are often two steps exchanged, or one left out."""

UNWRITTEN = 0.03
"""Confidence that other numbers cost."""


def _clue(failure: Failure, place: _Place, value: float, explanation: Explanation) -> Clue:
    said = f"the {_named(place)} of `{place.operation}` is {value:.5g}, not {place.value:.6g}"
    times = f"`{place.argument}` enters {value:.5g} times, not once"
    return failure.clue(
        RULE,
        _cause(place, value),
        (0.96 if place.operation else 0.95) - (UNWRITTEN if _digits(value) > WRITTEN else 0.0),
        f"{said if place.operation else times}: reproduces {explanation.elements:,} of {int(failure.bad.sum()):,} "
        "bad elements",
        {
            "constant": place.value,
            "fitted": value,
            "reproduced_bad": explanation.bad,
            "reproduced_good": explanation.good,
            "by_chance": explanation.chance,
            "bits": max(0.0, explanation.bits - BITS_PER_DIGIT * _digits(value)),
        },
    )


def _is_count(value: float) -> bool:
    """A whole number or the inverse of one: what enters several times, or is shared out; another factor is a scale."""
    return any(round(each) > 1 and abs(each / round(each) - 1) <= STEP for each in (value, 1 / value))


def _digits(value: float) -> int:
    """Significant digits it takes to write the number down as well as it was fitted."""
    written = (digits for digits in range(1, 6) if abs(float(f"{value:.{digits}g}") / value - 1.0) <= STEP)
    return next(written, 6)


def _cause(place: _Place, value: float) -> Cause:
    """A scale or slope that a call hides is a wrong scale, unless it is the same number with fewer digits."""
    if not place.operation:
        return Cause.WRONG_SCALE
    if place.argument not in HIDDEN_SCALES:
        return cause_of(place.operation, place.value, value)
    return Cause.WRONG_CONSTANT_EPS if abs(value / place.value - 1) <= FEWER_DIGITS else Cause.WRONG_SCALE


def _named(place: _Place) -> str:
    """What the number is: one that a call hides has a name."""
    return place.argument if " " in place.argument or place.argument in ("slope", "scale") else "constant"
