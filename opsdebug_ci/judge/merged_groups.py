"""Failure groups of several shards, as one list.

Decides that groups which share a fingerprint are one: each shard unites what it sees together, so that one that saw two
kinds of failure side by side tells for the others that they are one cause. Groups of an operator whose first bad steps
differ stay apart. What a shard says of its own cases alone is kept only where it holds for all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.vocabulary import Cause

LISTED = 10
"""Case ids kept per group."""

MOST_COMPARED = 1_000
"""Groups of all shards that are compared in pairs, which takes about a second; of more, only fingerprints are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A group of one shard."""

    group: Group
    """As the shard tells it."""

    elements: float
    """Size of its representative: the product of its dims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedGroups:
    """Groups of all shards."""

    groups: tuple[Group, ...]
    """Largest first, then by operator and fingerprint."""

    names: Mapping[str, str]
    """Fingerprint of a shard's group -> that of the one it is part of now."""


def merged_groups(runs: Sequence[RunDocument]) -> MergedGroups:
    """Groups of all runs."""
    parts = [*chain.from_iterable(map(_parts, runs))]
    clusters = _clusters(parts) if len(runs) > 1 else [[part] for part in parts]
    merged = [_one(cluster) for cluster in clusters]
    names = {
        part.group.fingerprint: group.fingerprint
        for group, cluster in zip(merged, clusters, strict=True)
        for part in cluster
    }
    largest = sorted(merged, key=lambda group: (-group.count, group.operator, group.fingerprint))
    return MergedGroups(groups=tuple(largest) if len(runs) > 1 else runs[0].summary.groups, names=names)


def _clusters(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Parts of one cause, in the order in which causes appear."""
    if len(parts) > MOST_COMPARED:
        return _by_fingerprint(parts)
    found: list[list[_Part]] = []
    for part in parts:
        near = [cluster for cluster in found if any(_is_one(part.group, other.group) for other in cluster)]
        united = [part, *chain.from_iterable(near)]
        if len({step for one in united if (step := _step(one.group))}) > 1:  # not even by way of a third
            near = [cluster for cluster in near if cluster[0].group.fingerprint == part.group.fingerprint]
            united = [part, *chain.from_iterable(near)]
        found = [cluster for cluster in found if cluster not in near]
        found.append([*united[1:], part])
    return found


def _by_fingerprint(parts: Sequence[_Part]) -> list[list[_Part]]:
    found: dict[str, list[_Part]] = {}
    for part in parts:
        found.setdefault(part.group.fingerprint, []).append(part)
    return list(found.values())


def _is_one(mine: Group, other: Group) -> bool:
    if mine.fingerprint == other.fingerprint:
        return True
    if mine.operator != other.operator or mine.umbrella or other.umbrella:
        return False
    return not {mine.fingerprint, *mine.members}.isdisjoint((other.fingerprint, *other.members))


def _step(group: Group) -> str:
    """Where it first goes wrong, where that is known."""
    return "" if group.identity is None else group.identity.node or ""


def _parts(run: RunDocument) -> Iterable[_Part]:
    sizes = {each.case.id: math.prod(map(float, each.case.dims.values())) for each in run.observations}
    for group in run.summary.groups:
        yield _Part(group=group, elements=sizes.get(group.cases[0], math.inf) if group.cases else math.inf)


def _one(parts: Sequence[_Part]) -> Group:
    """One group. Of the shards that name the usual cause, the one with the smallest case speaks for it."""
    if len(parts) == 1:
        return parts[0].group
    usual = _usual_cause(parts)
    lead, *others = (
        part.group for part in sorted(parts, key=lambda part: (part.group.cause is not usual, part.elements))
    )
    every = (lead, *others)
    kept = next((group for group in every if group.bundle is not None), lead)
    known = all(group.known for group in every)
    shared = frozenset(lead.separators).intersection(*(group.separators for group in others))
    return replace(
        lead,
        count=sum(group.count for group in every),
        cases=_once(group.cases for group in every)[:LISTED],
        why="",
        separators=tuple(each for each in lead.separators if each in shared),
        umbrella=any(group.umbrella for group in every),
        bundle=kept.bundle,
        replay=kept.replay,
        smallest=kept.smallest,
        members=_once(group.members for group in every),
        known=known,
        since=next((group.since for group in every if group.since), "") if known else "",
    )


def _usual_cause(parts: Sequence[_Part]) -> Cause:
    """The one of most failures; of equally common ones, not the one that only says that a case is empty."""
    counts: Counter[Cause] = Counter()
    for part in parts:
        counts[part.group.cause] += part.group.count
    return max(counts, key=lambda cause: (counts[cause], cause is not Cause.EMPTY_OR_ZERO_DIM))


def _once(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))
