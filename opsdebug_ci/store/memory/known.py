"""Which failures are already recorded at a baseline commit: what `gate = "new"` compares with.

Decides where the record of an operator, and of a case, is found: at the nearest recorded commit that ran it. Which
commits are recorded, and in which order, is found out elsewhere.

A failure is known since the farthest commit of the line from which on every record of its operator, or of its case,
shows it. A record of fewer cases may lack it, so that it may have been there for longer, and never for less long.

A group may hold failures that have other fingerprints by themselves; those are recorded with it, so that one of them
alone is known as well. Fingerprints of older versions are told apart by their cases.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from opsdebug_ci.model import FAILING_VERDICTS, FINGERPRINT_VERSION, KnownFailures, OlderFailure
from opsdebug_ci.store.memory.recording import RECORDS_OF_LINE
from opsdebug_ci.store.places.marker import is_store
from opsdebug_ci.store.sql.query import query

_SQL = f"""
    with {RECORDS_OF_LINE},
    cases as (
        select a.case_id, a.fingerprint, a.verdict, a.findings[1].cause as cause, r.groups,
               line."commit", line.distance,
               line.distance = min(line.distance) over (partition by a.operator) as of_operator,
               line.distance = min(line.distance) over (partition by a.case_id) as of_case
        from accuracy a join records r on r.id = a.run_id join line on line."commit" = r."commit"
        where a.verdict <> 'skipped'
    )
    select distinct "commit", distance,
           case when of_operator then fingerprint end,
           case when of_operator then list_filter(groups, lambda g: g.fingerprint = cases.fingerprint)[1].members end,
           case when of_case and list_contains($2::varchar[], verdict) then case_id end,
           case when fingerprint not like $3 then cause end
    from cases where of_operator or of_case order by distance
"""  # noqa: S608 - our own text

_SINCE = f"""
    with {RECORDS_OF_LINE},
    cases as (
        select a.operator, a.case_id, a.fingerprint, list_contains($2::varchar[], a.verdict) as fails,
               list_filter(r.groups, lambda g: g.fingerprint = a.fingerprint)[1].members as members,
               line."commit", line.distance
        from accuracy a join records r on r.id = a.run_id join line on line."commit" = r."commit"
        where a.verdict <> 'skipped'
    ),
    shown as (
        select operator as scope, distance, "commit", unnest(list_append(coalesce(members, []), fingerprint)) as name
        from cases where operator in (select operator from cases where fingerprint is not null)
        union all
        select case_id, distance, "commit", case when fails then case_id end
        from cases where case_id in (select case_id from cases where fails)
    )
    select scope, "commit", list(distinct name) filter (name is not null) from shown
    group by scope, distance, "commit" order by scope, distance
"""  # noqa: S608 - our own text


def known_failures(location: str | os.PathLike[str], line: Sequence[str]) -> KnownFailures:
    """Failures recorded in the store at the commits of `line`, each operator's at the first that ran it.

    Args:
        location: the store; one that does not exist yet has no record.
        line: commits, nearest to the code under test first; those without a record are passed over.
    """
    if not line or not is_store(location):
        return KnownFailures()
    failing = [verdict.value for verdict in FAILING_VERDICTS]
    answer = query(location, _SQL, (list(line), failing, f"{FINGERPRINT_VERSION}:%"))
    rows = answer.rows
    fails = any(row[2] is not None or row[4] is not None for row in rows)
    return KnownFailures(
        commit=str(rows[0][0]) if rows else None,
        fingerprints=frozenset(str(found) for row in rows for found in (row[2], *_texts(row[3])) if found is not None),
        cases=frozenset(str(row[4]) for row in rows if row[4] is not None),
        older=frozenset(
            OlderFailure(case=str(case), cause=str(cause))
            for *_, case, cause in rows
            if case is not None and cause is not None
        ),
        since=_since(query(location, _SINCE, (list(line), failing)).rows) if fails else {},
        unread=tuple(fault.path for fault in answer.faults),
    )


def _since(rows: Sequence[Sequence[object]]) -> dict[str, str]:
    """Name -> commit, of rows (operator or case, commit, names of what failed), each one's nearest first."""
    since: dict[str, str] = {}
    for _, records in groupby(rows, key=itemgetter(0)):
        lasting: set[str] | None = None
        for _, commit, names in records:
            lasting = set(_texts(names)) if lasting is None else lasting & set(_texts(names))
            since.update(dict.fromkeys(lasting, str(commit)))
    return since


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()
