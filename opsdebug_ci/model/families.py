"""Which input families suit which value domain; shared by planning and by the generator.

Decides admissibility only. `inputs` on the worker side makes the values.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Family, ValueDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTraits:
    """What a family's raw values contain, before a domain restricts them."""

    summary: str
    """What it is for, in one phrase."""

    non_finite: bool = False
    """Holds NaN or infinity: only where the domain is `any` and the contract propagates NaN."""

    only_special: bool = False
    """Is about zero or sign, and has nothing to say where the domain forbids them."""


FAMILY_TRAITS: dict[Family, FamilyTraits] = {
    Family.NORMAL: FamilyTraits(summary="standard normal: the everyday case"),
    Family.UNIFORM: FamilyTraits(summary="uniform on [0, 1): one sign, so sums grow and accumulators stagnate"),
    Family.SHIFTED: FamilyTraits(summary="normal + 30: one-pass variance and mean subtraction cancel"),
    Family.HEAVY: FamilyTraits(summary="cubed normal: a few large values dominate"),
    Family.CONSTANT: FamilyTraits(summary="0.1 everywhere: serial sums stagnate, variance is zero"),
    Family.CANCELLING: FamilyTraits(summary="pairs +v, -v: sums are exactly zero"),
    Family.LARGE: FamilyTraits(summary="near the largest magnitude that cannot overflow inside the operator"),
    Family.SMALL: FamilyTraits(summary="around 1e-3: a wrong epsilon shows"),
    Family.SUBNORMAL: FamilyTraits(summary="below the smallest normal number: flushing shows"),
    Family.INTEGER: FamilyTraits(summary="small whole numbers: sums are exact, so any rounding inside shows"),
    Family.INDEX_CODED: FamilyTraits(summary="x[i] = i: a wrong index names the element it read"),
    Family.TIES: FamilyTraits(summary="few distinct values: tie rules and rounding midpoints show"),
    Family.SIGNED_ZEROS: FamilyTraits(summary="+0 and -0 among ordinary values", only_special=True),
    Family.SPECIALS: FamilyTraits(summary="single NaN, +inf, -inf, +-0 among ordinary values", non_finite=True),
    Family.SPECIAL_ROWS: FamilyTraits(summary="whole rows of NaN, +inf, -inf, 0", non_finite=True),
}
"""Every family the generator makes; `own` is not one of them."""


def families_for(domains: tuple[ValueDomain, ...], *, nan: str) -> tuple[Family, ...]:
    """Families worth running when the operator's float arguments accept `domains` under NaN policy `nan`.

    Non-finite families need at least one argument that accepts anything, and a contract that propagates NaN.
    """
    accepts_non_finite = nan == "propagate" and ValueDomain.ANY in domains
    accepts_zero = any(domain in (ValueDomain.ANY, ValueDomain.FINITE) for domain in domains)
    return tuple(
        family
        for family, traits in FAMILY_TRAITS.items()
        if (accepts_non_finite or not traits.non_finite) and (accepts_zero or not traits.only_special)
    )
