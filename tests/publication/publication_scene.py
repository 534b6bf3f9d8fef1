"""A repository on the fake GitHub whose pull requests are published, push by push, with runs from a small notation."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from github_server import GithubServer
from github_server.records import Check, Comment, Run
from scripted_github import Clock
from shard_notation import cases, divided

from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.github.artifacts.naming import artifact_name
from opsdebug_ci.model import KnownFailures
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.model.shard import SHARD_FILE, ShardDocument
from opsdebug_ci.pipeline.publication.publish import publish
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.report import encode

REPOSITORY, FORK, NUMBER = "acme/kernels", "someone/kernels", 7
MAY = {"pull-requests": "write", "checks": "write", "actions": "read"}
WORKFLOW = ".github/workflows/opsdebug.yml"


class Quiet:
    """Progress nobody listens to."""

    def start(self, total: int) -> None: ...

    def step(self, judgement: object) -> None: ...

    def drop(self, count: int) -> None: ...

    def stop(self) -> None: ...

    def tell(self, doing: str) -> None: ...


def commit(number: int) -> str:
    """The newest commit after so many pushes."""
    return f"{number:040x}"


def packed(data: bytes, name: str = SHARD_FILE) -> bytes:
    """An artifact's archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


@dataclass(slots=True, kw_only=True)
class Scene:
    """The repository, its one pull request, and how often it was pushed and run."""

    server: GithubServer
    token: str
    home: str = FORK
    runs: int = 0
    pushes: int = 1
    clock: Clock = field(default_factory=Clock)

    @property
    def head(self) -> str:
        return commit(self.pushes)

    def push(self) -> str:
        """Another commit on the pull request."""
        self.pushes += 1
        self.server.push(REPOSITORY, NUMBER, self.head)
        return self.head

    def run(
        self,
        text: str,
        *,
        shards: int = 1,
        known: KnownFailures | None = None,
        event: str = "pull_request",
        conclusion: str = "failure",
        of: Run | None = None,
        but: Sequence[int] = (),
    ) -> Run:
        """A run of the newest commit, its shards uploaded, those of `but` excepted; of a run, its next attempt."""
        if of is None:
            self.runs += 1
        run = self.server.run(
            REPOSITORY,
            id=None if of is None else of.id,
            head_sha=self.head,
            run_number=self.runs if of is None else of.run_number,
            run_attempt=1 if of is None else of.run_attempt + 1,
            head_repository=self.home,
            event=event,
            conclusion=conclusion,
        )
        for shard in divided(cases(text), shards, baseline=known):
            if shard.shard not in but:
                self.upload(run, self.claimed(shard, run))
        return run

    def claimed(self, shard: ShardDocument, run: Run) -> ShardDocument:
        """A shard that says of itself what is so."""
        return replace(shard, attempt=run.run_attempt, repository=REPOSITORY, ci_run=run.id, head_commit=run.head_sha)

    def upload(self, run: Run, shard: ShardDocument, data: bytes | None = None) -> None:
        """Its artifact."""
        name = artifact_name(shard.suite, shard.attempt, shard.shard, shard.shards)
        self.server.artifact(run, name, packed(encode(shard) if data is None else data))

    def environ(self) -> dict[str, str]:
        return {
            "GITHUB_API_URL": self.server.url,
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_REPOSITORY": REPOSITORY,
        }

    def world(self) -> World:
        return World(
            directory=Path.cwd(),
            environ=self.environ(),
            now=lambda: datetime(2026, 11, 30, 12, tzinfo=timezone.utc),
            entropy=lambda size: b"\0" * size,
            monotonic_ns=lambda: 0,
            progress=Quiet(),
        )

    def publish(self, run: Run, *, token: str = "", **asked: object) -> PublishedDocument:
        """What the report job does."""
        request = replace(PublishRequest(run_id=run.id), **asked)
        api = open_client(api_url=self.server.url, token=token or self.token, clock=self.clock)
        return publish(request, api, self.clock, self.world())

    @property
    def ours(self) -> list[Comment]:
        """Comments of the bot, oldest first."""
        return [one for one in self.server.comments_of(REPOSITORY, NUMBER) if one.author == "github-actions[bot]"]

    @property
    def body(self) -> str:
        """Of the only one, without its hidden lines."""
        (comment,) = self.ours
        return comment.body.split("\n", 2)[2]

    def checks(self, sha: str = "") -> tuple[Check, ...]:
        return self.server.checks_of(REPOSITORY, sha or self.head)


@contextmanager
def scene(home: str = FORK) -> Iterator[Scene]:
    """A pull request, from a fork unless said otherwise. At its end the referee has the word."""
    with GithubServer() as server:
        server.repository(REPOSITORY)
        if home != REPOSITORY:
            server.repository(home, fork=True)
        server.pull_request(REPOSITORY, NUMBER, head_sha=commit(1), head_repository=home)
        yield Scene(server=server, token=server.token(permissions=MAY, repository=REPOSITORY), home=home)
