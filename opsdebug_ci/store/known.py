"""Which failures are already recorded at a baseline commit: what `gate = "new"` compares with.

Decides where an operator's record is found: at the commit itself or the nearest of its ancestors at which a stage
of `opsdebug ci` ran that operator on an unmodified work tree. Runs by hand do not count: repeating a failing
`opsdebug run` must not make it pass.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from opsdebug_ci.model import Stage
from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.query import query

RECORDING_STAGES = (Stage.SMOKE, Stage.FULL)
"""Stages whose runs are a record of a commit."""

_SQL = """
    with line as (select unnest(?::varchar[]) as "commit", unnest(range(len(?::varchar[]))) as distance),
    cases as (
        select a.operator, a.fingerprint, a.verdict, line."commit", line.distance
        from accuracy a join runs r on r.id = a.run_id join line on line."commit" = r."commit"
        where list_contains(?::varchar[], r.stage) and not r.dirty and a.verdict <> 'skipped'
    ),
    nearest as (select operator, min(distance) as distance from cases group by operator)
    select distinct "commit", distance, fingerprint from cases join nearest using (operator, distance)
    order by distance
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailures:
    """Failures recorded at a commit or before it."""

    commit: str | None
    """Nearest commit with a record; None: there is none, and every failure is new."""

    fingerprints: frozenset[str]
    """What failed, each operator at the nearest commit that ran it."""


def known_failures(location: str | os.PathLike[str], commit: str, ancestors: Sequence[str]) -> KnownFailures:
    """Failures recorded in the store at `commit` or its nearest recorded ancestor.

    Args:
        location: the store; one that does not exist yet has no record.
        commit: the baseline commit, not the one under test.
        ancestors: its first-parent ancestors, nearest first.
    """
    if not commit or not open_store(location).exists():
        return KnownFailures(commit=None, fingerprints=frozenset())
    line = [commit, *ancestors]
    stages = [stage.value for stage in RECORDING_STAGES]
    rows = query(location, _SQL, (line, line, stages)).rows
    return KnownFailures(
        commit=str(rows[0][0]) if rows else None,
        fingerprints=frozenset(str(fingerprint) for _, _, fingerprint in rows if fingerprint is not None),
    )
