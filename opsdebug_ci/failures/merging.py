"""The second stage of grouping: bunches of failures that are one cause become one group.

(1) compare every pair of bunches of an operator; (2) set aside umbrellas, bunches that look like so many others that
merging would swallow them; (3) unite what is alike; (4) add symptoms to the one cause they fit, if it is one.

Decides never to unite failures whose known first bad steps differ, not even by way of a third.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from opsdebug_ci.failures.bunch import Bunch
from opsdebug_ci.failures.fingerprint import unnamed
from opsdebug_ci.failures.likeness import ALIKE, SYMPTOM, TESTED

UMBRELLA_SHARE, UMBRELLA_LEAST, UMBRELLA_MOST = 0.2, 5, 10
"""Share of all groups, and its limits, from which a bunch is like too many: ClusterFuzz's cap of variant grouping."""


SPECIAL = ("nan_appear", "inf_appear", "special_lost")
"""Kinds of cases that are harder to read than others of the same cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Bunches of one cause."""

    bunches: tuple[Bunch, ...]
    """The one that speaks for them first."""

    reasons: tuple[str, ...] = ()
    """Why each of the others belongs to it; why it was kept apart."""

    umbrella: bool = False
    """It looks like too many others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """Two bunches that are one cause."""

    first: str
    """Fingerprint; of the symptom, where one is a symptom."""

    second: str
    """Fingerprint of the other."""

    symptom: bool
    """The first is part of the second, not the other way round."""

    why: str
    """The reason."""


def merge(found: Sequence[Bunch]) -> list[Merged]:
    """The causes behind `found`, in its order."""
    by_key = {bunch.fingerprint: bunch for bunch in found}
    links = _links(found)
    umbrellas = _umbrellas(links, len(found))
    links = [link for link in links if link.first not in umbrellas and link.second not in umbrellas]
    root, reasons = _united(by_key, links)
    symptoms = {link.first for link in links if link.symptom}
    clusters: dict[str, list[Bunch]] = {}
    for bunch in found:
        clusters.setdefault(_find(root, bunch.fingerprint), []).append(bunch)
    return [
        Merged(
            bunches=tuple(sorted(members, key=lambda bunch: _precedence(bunch, symptoms))),
            reasons=tuple(text for bunch in members for text in reasons.get(bunch.fingerprint, ())),
            umbrella=any(bunch.fingerprint in umbrellas for bunch in members),
        )
        for members in clusters.values()
    ]


def _links(found: Sequence[Bunch]) -> list[_Link]:
    """One link per pair at most: alike before symptom."""
    later: dict[str, list[Bunch]] = {}
    for bunch in reversed(found):
        later.setdefault(bunch.identity.operator, []).append(bunch)
    links: list[_Link] = []
    for mine in found:
        others = later[mine.identity.operator]
        others.pop()  # itself: the rest stand behind it
        links += chain.from_iterable(_link(mine, other) for other in reversed(others))
    return links


def _link(mine: Bunch, other: Bunch) -> list[_Link]:
    tried = [(mine, other, False, ALIKE), (mine, other, True, SYMPTOM), (other, mine, True, SYMPTOM)]
    for first, second, symptom, rules in tried:
        why = next(filter(None, (rule(first, second) for rule in rules)), "")
        if why:
            return [_Link(first=first.fingerprint, second=second.fingerprint, symptom=symptom, why=why)]
    return []


def _umbrellas(links: Iterable[_Link], groups: int) -> dict[str, int]:
    """Bunches with too many links, and how many they have."""
    likenesses = [link for link in links if link.why not in TESTED]
    limit = min(UMBRELLA_MOST, max(UMBRELLA_LEAST, math.ceil(UMBRELLA_SHARE * groups)))
    degree = Counter(end for link in likenesses for end in (link.first, link.second))
    return {key: count for key, count in degree.items() if count >= limit}


def _united(by_key: dict[str, Bunch], links: Sequence[_Link]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Root of every bunch, and the reasons by bunch."""
    root = {key: key for key in by_key}
    reasons: dict[str, list[str]] = {}
    for link in links:
        if not link.symptom and _unite(by_key, root, link.first, link.second):
            reasons.setdefault(link.first, []).append(_told(by_key[link.first], link.why))
    for child in dict.fromkeys(link.first for link in links if link.symptom):
        mine = [link for link in links if link.symptom and link.first == child]
        causes = {_find(root, link.second) for link in mine} - {_find(root, child)}
        if len(causes) == 1 and _unite(by_key, root, child, mine[0].second):
            reasons.setdefault(child, []).append(_told(by_key[child], mine[0].why))
        elif len(causes) > 1:
            reasons.setdefault(child, []).append(f"fits {len(causes)} causes, so it was added to none")
    return root, reasons


def _unite(by_key: dict[str, Bunch], root: dict[str, str], first: str, second: str) -> bool:
    mine, other = _find(root, first), _find(root, second)
    steps = {by_key[key].identity.node for key in by_key if _find(root, key) in (mine, other)} - {""}
    if mine == other or len(steps) > 1:
        return False
    root[mine] = other
    return True


def _find(root: dict[str, str], key: str) -> str:
    while root[key] != key:
        key = root[key]
    return key


def _told(bunch: Bunch, why: str) -> str:
    count = len(bunch.failing)
    return f"{count:,} {'case' if count == 1 else 'cases'} of `{bunch.identity.kind}`: {why}"


def _precedence(bunch: Bunch, symptoms: set[str]) -> tuple[object, ...]:
    """A cause before its symptoms, what was tested before what is open, and that before what one case alone suggests;
    never by counts, which vary."""
    found = bunch.identity
    return (
        bunch.fingerprint in symptoms,
        found.kind in SPECIAL,
        not bunch.hypothesis and not unnamed(found),
        unnamed(found),
        not found.node,
        not found.frames,
        found.dtype_family != "wide",
        bunch.fingerprint,
    )
