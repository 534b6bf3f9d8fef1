"""States of a comment for tests: `state("5.2 abc")` is run 5, attempt 2, of a commit `abc...`."""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.github.api.records import Comment, User
from opsdebug_ci.model.publication import CommentState, FailureKey, ReportedHead

WORKFLOW = ".github/workflows/opsdebug.yml"


def failure(fingerprint: str, operator: str = "gelu") -> FailureKey:
    return FailureKey(fingerprint=fingerprint, operator=operator, cause="tail")


def head(commit: str = "a", failures: tuple[FailureKey, ...] = (), regressed: tuple[str, ...] = ()) -> ReportedHead:
    return ReportedHead(commit=(commit * 40)[:40], failures=failures, regressed=regressed)


def state(notation: str, **changes: object) -> CommentState:
    order, *rest = notation.split()
    number, attempt = (int(part) for part in order.split("."))
    base = CommentState(
        version=1,
        stage="smoke",
        ci_run=9_000_000 + number,
        run_number=number,
        attempt=attempt,
        conclusion="fail",
        body="",
        head=head(rest[0] if rest else "a"),
        complete=True,
        workflow=WORKFLOW,
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # fields of the state, by name


def comment(number: int, body: str, login: str = "github-actions[bot]", kind: str = "Bot") -> Comment:
    moment = "2026-11-30T10:00:00Z"
    user = User(login=login, id=41898282, type=kind)
    return Comment(
        id=number, user=user, created_at=moment, updated_at=moment, body=body, html_url=f"https://h/c{number}"
    )
