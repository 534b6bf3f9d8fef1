"""Ways in which an argument may enter a formula other than entry by entry, each with what it speaks for.

Decides what is tried. Deliberately measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause

Causes = tuple[tuple[Cause, float], ...]
Coordinates = list[torch.Tensor]
Entries = tuple[torch.Tensor, torch.Tensor]
Change = Callable[[Coordinates], torch.Tensor]
ByIndex = Callable[[int, Change], Callable[[Coordinates], Entries]]
ByValue = Callable[[Callable[[torch.Tensor], torch.Tensor]], Callable[[Coordinates], Entries]]

BROADCAST: Causes = ((Cause.BROADCASTING, 0.9),)
OTHER_AXIS: Causes = ((Cause.BROADCASTING, 0.89), (Cause.WRONG_AXIS, 0.85))
NEIGHBOUR: Causes = ((Cause.STRIDE_VIEW, 0.8),)
REVERSED: Causes = ((Cause.LAYOUT_PERMUTATION, 0.85),)
ABSENT_TERM: Causes = ((Cause.WRONG_DEFAULT, 0.8),)
WRONG_FACTOR: Causes = ((Cause.WRONG_SCALE, 0.85), (Cause.WRONG_DEFAULT, 0.6))
OTHER_CONSTANT: Causes = ((Cause.WRONG_CONSTANT_EPS, 0.76),)
OPPOSITE: Causes = ((Cause.SIGN_FLIP, 0.88),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One way."""

    text: str
    """What the argument does, after its name."""

    values: Callable[[Coordinates], Entries]
    """From the output's indices: float64 entries as they should enter, and as they do here."""

    term_causes: Causes
    """What it speaks for as a term, most probable first; empty: not tried."""

    factor_causes: Causes
    """The same as a factor."""

    @property
    def as_term(self) -> bool:
        """It is tried as a term."""
        return bool(self.term_causes)

    @property
    def as_factor(self) -> bool:
        """It is tried as a factor."""
        return bool(self.factor_causes)


def uses(argument: torch.Tensor, axes: Sequence[int], shape: tuple[int, ...]) -> Iterator[Use]:
    """Every use of an argument whose axes are `axes` of an output of this shape."""

    def entries(indices: Coordinates) -> torch.Tensor:
        limited = [index.clamp(max=size - 1) for index, size in zip(indices, argument.shape, strict=True)]
        return argument[tuple(limited)].double()

    def proper(at: Coordinates) -> Coordinates:
        return [at[axis] for axis in axes]

    def by_value(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Coordinates], Entries]:
        return lambda at: (entries(proper(at)), change(entries(proper(at))))

    def by_index(place: int, change: Change) -> Callable[[Coordinates], Entries]:
        def values(at: Coordinates) -> Entries:
            indices = proper(at)
            return entries(indices), entries([*indices[:place], change(at), *indices[place + 1 :]])

        return values

    for place, axis in enumerate(axes):
        if argument.shape[place] > 1:
            yield from _of_axis(place, axis, shape, by_index)
    if argument.ndim == 2 and argument.shape[0] == argument.shape[1] > 1:
        swapped = [axes[1], axes[0]]
        yield Use(
            text="enters transposed",
            values=lambda at: (entries(proper(at)), entries([at[axis] for axis in swapped])),
            term_causes=REVERSED,
            factor_causes=REVERSED,
        )
    yield from _of_value(by_value)


def _of_axis(place: int, axis: int, shape: tuple[int, ...], by_index: ByIndex) -> Iterator[Use]:
    size = shape[axis]
    ways: list[tuple[str, Change, Causes]] = [
        (
            f"enters with its first entry along its axis {place} for all",
            lambda at: torch.zeros_like(at[axis]),
            BROADCAST,
        )
    ]
    for other, length in enumerate(shape):
        if other != axis and length == size:
            text = f"runs along axis {other} of the output instead of axis {axis}"
            ways.append((text, partial(_index, axis=other), OTHER_AXIS))
    if size > 2:
        for step, text in ((1, "next"), (-1, "previous")):
            shifted = partial(_shifted, axis=axis, step=step, size=size)
            ways.append((f"enters with the {text} entry of its axis {place}", shifted, NEIGHBOUR))
        ways.append((f"enters with its axis {place} reversed", lambda at: size - 1 - at[axis], REVERSED))
    for text, change, causes in ways:
        values = by_index(place, change)
        yield Use(text=text, values=values, term_causes=causes, factor_causes=causes)


def _index(at: Coordinates, axis: int) -> torch.Tensor:
    return at[axis]


def _shifted(at: Coordinates, axis: int, step: int, size: int) -> torch.Tensor:
    return (at[axis] + step) % size


def _of_value(by_value: ByValue) -> Iterator[Use]:
    yield Use(text="is left out", values=by_value(torch.zeros_like), term_causes=ABSENT_TERM, factor_causes=())
    yield Use(text="is left out", values=by_value(torch.ones_like), term_causes=(), factor_causes=WRONG_FACTOR)
    yield Use(text="has the other sign", values=by_value(torch.neg), term_causes=OPPOSITE, factor_causes=())
    yield Use(text="enters twice", values=by_value(lambda v: 2 * v), term_causes=ABSENT_TERM, factor_causes=())
    for text, change in (
        ("enters once more than it should, or the division by it is missing", torch.square),
        ("divides instead of multiplying", torch.reciprocal),
        ("multiplies instead of dividing", _cubed),
    ):
        yield Use(text=text, values=by_value(change), term_causes=(), factor_causes=WRONG_FACTOR)


def _cubed(values: torch.Tensor) -> torch.Tensor:
    """One power for the division that should be, two for what stands in its place."""
    return values**3
