"""Everything the fake GitHub remembers, behind one lock.

Decides ids and time. A request is worked on while it holds the lock, so that each happens at one moment, as the
transactions of a database would make it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone

from github_server.records import (
    Account,
    Artifact,
    Check,
    Comment,
    Job,
    LabelEvent,
    PullRequest,
    Reaction,
    Repository,
    Run,
    Token,
)

APPS = {"github-actions": 15368, "another-app": 424242}
"""Apps that may make check runs, by slug; the first is the one whose tokens the jobs of workflows get."""


class State:
    """What there is. Keys are ids, unless a name says otherwise; repositories are found by their name in lower case."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.accounts: dict[str, Account] = {}
        self.repositories: dict[str, Repository] = {}
        self.renamed: dict[str, int] = {}
        self.pulls: dict[tuple[str, int], PullRequest] = {}
        self.comments: dict[int, Comment] = {}
        self.reactions: dict[int, Reaction] = {}
        self.runs: dict[int, Run] = {}
        self.jobs: dict[int, Job] = {}
        self.artifacts: dict[int, Artifact] = {}
        self.checks: dict[int, Check] = {}
        self.label_events: dict[int, LabelEvent] = {}
        self.roles: dict[tuple[str, str], str] = {}
        self.commits: set[tuple[str, str]] = set()
        self.tokens: dict[str, Token] = {}
        self.used: dict[str, int] = {}
        self._ids = itertools.count(1001)

    def new_id(self) -> int:
        """An id larger than every one before."""
        return next(self._ids)

    def now(self) -> str:
        """The moment, as GitHub writes it."""
        return datetime.fromtimestamp(int(self.clock()), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def repository(self, full_name: str) -> Repository | None:
        """By name, in any case."""
        return self.repositories.get(full_name.lower())

    def repository_by_id(self, number: int) -> Repository | None:
        """By number, which survives renaming."""
        return next((one for one in self.repositories.values() if one.id == number), None)

    def account(self, login: str) -> Account:
        """By name; whoever is mentioned first is made then."""
        if login not in self.accounts:
            kind = "Bot" if login.endswith("[bot]") else "User"
            self.accounts[login] = Account(login=login, id=self.new_id(), type=kind)
        return self.accounts[login]

    def pulls_of(self, repository: str) -> Iterator[PullRequest]:
        """Of a repository, oldest first."""
        return (one for (name, _), one in sorted(self.pulls.items()) if name == repository)

    def knows_commit(self, repository: str, sha: str) -> bool:
        """Whether a repository has a commit: its own, or one a pull request brought."""
        return (
            (repository, sha) in self.commits
            or any(
                sha in (one.head.sha, one.base.sha, one.merge_commit_sha, *one.commits)
                for one in self.pulls_of(repository)
            )
            or any(one.repository == repository and one.head_sha == sha for one in self.runs.values())
        )

    def role(self, repository: Repository, login: str) -> str:
        """What somebody may do there: `admin`, `maintain`, `write`, `triage`, `read` or `none`."""
        if login == repository.owner:
            return "admin"
        return self.roles.get((repository.full_name, login), "none" if repository.private else "read")
