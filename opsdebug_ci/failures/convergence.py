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
    kept: list[Group] = []
    taken: dict[str, str] = {}
    for found in groups:
        place = next((i for i, lead in enumerate(kept) if _ends_alike(lead, found, ends)), None)
        if place is None:
            kept.append(found)
        else:
            taken[found.fingerprint] = kept[place].fingerprint
            kept[place] = _with(kept[place], found)
    return tuple(kept), taken


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


def _with(lead: Group, other: Group) -> Group:
    cases = "1 case" if other.count == 1 else f"{other.count:,} cases"
    return replace(
        lead,
        count=lead.count + other.count,
        cases=(*lead.cases, *other.cases)[:LISTED],
        members=(*(lead.members or (lead.fingerprint,)), *(other.members or (other.fingerprint,))),
        separators=(),
        why="; ".join(part for part in (lead.why, f"{cases} named `{other.cause}` shrink to the same sizes") if part),
    )
