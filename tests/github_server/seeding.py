"""What a test puts into the fake GitHub, and may look at again.

Decides plausible values for everything a test does not care about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from github_server.records import (
    Artifact,
    Check,
    Comment,
    Job,
    LabelEvent,
    PullRequest,
    Repository,
    Run,
    Side,
    Token,
)
from github_server.state import State

JOB = "github-actions[bot]"
"""Login of the token of a workflow's job."""


class Seeding:
    """Fills `state`; every method may be called at any time, also while requests are coming."""

    def __init__(self, state: State) -> None:
        self.state = state

    def repository(
        self,
        full_name: str,
        *,
        id: int | None = None,
        private: bool = False,
        default_branch: str = "main",
        fork: bool = False,
    ) -> Repository:
        """A repository."""
        with self.state.lock:
            number = self.state.new_id() if id is None else id
            made = Repository(
                id=number,
                full_name=full_name,
                private=private,
                default_branch=default_branch,
                fork=fork,
                created_at=self.state.now(),
            )
            self.state.account(made.owner)
            self.state.repositories[full_name.lower()] = made
            return made

    def rename(self, old: str, new: str) -> None:
        """Give a repository that has nothing yet another name; the old one then redirects to its number."""
        with self.state.lock:
            moved = replace(self.state.repositories.pop(old.lower()), full_name=new)
            self.state.repositories[new.lower()] = moved
            self.state.renamed[old.lower()] = moved.id

    def token(
        self,
        *,
        login: str = JOB,
        permissions: Mapping[str, str] | None = None,
        repository: str | None = None,
        name: str = "",
        app: str = "github-actions",
        kind: str = "job",
        requests: int | None = None,
        until_s: float = math.inf,
    ) -> str:
        """A credential; its text.

        Args:
            login: whose it is.
            permissions: of a job's: `{"pull-requests": "write", "checks": "write", "actions": "read"}`.
            repository: the only one it is for.
            name: what the log calls it; by default the login.
            app: slug of the app a job's token is of.
            kind: `job`, or `person` for one that somebody made for himself.
            requests: after so many it has expired.
            until_s: when it expires, by the server's clock.
        """
        with self.state.lock:
            self.state.account(login)
            text = f"ghs_CanaryOfTheFakeServer{self.state.new_id():011d}"
            self.state.tokens[text] = Token(
                text=text,
                name=name or login,
                login=login,
                kind=kind,
                app=app if kind == "job" else "",
                repository=repository,
                permissions=dict(permissions or {}),
                requests=requests,
                until_s=until_s,
            )
            return text

    def revoke(self, token: str) -> None:
        """From now on it is no token."""
        with self.state.lock:
            del self.state.tokens[token]

    def role(self, repository: str, login: str, role: str) -> None:
        """What somebody may do: `admin`, `maintain`, `write`, `triage`, `read`, `none`."""
        with self.state.lock:
            self.state.account(login)
            self.state.roles[repository, login] = role

    def commit(self, repository: str, sha: str) -> None:
        """A commit of the repository's own."""
        with self.state.lock:
            self.state.commits.add((repository, sha))

    def pull_request(
        self,
        repository: str,
        number: int,
        *,
        head_sha: str,
        head_ref: str = "change",
        head_repository: str | None = "",
        head_owner: str = "",
        base_ref: str = "main",
        base_sha: str = "0" * 40,
        state: str = "open",
        title: str = "A change",
        author: str = "octocat",
        labels: tuple[str, ...] = (),
        commits: tuple[str, ...] = (),
        merged: bool = False,
        locked: bool = False,
    ) -> PullRequest:
        """A pull request. `head_repository`: full name of the fork; None: deleted since; empty: no fork."""
        with self.state.lock:
            home = repository if head_repository == "" else head_repository
            self.state.account(author)
            owner = head_owner or (home or author).partition("/")[0]
            now = self.state.now()
            made = PullRequest(
                id=self.state.new_id(),
                repository=repository,
                number=number,
                state=state,
                title=title,
                author=author,
                head=Side(repository=home, owner=owner, ref=head_ref, sha=head_sha),
                base=Side(repository=repository, owner=repository.partition("/")[0], ref=base_ref, sha=base_sha),
                created_at=now,
                updated_at=now,
                labels=labels,
                commits=commits,
                merged=merged,
                locked=locked,
            )
            self.state.pulls[repository, number] = made
            return made

    def push(self, repository: str, number: int, head_sha: str) -> None:
        """A new newest commit of a pull request."""
        with self.state.lock:
            old = self.state.pulls[repository, number]
            new = replace(old, head=replace(old.head, sha=head_sha), commits=(*old.commits, old.head.sha))
            self.state.pulls[repository, number] = new

    def close(self, repository: str, number: int) -> None:
        """Close a pull request."""
        with self.state.lock:
            key = (repository, number)
            self.state.pulls[key] = replace(self.state.pulls[key], state="closed")

    def label(self, repository: str, number: int, label: str, *, actor: str, put: bool = True) -> LabelEvent:
        """Put a label on a pull request, or take it off."""
        with self.state.lock:
            old = self.state.pulls[repository, number]
            self.state.account(actor)
            labels = tuple(one for one in old.labels if one != label) + ((label,) if put else ())
            self.state.pulls[repository, number] = replace(old, labels=labels)
            event = LabelEvent(
                id=self.state.new_id(),
                repository=repository,
                number=number,
                event="labeled" if put else "unlabeled",
                actor=actor,
                label=label,
                created_at=self.state.now(),
            )
            self.state.label_events[event.id] = event
            return event

    def comment(
        self, repository: str, number: int, body: str, *, author: str | None = "octocat", created_at: str = ""
    ) -> Comment:
        """A comment, by anybody."""
        with self.state.lock:
            at = created_at or self.state.now()
            if author is not None:
                self.state.account(author)
            made = Comment(
                id=self.state.new_id(),
                repository=repository,
                number=number,
                author=author,
                body=body,
                created_at=at,
                updated_at=at,
            )
            self.state.comments[made.id] = made
            return made

    def run(
        self,
        repository: str,
        *,
        head_sha: str,
        id: int | None = None,
        run_number: int = 1,
        run_attempt: int = 1,
        event: str = "pull_request",
        head_branch: str | None = "change",
        head_repository: str | None = "",
        path: str = ".github/workflows/opsdebug.yml",
        status: str = "completed",
        conclusion: str | None = "success",
        actor: str = "octocat",
        pull_requests: tuple[int, ...] = (),
    ) -> Run:
        """A run of a workflow; called again with its id, what it is now. `head_repository` as of a pull request."""
        with self.state.lock:
            made = Run(
                id=self.state.new_id() if id is None else id,
                repository=repository,
                run_number=run_number,
                run_attempt=run_attempt,
                event=event,
                head_sha=head_sha,
                head_branch=head_branch,
                head_repository=repository if head_repository == "" else head_repository,
                path=path,
                status=status,
                conclusion=conclusion,
                actor=actor,
                pull_requests=pull_requests,
                created_at=self.state.now(),
            )
            self.state.runs[made.id] = made
            return made

    def job(
        self, run: Run, name: str, attempt: int | None = 1, conclusion: str | None = "success", *, status: str = ""
    ) -> Job:
        """A job of an attempt; without a conclusion, one under way."""
        with self.state.lock:
            made = Job(
                id=self.state.new_id(),
                repository=run.repository,
                run=run.id,
                name=name,
                run_attempt=attempt,
                status=status or ("in_progress" if conclusion is None else "completed"),
                conclusion=conclusion,
                at=self.state.now(),
            )
            self.state.jobs[made.id] = made
            return made

    def artifact(
        self, run: Run, name: str, content: bytes, *, size_in_bytes: int | None = None, expired: bool = False
    ) -> Artifact:
        """A file a run uploaded; several may have one name. `size_in_bytes`: what GitHub says, when it is a lie."""
        with self.state.lock:
            made = Artifact(
                id=self.state.new_id(),
                repository=run.repository,
                run=run.id,
                name=name,
                content=content,
                size_in_bytes=len(content) if size_in_bytes is None else size_in_bytes,
                expired=expired,
                created_at=self.state.now(),
            )
            self.state.artifacts[made.id] = made
            return made

    def check(
        self,
        repository: str,
        name: str,
        head_sha: str,
        *,
        status: str = "completed",
        conclusion: str | None = "success",
        app: str = "github-actions",
        external_id: str | None = None,
    ) -> Check:
        """A check run that is there already."""
        with self.state.lock:
            made = Check(
                id=self.state.new_id(),
                repository=repository,
                name=name,
                head_sha=head_sha,
                status=status,
                conclusion=conclusion,
                app=app,
                started_at=self.state.now(),
                completed_at=self.state.now() if status == "completed" else None,
                external_id=external_id,
            )
            self.state.checks[made.id] = made
            return made
