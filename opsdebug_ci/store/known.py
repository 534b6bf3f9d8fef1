"""Which failures are already recorded at a baseline commit: what `gate = "new"` compares with.

Decides where the record of an operator, and of a case, is found: at the commit itself or the nearest of its ancestors
at which a stage of `opsdebug ci` ran it on an unmodified work tree. Runs by hand do not count: repeating a failing
`opsdebug run` must not make it pass.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from opsdebug_ci.model import FAILING_VERDICTS, KnownFailures, Stage
from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.query import query

RECORDING_STAGES = (Stage.SMOKE, Stage.FULL)
"""Stages whose runs are a record of a commit."""

_SQL = """
    with line as (select unnest(?::varchar[]) as "commit", unnest(range(len(?::varchar[]))) as distance),
    cases as (
        select a.case_id, a.fingerprint, a.verdict, line."commit", line.distance,
               line.distance = min(line.distance) over (partition by a.operator) as of_operator,
               line.distance = min(line.distance) over (partition by a.case_id) as of_case
        from accuracy a join runs r on r.id = a.run_id join line on line."commit" = r."commit"
        where list_contains(?::varchar[], r.stage) and not r.dirty and a.verdict <> 'skipped'
    )
    select distinct "commit", distance,
           case when of_operator then fingerprint end,
           case when of_case and list_contains(?::varchar[], verdict) then case_id end
    from cases where of_operator or of_case order by distance
"""


def known_failures(location: str | os.PathLike[str], commit: str, ancestors: Sequence[str]) -> KnownFailures:
    """Failures recorded in the store at `commit` or its nearest recorded ancestor.

    Args:
        location: the store; one that does not exist yet has no record.
        commit: the baseline commit, not the one under test.
        ancestors: its first-parent ancestors, nearest first.
    """
    if not commit or not open_store(location).exists():
        return KnownFailures()
    line = [commit, *ancestors]
    stages = [stage.value for stage in RECORDING_STAGES]
    failing = [verdict.value for verdict in FAILING_VERDICTS]
    rows = query(location, _SQL, (line, line, stages, failing)).rows
    return KnownFailures(
        commit=str(rows[0][0]) if rows else None,
        fingerprints=frozenset(str(fingerprint) for _, _, fingerprint, _ in rows if fingerprint is not None),
        cases=frozenset(str(case_id) for _, _, _, case_id in rows if case_id is not None),
    )
