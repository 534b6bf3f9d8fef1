"""What the fake GitHub remembers: plain values, without a word of JSON.

Decides nothing. Repositories are named by their full name; ids are given by `state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A person, a bot or an organisation."""

    login: str
    id: int
    type: str = "User"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository; a fork is one like any other."""

    id: int
    full_name: str
    private: bool = False
    default_branch: str = "main"
    fork: bool = False
    created_at: str

    @property
    def owner(self) -> str:
        return self.full_name.split("/")[0]

    @property
    def name(self) -> str:
        return self.full_name.split("/")[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One end of a pull request."""

    repository: str | None
    """Full name; None: it was deleted."""

    owner: str
    """Login before the colon of its label; stays when the repository is gone."""

    ref: str
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request, which is also an issue."""

    id: int
    repository: str
    number: int
    state: str
    title: str
    author: str
    head: Side
    base: Side
    created_at: str
    updated_at: str
    labels: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    """Older commits of it; the head is not among them."""

    merge_commit_sha: str | None = None
    merged: bool = False
    locked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment of a pull request."""

    id: int
    repository: str
    number: int
    author: str | None
    """Login; None: the account is gone."""

    body: str
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """An emoji under a comment."""

    id: int
    comment: int
    author: str
    content: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a workflow, as its newest attempt left it."""

    id: int
    repository: str
    run_number: int
    run_attempt: int
    event: str
    head_sha: str
    head_branch: str | None
    head_repository: str | None
    path: str
    status: str
    conclusion: str | None
    actor: str
    pull_requests: tuple[int, ...]
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of a run, in one attempt; one that is run again is another with the same name."""

    id: int
    repository: str
    run: int
    name: str
    run_attempt: int | None
    """None: it is not said."""

    status: str
    conclusion: str | None
    at: str
    """When it was made, began and, if it has, ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file that a run uploaded."""

    id: int
    repository: str
    run: int
    name: str
    content: bytes
    size_in_bytes: int
    """What GitHub says of it, which a test may make a lie."""

    expired: bool
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check run."""

    id: int
    repository: str
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    app: str
    """Slug of the app that made it."""

    started_at: str | None = None
    completed_at: str | None = None
    external_id: str | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvent:
    """A label put on a pull request, or taken off it."""

    id: int
    repository: str
    number: int
    event: str
    """`labeled` or `unlabeled`."""

    actor: str
    label: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A credential."""

    text: str
    """The secret; the log of requests names `name` instead."""

    name: str
    login: str
    kind: str
    """`job`: a workflow's own, of an installed app; `person`: somebody's."""

    app: str
    """Slug of the app; empty for a person's."""

    repository: str | None
    """The only one it is for; None: all that its login may see."""

    permissions: Mapping[str, str]
    """Of a job's token: `read` or `write` by name of the permission."""

    requests: int | None = None
    """After so many it has expired; None: never."""

    until_s: float
    """When it expires, by the server's clock."""
