"""Failures that look like one cause, together.

Decides membership and the representative: the smallest case, because it is the quickest to rerun and to read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from opsdebug_ci.failures.fingerprint import fingerprint
from opsdebug_ci.model.judgement import Group, Judgement

LISTED = 10
"""Case ids kept per group."""


def group(judgements: Iterable[Judgement]) -> tuple[Group, ...]:
    """Groups of the failing cases, largest first, then by operator and fingerprint; representative first in each."""
    members: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        identity = fingerprint(judgement)
        if identity is not None:
            members.setdefault(identity, []).append(judgement)
    groups = [_group(identity, failing) for identity, failing in members.items()]
    return tuple(sorted(groups, key=lambda g: (-g.count, g.operator, g.fingerprint)))


def _group(identity: str, failing: list[Judgement]) -> Group:
    ordered = sorted(failing, key=lambda judgement: math.prod(judgement.case.dims.values()))
    top = ordered[0].findings[0]
    return Group(
        fingerprint=identity,
        cause=top.cause,
        operator=ordered[0].case.operator,
        count=len(ordered),
        cases=tuple(judgement.case.id for judgement in ordered[:LISTED]),
        statement=top.statement,
    )
