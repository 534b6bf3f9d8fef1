"""Which failures, with which cases, are recorded at a baseline commit: what a change can be said to have fixed.

Decides that the record of an operator is the one at the nearest commit that ran it, and that every case that failed
there, in any stage, belongs to its failure: who would call it fixed must have seen all of them pass.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from opsdebug_ci.model import FAILING_VERDICTS
from opsdebug_ci.model.judgement import RecordedFailure
from opsdebug_ci.store.memory.recording import RECORDS_OF_LINE
from opsdebug_ci.store.places.marker import is_store
from opsdebug_ci.store.sql.query import query

MOST_CASES = 1_000
"""Of a failure that is told of; to know that a wider one is gone would take more than a document has room for."""

MOST_FAILURES = 200
"""Told of, by operator: with their cases about 4 MB at the very most, and usually a few kB."""

_SQL = f"""
    with {RECORDS_OF_LINE},
    cases as (
        select a.operator, a.case_id, a.fingerprint, a.verdict, line."commit", a.findings[1].cause as cause,
               list_filter(r.groups, lambda g: g.fingerprint = a.fingerprint)[1].cause as of_group,
               line.distance = min(line.distance) over (partition by a.operator) as nearest
        from accuracy a join records r on r.id = a.run_id join line on line."commit" = r."commit"
        where a.verdict <> 'skipped'
    )
    select operator, fingerprint, min(coalesce(of_group, cause)), min("commit"), list_sort(list_distinct(list(case_id)))
    from cases where nearest and fingerprint is not null and list_contains($2::varchar[], verdict)
    group by operator, fingerprint having count(distinct case_id) <= {MOST_CASES}
    order by operator, fingerprint limit {MOST_FAILURES}
"""  # noqa: S608 - our own text


def recorded_failures(location: str | os.PathLike[str], line: Sequence[str]) -> tuple[RecordedFailure, ...]:
    """Failures recorded in the store at the commits of `line`, each operator's at the first that ran it.

    Args:
        location: the store; one that does not exist yet has no record.
        line: commits, nearest to the code under test first.
    """
    if not line or not is_store(location):
        return ()
    failing = [verdict.value for verdict in FAILING_VERDICTS]
    return tuple(
        RecordedFailure(
            fingerprint=str(fingerprint),
            operator=str(operator),
            cause=str(cause or "unknown"),
            commit=str(commit),
            cases=tuple(map(str, cases)) if isinstance(cases, (list, tuple)) else (),
        )
        for operator, fingerprint, cause, commit, cases in query(location, _SQL, (list(line), failing)).rows
    )
