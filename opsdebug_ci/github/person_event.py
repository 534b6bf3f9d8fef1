"""What a person did on a pull request, from the event file: wrote a comment, or put a label on it.

Decides which events are of that kind, and what is read of them. Whom an event names is who did it: the server says so.
What they may do is asked of the server. Texts are untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.github.payload import read_payload

COMMENT_EVENT = "issue_comment"
"""Somebody wrote a comment on an issue or pull request."""

LABEL_EVENTS = ("pull_request_target", "pull_request")
"""Somebody put a label on a pull request, among other things."""

_HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRequest:
    """One thing that an account did on a pull request."""

    number: int
    """Of the pull request."""

    login: str
    """Account that did it; not verified to be anybody in particular."""

    account: int
    """Its number."""

    kind: str
    """`User`, `Bot`, ..."""

    at: datetime
    """When, by the server's clock."""

    comment: int | None = None
    """Id of the comment; None: it is a label."""

    body: str = ""
    """Text of the comment; untrusted."""

    label: str = ""
    """Name of the label; untrusted."""

    head: str = ""
    """Newest commit of the pull request when the label was put on it; a comment's event does not say."""


def read_person_request(environ: Mapping[str, str]) -> PersonRequest | None:
    """What a person did that this job is about; None: it is about something else.

    Only a comment that is new, on a pull request, and a label that was just put on one.

    Raises:
        EnvironmentLimitError: the event file cannot be read, or says less than GitHub does.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    if name not in (COMMENT_EVENT, *LABEL_EVENTS):
        return None
    path = environ.get("GITHUB_EVENT_PATH", "")
    payload = read_payload(path, _Payload)
    request = _commented(payload) if name == COMMENT_EVENT else _labelled(payload)
    if request is not None and (request.number < 1 or not request.login or request.account < 1):
        raise _incomplete(path, "no number of a pull request, or nobody who did it")
    return request


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """Who did something."""

    login: str = ""
    """Name."""

    id: int = 0
    """Number."""

    type: str = ""
    """`User`, `Bot`, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marker:
    """Something of which only its being there counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Issue:
    """An issue or pull request."""

    number: int = 0
    """Within its repository."""

    pull_request: _Marker | None = None
    """Present where it is a pull request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comment:
    """A comment."""

    id: int = 0
    """Unique."""

    user: _Account | None = None
    """Author."""

    created_at: str = ""
    """ISO 8601, UTC."""

    body: str | None = None
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Label:
    """A label."""

    name: str = ""
    """Its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What is to be merged."""

    sha: str = ""
    """Newest commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PullRequest:
    """A pull request."""

    number: int = 0
    """Within its repository."""

    updated_at: str = ""
    """ISO 8601, UTC; putting a label on it is an update."""

    head: _Head = field(default_factory=_Head)
    """What is to be merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Payload:
    """What is read of an event; everything else in it is ignored."""

    action: str = ""
    """`created`, `labeled`, ..."""

    comment: _Comment | None = None
    """Of a comment's event."""

    issue: _Issue | None = None
    """What was commented on."""

    label: _Label | None = None
    """Of a label's event."""

    pull_request: _PullRequest | None = None
    """What got the label."""

    sender: _Account | None = None
    """Who did it."""


def _commented(payload: _Payload) -> PersonRequest | None:
    comment, issue = payload.comment, payload.issue
    if payload.action != "created" or comment is None or issue is None or issue.pull_request is None:
        return None
    user = comment.user or _Account()
    return PersonRequest(
        number=issue.number,
        login=user.login,
        account=user.id,
        kind=user.type,
        at=_instant(comment.created_at),
        comment=comment.id,
        body=comment.body or "",
    )


def _labelled(payload: _Payload) -> PersonRequest | None:
    label, pull = payload.label, payload.pull_request
    if payload.action != "labeled" or label is None or pull is None:
        return None
    sender = payload.sender or _Account()
    return PersonRequest(
        number=pull.number,
        login=sender.login,
        account=sender.id,
        kind=sender.type,
        at=_instant(pull.updated_at),
        label=label.name,
        head=pull.head.sha if _HASH.fullmatch(pull.head.sha) else "",
    )


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 does not read the suffix `Z`
    except ValueError as error:
        raise _incomplete("GITHUB_EVENT_PATH", f"the time {text[:40]!r}") from error
    if instant.tzinfo is None:
        raise _incomplete("GITHUB_EVENT_PATH", f"the time {text[:40]!r} without its distance from UTC")
    return instant


def _incomplete(path: str, found: str) -> EnvironmentLimitError:
    return EnvironmentLimitError(
        f"the event in {path!r} has {found}; wanted who did what on which pull request, and when",
        next_step="run this in a job that GitHub started for a comment or a label",
    )
