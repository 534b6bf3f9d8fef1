"""Groups that shrinking shows to be one: their failures come down to the same sizes, beside the same passing ones.

Decides by the smallest case and its passing neighbour, for values alone: which cause the rules name changes with the
sizes, while the sizes from which an output is wrong do not. Deliberately not what else was found: memory and crashes
say what they are at any size, and known first bad steps that differ are two defects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from opsdebug_ci.failures.fingerprint import same_step
from opsdebug_ci.failures.kind import VALUES
from opsdebug_ci.model import Case, Group

LISTED = 10
"""Case ids kept per group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Where the shrinking of one group ended."""

    smallest: Case
    """The smallest case that fails."""

    passing: Case | None
    """Its nearest passing neighbour; None: not known."""


def united(groups: Sequence[Group], ends: Mapping[str, End]) -> tuple[tuple[Group, ...], dict[str, str]]:
    """The groups with those that end alike as one, and fingerprint -> that of its group for those that were taken in.

    Args:
        groups: largest first.
        ends: fingerprint -> where its shrinking ended; groups without an end stay as they are.
    """
    kept: dict[str, list[Group]] = {}
    for found in groups:
        lead = next((alike[0] for alike in kept.values() if _ends_alike(alike[0], found, ends)), found)
        kept.setdefault(lead.fingerprint, []).append(found)
    taken = {other.fingerprint: lead for lead, alike in kept.items() for other in alike[1:]}
    return tuple(_with(*alike) for alike in kept.values()), taken


def _ends_alike(lead: Group, other: Group, ends: Mapping[str, End]) -> bool:
    mine, theirs = ends.get(lead.fingerprint), ends.get(other.fingerprint)
    if mine is None or theirs is None or lead.identity is None or other.identity is None:
        return False
    if lead.operator != other.operator or lead.identity.target != other.identity.target:
        return False
    if not {lead.identity.kind, other.identity.kind} <= set(VALUES) or not same_step(lead.identity, other.identity):
        return False
    if mine.smallest.id == theirs.smallest.id:
        return True
    beside = None not in (mine.passing, theirs.passing) and _sizes(mine.passing) == _sizes(theirs.passing)
    return beside and _sizes(mine.smallest) == _sizes(theirs.smallest)


def _sizes(case: Case | None) -> dict[str, int]:
    return {} if case is None else dict(case.dims)


def _with(lead: Group, *others: Group) -> Group:
    if not others:
        return lead
    alike, count = (lead, *others), sum(other.count for other in others)
    names = ", ".join(dict.fromkeys(f"`{other.cause}`" for other in others))
    why = f"{count:,} case{'' if count == 1 else 's'} named {names} shrink{'s' if count == 1 else ''} to the same sizes"
    return replace(
        lead,
        count=lead.count + count,
        cases=tuple(case for each in alike for case in each.cases)[:LISTED],
        members=tuple(member for each in alike for member in (each.members or (each.fingerprint,))),
        separators=(),
        why="; ".join(part for part in (lead.why, why) if part),
    )
