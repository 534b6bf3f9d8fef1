"""Failure groups of several shards, as one list.

Decides that equal fingerprints are one group. Groups that only a look at all failures would have united stay apart: the
next run that is not divided unites them. What a shard says of its own cases alone is kept only where it holds for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.judgement import Group

LISTED = 10
"""Case ids kept per group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A group of one shard."""

    group: Group
    """As the shard tells it."""

    elements: float
    """Size of its representative: the product of its dims."""


def merged_groups(runs: Sequence[RunDocument]) -> tuple[Group, ...]:
    """Groups of all runs: largest first, then by operator and fingerprint."""
    if len(runs) == 1:
        return runs[0].summary.groups
    parts: dict[str, list[_Part]] = {}
    for part in chain.from_iterable(map(_parts, runs)):
        parts.setdefault(part.group.fingerprint, []).append(part)
    merged = (_one(found) for found in parts.values())
    return tuple(sorted(merged, key=lambda group: (-group.count, group.operator, group.fingerprint)))


def _parts(run: RunDocument) -> Iterable[_Part]:
    sizes = {each.case.id: math.prod(map(float, each.case.dims.values())) for each in run.observations}
    for group in run.summary.groups:
        yield _Part(group=group, elements=sizes.get(group.cases[0], math.inf) if group.cases else math.inf)


def _one(parts: Sequence[_Part]) -> Group:
    """One group; the shard with the smallest case speaks for it."""
    if len(parts) == 1:
        return parts[0].group
    lead, *others = (part.group for part in sorted(parts, key=lambda part: part.elements))
    every = (lead, *others)
    kept = next((group for group in every if group.bundle is not None), lead)
    known = all(group.known for group in every)
    return replace(
        lead,
        count=sum(group.count for group in every),
        cases=_once(group.cases for group in every)[:LISTED],
        why=f"in one of {len(every)} shards: {lead.why}" if lead.why else "",
        separators=tuple(each for each in lead.separators if all(each in group.separators for group in others)),
        umbrella=any(group.umbrella for group in every),
        bundle=kept.bundle,
        replay=kept.replay,
        members=_once(group.members for group in every),
        known=known,
        since=next((group.since for group in every if group.since), "") if known else "",
    )


def _once(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))
