"""The values on every axis for one operator: dims, dtype, layout, family, seed.

Decides which values suit the operator's declared domain, and which pairs of values matter most. Deliberately picks no
rows: `cover` does.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import product

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.description import OperatorDescription, TensorDescription
from opsdebug_ci.model.dims import parse_shape
from opsdebug_ci.model.dtype import INTEGER_FORMATS, is_float
from opsdebug_ci.model.families import FAMILY_TRAITS, families_for, telling_families
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.plan.axes import Axes, lacking
from opsdebug_ci.plan.cover import Grid, Row
from opsdebug_ci.plan.sizes import SizePlan, dims_variants, is_hollow, powers_beside, work

PAIR_WEIGHTS: dict[tuple[str, str], int] = {
    ("dtype", "family"): 4,
    ("dims", "layout"): 3,
    ("dtype", "dims"): 2,
}
"""Pairs a budget drops last. The others weigh 1; `pair_coverage` tells what was dropped."""

NEAR = 2.0
"""Largest distance of near sizes, as log2 of the ratio of their work: a quarter to four times as much."""

TELLING_SHARE = 0.4
"""Most of a budget that goes to one size: the families telling for a kind at the declared one, or one asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The values on every axis for one operator; the everyday value of each comes first."""

    dtypes: tuple[str, ...]
    """Dtypes."""

    dims: tuple[dict[str, int], ...]
    """Choices of all dims."""

    layouts: tuple[Layout, ...]
    """Layouts some tensor argument accepts."""

    families: dict[str, tuple[Family, ...]]
    """Families by dtype."""

    seeds: tuple[int, ...]
    """Seeds."""

    telling_families: frozenset[Family] = frozenset()
    """Families tried for certain."""

    hollow: frozenset[int] = frozenset()
    """Positions in `dims` that leave some tensor without elements."""

    asked: Axes = field(default_factory=Axes)
    """What a person fixed."""

    share: float = 1.0
    """Of the stage's cases, those that `asked` leaves: of three seeds one, a third."""

    @property
    def all_families(self) -> tuple[Family, ...]:
        """Families of any dtype, each once."""
        return tuple(dict.fromkeys(family for families in self.families.values() for family in families))

    @property
    def grid(self) -> Grid:
        """The space these choices span, without the pairs that have nothing to show.

        A family meets only the dtypes it makes sense for. A hollow choice of dims meets only the everyday layout,
        family and seed: there are no values to draw and no strides to follow, and a row that is empty must not pass
        for one that tried a dtype with a family.
        """

        families = self.all_families

        def admits(left: str, one: int, right: str, other: int) -> bool:
            if (left, right) == ("dtype", "family"):
                return families[other] in self.families[self.dtypes[one]]
            return left != "dims" or one not in self.hollow or other == 0

        sizes = (self.dtypes, self.dims, self.layouts, families, self.seeds)
        names = ("dtype", "dims", "layout", "family", "seed")
        axes = {name: len(values) for name, values in zip(names, sizes, strict=True)}
        return Grid(axes=axes, admits=admits, weights=PAIR_WEIGHTS)

    @property
    def everyday(self) -> tuple[Row, ...]:
        """For every dtype: own dims, contiguous, everyday family, first seed; or in turn what a person asks for."""
        asked = self.asked
        turns = max(len(asked.layouts), len(asked.seeds), len(self.all_families) if asked.families else 1)
        rows = []
        for dtype, turn in product(range(len(self.dtypes)), range(turns)):
            families = self.families[self.dtypes[dtype]]
            family = self.all_families.index(families[turn % len(families) if asked.families else 0])
            layout, seed = turn % (len(asked.layouts) or 1), turn % (len(asked.seeds) or 1)
            rows.append((dtype, 0, layout, family, seed))
        return tuple(sorted(dict.fromkeys(rows), key=lambda row: row[2:]))

    @property
    def fewest(self) -> int:
        """Cases in which every two values that a person asks for can meet."""
        asked = self.asked
        counts = (self.dtypes, asked.layouts, asked.seeds, self.all_families if asked.families else ())
        return math.prod(sorted(map(len, counts))[-2:]) if any(map(len, counts[1:])) else 0

    @property
    def near(self) -> tuple[Row, ...]:
        """Everyday values at the sizes nearest to the operator's own, of each set of dims that vary in turn.

        Dtypes, layouts and seeds take turns. Where only few cases of an operator can be run, these show tails and
        strides at a size that still has as many blocks as the operator's own.
        """
        if 0 in self.hollow:
            return ()
        own, met, ranked = self.dims[0], Counter[frozenset[str]](), []
        away = {position: abs(math.log2(work(dims) / work(own))) for position, dims in enumerate(self.dims)}
        close = (position for position in away.keys() - self.hollow - {0} if away[position] <= NEAR)
        for position in sorted(close, key=lambda position: (away[position], position)):
            varied = frozenset(name for name, size in self.dims[position].items() if size != own[name])
            ranked.append((met[varied], away[position], position))
            met[varied] += 1
        everyday = [self.all_families.index(self.families[dtype][0]) for dtype in self.dtypes]
        return tuple(
            (
                turn % len(self.dtypes),
                dims,
                (turn + 1) % len(self.layouts),
                everyday[turn % len(everyday)],
                turn % len(self.seeds),
            )
            for turn, (_, _, dims) in enumerate(sorted(ranked))
        )

    @property
    def telling(self) -> tuple[Row, ...]:
        """The families that show this operator's defects, with every dtype: own dims, contiguous, the seeds in turn.

        A family shows little in a tiny tensor or in one whose slices repeat, and an operator may refuse a layout.
        """
        if 0 in self.hollow:
            return ()
        met = [
            (self.dtypes.index(dtype), position)
            for dtype in self.dtypes
            for position, family in enumerate(self.all_families)
            if family in self.families[dtype] and family in self.telling_families
        ]
        return tuple((dtype, 0, 0, position, turn % len(self.seeds)) for turn, (dtype, position) in enumerate(met))

    @property
    def beside(self) -> tuple[Row, ...]:
        """Everyday values at the powers of two beside each size, where a kernel chosen by its size is another."""
        own = self.dims[0]
        powers = [{**own, name: power} for name, size in reversed(own.items()) for power in powers_beside(size)]
        return tuple(
            (*self.everyday[0][:1], self.dims.index(sizes), *self.everyday[0][2:])
            for sizes in powers
            if sizes in self.dims
        )


def choose(description: OperatorDescription, axes: Axes, *, sizes: SizePlan, seeds: tuple[int, ...]) -> Choices:
    """The values on every axis: those of `axes` where it has some, else those of the operator, `sizes` and `seeds`.

    Raises:
        UsageError: `axes` has a value this operator does not have.
    """
    problem = mismatch(description, axes)
    if problem:
        raise UsageError(f"operator `{description.name}`: {problem}", next_step=MISMATCH_STEP)
    kinds = (description.kind, *description.other_kinds)
    telling = telling_families(kinds, lengths=any(map(_is_made_of_lengths, description.tensors)))
    thinned = None if axes.families else telling  # what a person asks for is not thinned out
    offered = {dtype: families_of(description, dtype, thinned) for dtype in axes.dtypes or description.dtypes}
    wanted = {dtype: tuple(f for f in axes.families or own if f in own) for dtype, own in offered.items()}
    families = {dtype: kept for dtype, kept in wanted.items() if kept}
    possible, tried = ({family for of in each.values() for family in of} for each in (offered, families))
    share = (TELLING_SHARE if axes.dims else 1.0) * len(tried) / max(len(possible), 1)
    dims = ({**description.dims, **axes.dims},) if axes.dims else dims_variants(description, sizes)
    return Choices(
        dtypes=tuple(families),
        dims=dims,
        layouts=axes.layouts or layouts_of(description),
        families=families,
        seeds=axes.seeds or seeds,
        telling_families=telling,
        hollow=frozenset(index for index, sizes_by_name in enumerate(dims) if is_hollow(description, sizes_by_name)),
        asked=axes,
        share=share * min(1.0, len(axes.seeds or seeds) / len(seeds)),
    )


MISMATCH_STEP = "leave that option out, or pick from what the operator has"
"""What to do about an axis value the operator does not have."""


def mismatch(description: OperatorDescription, axes: Axes) -> str | None:
    """Why this operator has no cases for `axes`, or None when it has: lets a glob skip what does not fit."""
    offered = {f: None for dtype in axes.dtypes or description.dtypes for f in families_of(description, dtype)}
    return (
        lacking("--dims", axes.dims, description.dims, "dims are")
        or lacking("--dtype", axes.dtypes, description.dtypes, "dtypes are")
        or lacking("--layout", axes.layouts, layouts_of(description), "layouts are")
        or lacking("--inputs", axes.families, offered, "families are")
    )


def layouts_of(description: OperatorDescription) -> tuple[Layout, ...]:
    """Layouts some tensor argument accepts, in the order of the vocabulary, without those that repeat another.

    A tensor of fewer than two axes has nothing to transpose, and `mixed` leaves the first tensor contiguous.
    """
    if description.own_inputs:
        return (Layout.OWN,)
    tensors = description.tensors
    accepted = {
        *(layout for tensor in tensors for layout in tensor.layouts if layout not in (Layout.TRANSPOSED, Layout.MIXED)),
        *(Layout.TRANSPOSED for t in tensors if Layout.TRANSPOSED in t.layouts and len(parse_shape(t.shape)) > 1),
        *(Layout.MIXED for tensor in tensors[1:] if Layout.MIXED in tensor.layouts),
    }
    return tuple(layout for layout in Layout if layout in accepted) or (Layout.CONTIGUOUS,)


def _is_made_of_lengths(tensor: TensorDescription) -> bool:
    return tensor.values is None and tensor.dtype in INTEGER_FORMATS and tensor.dtype != "bool"


def families_of(
    description: OperatorDescription, dtype: str, telling: frozenset[Family] | None = None
) -> tuple[Family, ...]:
    """Families that can be run at `dtype`: for the float arguments' domains, else those that suit whole numbers.

    Those aimed at a defect are left out where they are not among `telling`.
    """
    if description.own_inputs:
        return (Family.OWN, Family.OWN_EMPTY) if description.lists else (Family.OWN,)
    drawn = [tensor for tensor in description.tensors if tensor.values is not None]
    floats = [tensor for tensor in drawn if is_float(tensor.dtype or dtype)]
    domains = tuple(tensor.values for tensor in floats or drawn if tensor.values is not None)
    if not domains:
        made = any(map(_is_made_of_lengths, description.tensors))
        return (Family.NORMAL, *(f for f, traits in FAMILY_TRAITS.items() if made and traits.lengths))
    families = families_for(domains, nan=description.contract.nan, telling=telling)
    return families if floats else tuple(family for family in families if not FAMILY_TRAITS[family].float_only)
