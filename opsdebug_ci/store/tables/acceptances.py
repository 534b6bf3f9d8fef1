"""Table `acceptances`: regressions and failures a person accepted, and withdrawals of that.

Decides how an acceptance lies in columns, and reads it back. Each is a file of its own, of no run, and visible by
itself. Which of them count at a moment is told by the macro `accepted`.
"""

from __future__ import annotations

from datetime import datetime, timezone

from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.column import INSTANT, INTEGER, TEXT, Column, Row, Table, no_rows

TABLE = Table(
    name="acceptances",
    comment="One row per acceptance or withdrawal. `accepted(now())` has those that count.",
    columns=(
        Column(name="id", type=TEXT, comment="time-ordered unique id of the acceptance"),
        Column(name="fingerprint", type=TEXT, comment="failure accepted; null: how fast the operator is"),
        Column(name="operator", type=TEXT, comment="operator it concerns; null in older files"),
        Column(
            name="commit", type=TEXT, comment="full hash of the commit it was accepted at; empty outside a repository"
        ),
        Column(name="accepted_by", type=TEXT, comment="who"),
        Column(name="accepted_at", type=INSTANT, comment="when", unit="UTC"),
        Column(name="reason", type=TEXT, comment="why"),
        Column(
            name="until",
            type=INSTANT,
            comment="when it lapses; null: never; accepted_at: it withdraws what was accepted of the same before",
            unit="UTC",
        ),
        Column(
            name="pull_request",
            type=INTEGER,
            comment="number of the pull request it was accepted on; null: by hand, and in older files",
        ),
    ),
    rows=no_rows,
    of_run=False,
)


def row_of(acceptance: Acceptance) -> Row:
    """The row of an acceptance."""
    return {
        "id": acceptance.id,
        "fingerprint": acceptance.fingerprint,
        "operator": acceptance.operator,
        "commit": acceptance.commit,
        "accepted_by": acceptance.accepted_by,
        "accepted_at": acceptance.at,
        "reason": acceptance.reason,
        "until": acceptance.end,
        "pull_request": acceptance.pull_request,
    }


def read_acceptance(row: Row) -> Acceptance:
    """Inverse of `row_of`, in UTC. Raises InternalError when the row contradicts itself."""
    until = row["until"]
    return Acceptance(
        id=row["id"],
        fingerprint=row["fingerprint"],
        operator=row["operator"],
        commit=row["commit"] or "",
        accepted_by=row["accepted_by"],
        accepted_at=_text(row["accepted_at"]),
        reason=row["reason"],
        until=None if until is None else _text(until),
        pull_request=row.get("pull_request"),
    )


def _text(instant: datetime) -> str:
    return instant.astimezone(timezone.utc).isoformat()
