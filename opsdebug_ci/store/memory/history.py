"""What a store remembers: when failures were first seen, which operators there were, and what a person has accepted.

Decides nothing of its own: which acceptances count is told by the macro `accepted`, for everybody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.places.marker import is_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.tables.acceptances import read_acceptance

_ACCEPTED = "select fingerprint from accepted(?::timestamptz) where fingerprint is not null"

_IN_FORCE = """
    from accepted(?::timestamptz)
    where accepted_at is not null and accepted_by <> '' and reason <> '' and (fingerprint <> '' or operator <> '')
"""

_ACCEPTED_AT = """
    select operator, list("commit" order by accepted_at desc, id desc) from in_force(?::timestamptz)
    where fingerprint is null and accepted_at is not null and accepted_by <> '' and reason <> '' and operator <> ''
    group by operator
"""

_OPERATORS = "select operator from accuracy union select operator from comparisons order by 1"

_FIRST_SEEN = "select fingerprint, first_seen from failure_history"


def accepted_fingerprints(location: str | os.PathLike[str], now: datetime) -> frozenset[str]:
    """Fingerprints of failures that are accepted, that is not lapsed nor withdrawn; none without a store."""
    if not is_store(location):
        return frozenset()
    return frozenset(str(fingerprint) for (fingerprint,) in query(location, _ACCEPTED, (now,)).rows)


def first_seen(location: str | os.PathLike[str]) -> Mapping[str, datetime]:
    """Fingerprint -> start of the first run that recorded it; empty without a store."""
    if not is_store(location):
        return {}
    rows = query(location, _FIRST_SEEN).rows
    return {str(fingerprint): seen for fingerprint, seen in rows if isinstance(seen, datetime)}


def acceptances_in_force(location: str | os.PathLike[str], now: datetime) -> tuple[Acceptance, ...]:
    """The newest acceptance of each failure, and of how fast each operator is, that counts; none without a store.

    Rows that do not say who, when and why are left out: no program of ours wrote them.
    """
    if not is_store(location):
        return ()
    found = query(location, _IN_FORCE, (now,))
    return tuple(read_acceptance(dict(zip(found.columns, row, strict=True))) for row in found.rows)


def every_acceptance(location: str | os.PathLike[str], now: datetime) -> tuple[Acceptance, ...]:
    """As `acceptances_in_force`, all of them, also several of one failure or operator; oldest first."""
    if not is_store(location):
        return ()
    found = query(location, f"{_IN_FORCE.replace('accepted(', 'in_force(', 1)} order by accepted_at, id", (now,))
    return tuple(read_acceptance(dict(zip(found.columns, row, strict=True))) for row in found.rows)


def accepted_commits(location: str | os.PathLike[str], now: datetime) -> Mapping[str, tuple[str, ...]]:
    """Operator -> full hashes of commits at which a person accepted how fast it is, the newest acceptance first; none
    without a store. Of every acceptance that counts: two changes may be accepted side by side."""
    if not is_store(location):
        return {}
    rows = query(location, _ACCEPTED_AT, (now,)).rows
    return {str(operator): tuple(map(str, commits)) for operator, commits in rows if isinstance(commits, list)}


def recorded_operators(location: str | os.PathLike[str]) -> tuple[str, ...]:
    """Every operator that a visible run judged or timed, by name; none without a store."""
    if not is_store(location):
        return ()
    return tuple(str(operator) for (operator,) in query(location, _OPERATORS).rows)


def has_times(location: str | os.PathLike[str], operator: str) -> bool:
    """Times of the operator are stored, whoever took them; not without a store."""
    if not is_store(location):
        return False
    return bool(query(location, "select 1 from timings where operator = ? limit 1", [operator]).rows)
