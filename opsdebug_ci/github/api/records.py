"""What GitHub answers with: the fields we read, under GitHub's own names.

Decides nothing. Required here is what GitHub's description requires and we need; texts in it are untrusted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An account."""

    login: str
    """Name; unique."""

    id: int
    """Number; never given again."""

    type: str = "User"
    """`User`, `Bot`, `Organization`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment of an issue or pull request."""

    id: int
    """Grows with time."""

    user: User | None
    """Author; None: the account is gone."""

    created_at: str
    """ISO 8601, UTC."""

    updated_at: str
    """As above."""

    body: str = ""
    """Markdown."""

    html_url: str = ""
    """Its place on the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository."""

    id: int
    """Number; survives renaming."""

    full_name: str
    """`owner/name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One end of a pull request."""

    ref: str
    """Branch; untrusted text."""

    sha: str
    """Commit."""

    repo: Repository | None
    """None: it was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label of a pull request."""

    name: str = ""
    """Its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request."""

    number: int
    """Within its repository."""

    state: str
    """`open` or `closed`."""

    head: Side
    """What is to be merged."""

    base: Side
    """What it is to be merged into."""

    labels: tuple[Label, ...] = ()
    """Labels it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullReference:
    """A pull request as a workflow run names it."""

    number: int
    """Within its repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """A run of a workflow."""

    id: int
    """Unique."""

    run_number: int
    """Within its workflow, growing."""

    run_attempt: int
    """From 1."""

    event: str
    """What triggered it."""

    head_sha: str
    """Commit it is about; of a pull request, its head."""

    head_branch: str | None
    """Branch; untrusted text."""

    path: str
    """File of the workflow, e.g. `.github/workflows/opsdebug.yml`."""

    status: str
    """`queued`, `in_progress`, `completed`, ..."""

    conclusion: str | None
    """`success`, `failure`, `cancelled`, ...; None: not completed."""

    html_url: str
    """Its page."""

    repository: Repository
    """Where it ran."""

    head_repository: Repository | None
    """Where the code came from; None: it was deleted."""

    pull_requests: tuple[PullReference, ...] | None = None
    """Always empty for forks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of a run."""

    conclusion: str | None
    """`success`, `failure`, `skipped`, ...; None: it is waiting or under way."""

    run_attempt: int = 0
    """Attempt of the run in which it ran, from 1; 0: not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file that a run uploaded."""

    id: int
    """Unique."""

    name: str
    """Untrusted text."""

    size_in_bytes: int
    """Of the archive, as GitHub says."""

    expired: bool
    """It cannot be downloaded any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckApp:
    """The app that made a check run."""

    slug: str = ""
    """`github-actions` for the token of a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutput:
    """What a check shows."""

    title: str | None = None
    """Heading."""

    annotations_count: int = 0
    """Annotations it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """A check of a commit."""

    id: int
    """Grows with time."""

    name: str
    """By which branch protection knows it."""

    head_sha: str
    """Commit."""

    status: str
    """`queued`, `in_progress`, `completed`."""

    conclusion: str | None
    """None: not completed."""

    external_id: str | None = None
    """What we called it."""

    html_url: str | None = None
    """Its page."""

    app: CheckApp | None = None
    """Who made it."""

    output: CheckOutput | None = None
    """What it shows; None: nothing is known of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """A small sign under a comment."""

    id: int
    """Unique."""

    content: str = ""
    """`+1`, `eyes`, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What an account may do in a repository."""

    permission: str
    """`admin`, `write`, `read` or `none`; those who maintain have `write`, those who triage `read`."""

    user: User | None = None
    """Of whom it is said."""
