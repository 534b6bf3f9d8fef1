"""Recorded failures by fingerprint: when each was seen, what its newest group says, whether it was accepted.

Decides what the store knows of a cause. Deliberately joins no fingerprints: which of them are one cause is told by the
groups, and drawn together by whoever lists them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from opsdebug_ci.model import Group
from opsdebug_ci.model.failure_list import FailedCaseRow, Sighting
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.struct import read_evidence
from opsdebug_ci.store.tables.runs import read_group

NEWEST = 10
"""Failures of a cause that are shown."""

_CAUSES = """
    with newest as (select "group".fingerprint as fingerprint, arg_max("group", run_id) as told
                    from failure_groups group by 1),
    seen as (select fingerprint, list(distinct case_id) as cases, list(distinct run_id) as runs
             from failures group by 1),
    judged as (select a.operator, max(r.started_at) as at from accuracy a join runs r on r.id = a.run_id
               where a.verdict <> 'skipped' group by 1),
    kept as (select fingerprint from accepted(?::timestamptz) where fingerprint is not null)
    select h.fingerprint, h.operator, h.cause, h.statement, h.case_name, s.cases, s.runs, h.first_commit,
           h.first_seen, h.last_commit, h.last_seen, h.bundle, n.told, coalesce(j.at > h.last_seen, false),
           a.fingerprint is not null
    from failure_history h join seen s on s.fingerprint = h.fingerprint
         left join newest n on n.fingerprint = h.fingerprint
         left join judged j on j.operator = h.operator left join kept a on a.fingerprint = h.fingerprint
    order by h.last_seen desc, h.fingerprint
"""

_NEWEST = """
    select f.case_name, f.verdict, r."commit", r.started_at, f.evidence
    from failures f join runs r on r.id = f.run_id
    where list_contains(?::varchar[], f.fingerprint) order by r.id desc, f.case_name limit ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCause:
    """What a store knows of one fingerprint."""

    fingerprint: str
    """Which."""

    operator: str
    """Operator it concerns."""

    cause: str
    """Named root cause, in the newest run."""

    statement: str
    """Of the newest failure."""

    case_name: str
    """The newest failure."""

    cases: frozenset[str]
    """Ids of the cases that failed."""

    runs: frozenset[str]
    """Ids of the runs in which it showed."""

    first: Sighting
    """Where it was first seen."""

    last: Sighting
    """Where it was last seen."""

    bundle: str | None
    """sha256 of its newest bundle."""

    group: Group | None
    """What its newest group says; None: recorded before groups were."""

    gone: bool
    """Its operator was judged later, without it."""

    accepted: bool
    """Somebody accepted it, and that has neither lapsed nor been withdrawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestFailures:
    """The newest failures of some fingerprints."""

    failed: tuple[FailedCaseRow, ...]
    """Newest first."""

    evidence: dict[str, EvidenceValue]
    """The numbers of the newest of them."""


def recorded_causes(location: str | os.PathLike[str], now: datetime) -> tuple[RecordedCause, ...]:
    """Every fingerprint of the store, the one seen last first."""
    return tuple(_cause(row) for row in query(location, _CAUSES, (now,)).rows)


def newest_failures(location: str | os.PathLike[str], fingerprints: Sequence[str]) -> NewestFailures:
    """The newest failures with one of these fingerprints."""
    rows = query(location, _NEWEST, (list(fingerprints), NEWEST)).rows
    return NewestFailures(
        failed=tuple(
            FailedCaseRow(name=str(name), verdict=str(verdict), seen=Sighting(commit=str(commit), at=_instant(at)))
            for name, verdict, commit, at, _ in rows
        ),
        evidence=read_evidence(str(rows[0][4])) if rows and rows[0][4] is not None else {},
    )


def _cause(row: tuple[object, ...]) -> RecordedCause:
    fingerprint, operator, cause, statement, name, cases, runs, first, first_at, last, last_at, bundle, *rest = row
    told, gone, accepted = rest
    return RecordedCause(
        fingerprint=str(fingerprint),
        operator=str(operator),
        cause=str(cause),
        statement=str(statement or ""),
        case_name=str(name),
        cases=_ids(cases),
        runs=_ids(runs),
        first=Sighting(commit=str(first), at=_instant(first_at)),
        last=Sighting(commit=str(last), at=_instant(last_at)),
        bundle=None if bundle is None else str(bundle),
        group=read_group(told) if isinstance(told, dict) else None,
        gone=bool(gone),
        accepted=bool(accepted),
    )


def _ids(value: object) -> frozenset[str]:
    return frozenset(map(str, value)) if isinstance(value, list) else frozenset()


def _instant(value: object) -> str | None:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else None
