"""A pull request on the fake GitHub, and the bot's client of it, whose waits cost nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from github_server import GithubServer
from github_server.records import Comment
from scripted_github import Clock

from opsdebug_ci.github.api.client import Client, open_client
from opsdebug_ci.github.bot.author import JOB_LOGIN, Author
from opsdebug_ci.github.bot.convergence import Seen
from opsdebug_ci.github.bot.sticky_comment import CommentOutcome, read_comments, write_comment
from opsdebug_ci.model.publication import CommentState

REPOSITORY = "acme/kernels"
NUMBER = 7
HEAD = "a" * 40
COMMENTS = "/repos/*/*/issues/*/comments"
ONE_COMMENT = "/repos/*/*/issues/comments/*"
JOB = Author(login=JOB_LOGIN, is_app=True)
MAY = {"pull-requests": "write", "checks": "write", "actions": "read"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A server with one open pull request."""

    server: GithubServer
    token: str

    def client(self, clock: Clock | None = None) -> Client:
        return open_client(api_url=self.server.url, token=self.token, clock=clock or Clock())

    @property
    def comments(self) -> list[Comment]:
        """All of the pull request's, oldest first."""
        return [self.server.state.comments[number] for number in sorted(self.server.state.comments)]

    @property
    def ours(self) -> list[Comment]:
        """Those the bot's account wrote."""
        return [comment for comment in self.comments if comment.author == JOB_LOGIN]

    def publish(
        self,
        state: CommentState,
        rungs: Sequence[str] = ("**opsdebug: fail**",),
        *,
        suite: str = "default",
        may_create: bool = True,
        seen: Seen | None = None,
        clock: Clock | None = None,
        limit_bytes: int = 65_000,
    ) -> CommentOutcome:
        """One whole pass of a reporter: look, then write."""
        api = self.client(clock)
        return write_comment(
            api,
            REPOSITORY,
            NUMBER,
            suite,
            JOB,
            seen=seen or read_comments(api, REPOSITORY, NUMBER, suite, JOB),
            rungs=rungs,
            state=state,
            may_create=may_create,
            limit_bytes=limit_bytes,
            clock=clock or Clock(),
        )

    def edit(self, comment: Comment, body: str) -> None:
        """Somebody edits a comment in a browser."""
        self.server.state.comments[comment.id] = replace(comment, body=body)


@contextmanager
def scene() -> Iterator[Scene]:
    """At its end the referee has the word."""
    with GithubServer() as server:
        server.repository(REPOSITORY)
        server.pull_request(REPOSITORY, NUMBER, head_sha=HEAD)
        yield Scene(server=server, token=server.token(permissions=MAY, repository=REPOSITORY))
