"""Which input families suit which value domain and kind; shared by planning and by the generator.

Decides admissibility, and which families show a kind's defects best. `inputs` on the worker side makes the values.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Family, Kind, ValueDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTraits:
    """What a family's raw values contain, before a domain restricts them, and what they show."""

    summary: str
    """What it is for, in one phrase."""

    non_finite: bool = False
    """Holds NaN or infinity: only where the domain is `any` and the contract propagates NaN."""

    only_special: bool = False
    """Is about zero or sign, and has nothing to say where the domain forbids them."""

    float_only: bool = False
    """Is about values whole numbers do not have: subnormals, -0, NaN and infinity."""

    aimed: bool = False
    """Says no more than others except to the kinds in `shows`: planned for them alone."""

    lengths: bool = False
    """Also about whole numbers that a function of the operator makes: planned for certain where there are some."""

    shows: frozenset[Kind] = frozenset()
    """Kinds whose defects it shows and others may hide: planned for certain there, at the operator's own sizes."""


_ROWS = (Kind.REDUCTION, Kind.SCAN, Kind.SOFTMAX, Kind.LOG_SOFTMAX, Kind.INDEX)
"""Kinds that go along rows and keep no value of their own for every element."""


def _kinds(*kinds: Kind) -> frozenset[Kind]:
    """`kinds`, and `auto`, which may be any of them."""
    return frozenset({*kinds, Kind.AUTO})


FAMILY_TRAITS: dict[Family, FamilyTraits] = {
    Family.NORMAL: FamilyTraits(summary="standard normal: the everyday case"),
    Family.UNIFORM: FamilyTraits(
        summary="uniform on [0, 1): one sign, so sums grow and accumulators stagnate",
        shows=_kinds(Kind.REDUCTION, Kind.SCAN, Kind.MATMUL),
    ),
    Family.SHIFTED: FamilyTraits(
        summary="normal + 30: one-pass variance and mean subtraction cancel", shows=frozenset({Kind.NORM})
    ),
    Family.HEAVY: FamilyTraits(summary="cubed normal: a few large values dominate"),
    Family.CONSTANT: FamilyTraits(
        summary="0.1 everywhere: serial sums stagnate, variance is zero", shows=frozenset({Kind.NORM})
    ),
    Family.CANCELLING: FamilyTraits(summary="pairs +v, -v: sums are exactly zero"),
    Family.LARGE: FamilyTraits(
        summary="near the largest magnitude that cannot overflow inside the operator",
        shows=_kinds(
            Kind.ELEMENTWISE,
            Kind.TRANSCENDENTAL,
            Kind.SOFTMAX,
            Kind.LOG_SOFTMAX,
            Kind.NORM,
            Kind.ATTENTION,
            Kind.QUANTIZE,
            Kind.EXACT,
        ),
    ),
    Family.SMALL: FamilyTraits(
        summary="around 1e-3: a wrong epsilon shows", shows=_kinds(Kind.NORM, Kind.TRANSCENDENTAL)
    ),
    Family.SUBNORMAL: FamilyTraits(summary="below the smallest normal number: flushing shows", float_only=True),
    Family.INTEGER: FamilyTraits(
        summary="small whole numbers: sums are exact, so any rounding inside shows",
        shows=frozenset({Kind.REDUCTION, Kind.SCAN, Kind.MATMUL}),
    ),
    Family.INDEX_CODED: FamilyTraits(
        summary="x[i] = i: a wrong index names the element it read",
        shows=frozenset({Kind.EXACT, Kind.MATMUL, Kind.ATTENTION}),
    ),
    Family.TIES: FamilyTraits(
        summary="few distinct values: tie rules and rounding midpoints show",
        shows=_kinds(Kind.EXACT, Kind.INDEX, Kind.ELEMENTWISE),
    ),
    Family.SIGNED_ZEROS: FamilyTraits(
        summary="+0 and -0 among ordinary values, and whole rows of them: a division by what a row holds shows",
        only_special=True,
        float_only=True,
        shows=_kinds(Kind.EXACT, Kind.ELEMENTWISE, Kind.NORM, Kind.QUANTIZE, Kind.REDUCTION),
    ),
    Family.SPECIALS: FamilyTraits(
        summary="single NaN, +inf, -inf, +-0 among ordinary values",
        non_finite=True,
        float_only=True,
        shows=_kinds(Kind.EXACT, Kind.ELEMENTWISE, Kind.TRANSCENDENTAL, Kind.QUANTIZE, *_ROWS),
    ),
    Family.SPECIAL_ROWS: FamilyTraits(
        summary="whole rows of NaN, +inf, -inf, 0",
        non_finite=True,
        float_only=True,
        shows=_kinds(Kind.SOFTMAX, Kind.LOG_SOFTMAX, Kind.ATTENTION),
    ),
    Family.NEAR_CONSTANT: FamilyTraits(
        summary="1 with a deviation of 1e-3: the variance cancels, a wrong epsilon shows, scores are nearly equal",
        aimed=True,
        shows=_kinds(Kind.NORM, Kind.REDUCTION, Kind.INDEX),
    ),
    Family.THRESHOLDS: FamilyTraits(
        summary="on and around 0.5, 1, 3, 6, 20, ... and the ends of the range: branches that end too early show",
        aimed=True,
        shows=_kinds(Kind.ELEMENTWISE, Kind.TRANSCENDENTAL, Kind.EXACT),
    ),
    Family.HALVES: FamilyTraits(
        summary="halfway between whole numbers, also after division by the argument that divides: rounding shows",
        aimed=True,
        shows=_kinds(Kind.QUANTIZE, Kind.ELEMENTWISE),
    ),
    Family.EDGES: FamilyTraits(
        summary="the largest value of a row at its end, its start or a block's border; a function's whole numbers on "
        "such borders: a wrong mask or page shows",
        aimed=True,
        lengths=True,
        shows=_kinds(Kind.EXACT, Kind.NORM, Kind.MATMUL, Kind.ATTENTION, *_ROWS),
    ),
    Family.MASKED: FamilyTraits(
        summary="-inf in half or nearly all of a row, and NaN among -inf: blocks without a finite value show",
        non_finite=True,
        float_only=True,
        aimed=True,
        shows=_kinds(*_ROWS),
    ),
    Family.LEVELS: FamilyTraits(
        summary="rows around 0, -120, 120, -12: a maximum that starts at 0 or belongs to other rows shows",
        aimed=True,
        shows=_kinds(Kind.EXACT, Kind.QUANTIZE, *_ROWS),
    ),
}
"""Every family the generator makes; `own` is not one of them."""


def telling_families(kinds: Collection[Kind], *, lengths: bool) -> frozenset[Family]:
    """Families planned for certain: for outputs of `kinds`, and for whole numbers that a function makes (`lengths`)."""
    return frozenset(
        family
        for family, traits in FAMILY_TRAITS.items()
        if not traits.shows.isdisjoint(kinds) or (lengths and traits.lengths)
    )


def families_for(
    domains: tuple[ValueDomain, ...], *, nan: str, telling: Collection[Family] | None = None
) -> tuple[Family, ...]:
    """Families worth running when the operator's float arguments accept `domains` under NaN policy `nan`.

    Non-finite families need at least one argument that accepts anything, and a contract that propagates NaN. Families
    aimed at a defect are left out where they are not among `telling`.
    """
    accepts_non_finite = nan == "propagate" and ValueDomain.ANY in domains
    accepts_zero = any(domain in (ValueDomain.ANY, ValueDomain.FINITE) for domain in domains)
    return tuple(
        family
        for family, traits in FAMILY_TRAITS.items()
        if (accepts_non_finite or not traits.non_finite)
        and (accepts_zero or not traits.only_special)
        and (telling is None or family in telling or not traits.aimed)
    )
