"""The cases that verify gradients: every form of incoming gradient, zeros, duplicates, extremes and the forward sizes.

Decides which suit gradients and how few will do. Where a function has no one gradient (a maximum of equal values, the
corner of relu) operator and reference may rightly differ; the worker sees where that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product, zip_longest

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.description import OperatorDescription
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Direction, Family, Kind, ReferenceKind
from opsdebug_ci.plan.choices import Choices
from opsdebug_ci.plan.cover import Grid, Row, pairwise

PLAIN = (Family.NORMAL, Family.UNIFORM, Family.OWN)
"""Families that hardly ever meet a point without a gradient."""

EXTREME = (Family.SIGNED_ZEROS, Family.LARGE, Family.TIES, Family.SMALL)
"""Families with zeros, duplicates and extreme values."""

DIRECTIONS = tuple(direction for direction in Direction if direction is not Direction.FORWARD)
"""Forms of the incoming gradient, the dense one first."""

PLAINLY = (Direction.BACKWARD_ZERO, Direction.BACKWARD_LARGE)
"""Those that meet plain families alone: two extremes may rightly overflow together."""

SELECTING = (Kind.EXACT, Kind.INDEX)
"""Kinds that choose among values: in a narrow dtype, equal ones are common."""

FEWEST_BITS = 16
"""Narrowest dtype that frameworks differentiate through."""


def backward_cases(
    description: OperatorDescription,
    choices: Choices,
    budget: int,
    checks: Sequence[ReferenceKind],
    devices: Sequence[str],
) -> Iterator[Case]:
    """At most `budget` cases per device beyond the certain ones; none where no gradient is declared."""
    suiting = {
        dtype: tuple(family for family in offered if family in (*PLAIN, *EXTREME))
        for dtype, offered in choices.families.items()
        if _is_differentiable(description, dtype)
    }
    families = {dtype: kept for dtype, kept in suiting.items() if kept}
    filled = tuple(dims for position, dims in enumerate(choices.dims) if position not in choices.hollow)
    if not (description.backward and families and filled):
        return
    beside = _one_smaller(filled)
    sizes = (filled[0], *beside, *filled[1 :: len(filled) // max(1, budget) + 1])
    chosen = replace(choices, dtypes=tuple(families), families=families, dims=sizes, hollow=frozenset())
    certain = tuple(_certain(chosen, len(beside)))
    for dtype, dims, layout, family, seed, direction in pairwise(_grid(chosen), first=certain, budget=budget):
        for device in devices:
            if device.partition(":")[0] in description.devices:
                yield Case(
                    operator=description.name,
                    dims=chosen.dims[dims],
                    dtype=chosen.dtypes[dtype],
                    layout=chosen.layouts[layout],
                    inputs=chosen.all_families[family],
                    seed=chosen.seeds[seed],
                    device=device,
                    direction=DIRECTIONS[direction],
                    checks=tuple(checks),
                )


def _is_differentiable(description: OperatorDescription, dtype: str) -> bool:
    bits = FLOAT_FORMATS[dtype].bits if dtype in FLOAT_FORMATS else 0
    return bits >= (32 if description.kind in SELECTING else FEWEST_BITS)


def _one_smaller(variants: Sequence[Mapping[str, int]]) -> tuple[dict[str, int], ...]:
    """The first of `variants` with each dim that varies in the others one smaller: a large kernel's last block is not
    full then."""
    own, *others = variants
    varying = [name for name, size in own.items() if size > 2 and any(dims[name] != size for dims in others)]
    return tuple({**own, name: own[name] - 1} for name in varying)


def _grid(chosen: Choices) -> Grid:
    """The grid of the operator's own cases with the forms of the incoming gradient beside it."""
    grid, families = chosen.grid, chosen.all_families

    def admits(left: str, one: int, right: str, other: int) -> bool:
        if right != "direction":
            return grid.admits(left, one, right, other)
        return left != "family" or families[one] in PLAIN or DIRECTIONS[other] not in PLAINLY

    return replace(grid, axes={**grid.axes, "direction": len(DIRECTIONS)}, admits=admits)


def _certain(chosen: Choices, beside: int) -> Iterator[Row]:
    """The everyday case of every dtype; then, in the everyday layout, with dtypes and seeds in turn, every form of
    incoming gradient and every family at the operator's own sizes, and the `beside` sizes that follow these."""
    yield from ((*row, 0) for row in chosen.everyday)
    families = chosen.all_families
    forms = [direction for direction in DIRECTIONS[1:] if direction not in PLAINLY]
    extreme = [family for family in families if family in EXTREME]
    pairs = [
        *((0, form or DIRECTIONS[0], family or families[0]) for form, family in zip_longest(forms, extreme)),
        *product((0,), PLAINLY, [family for family in families if family in PLAIN][:1]),
        *((1 + position, DIRECTIONS[0], families[0]) for position in range(beside)),
    ]
    for turn, (dims, form, family) in enumerate(pairs):
        meeting = [index for index, dtype in enumerate(chosen.dtypes) if family in chosen.families[dtype]]
        seed = turn % len(chosen.seeds)
        yield meeting[turn % len(meeting)], dims, 0, families.index(family), seed, DIRECTIONS.index(form)
