"""A pull request with a report of the bot's, people who answer it, and a store, for tests of acceptances."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from github_server import GithubServer
from github_server.records import Comment

from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.github.bot.author import JOB_LOGIN, author_named
from opsdebug_ci.github.bot.body import compose
from opsdebug_ci.github.person_event import PersonRequest
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.model.publication import CommentState, FailureKey, ReportedHead
from opsdebug_ci.pipeline.publication.acceptance_request import Forge, handle_request
from opsdebug_ci.pipeline.publication.outcome import Handled
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.memory.history import every_acceptance
from opsdebug_ci.store.places.backends import open_store

REPOSITORY, NUMBER = "acme/kernels", 7
HEAD, PUSHED = "a" * 40, "b" * 40
BEGIN = datetime(2026, 11, 30, 10, tzinfo=timezone.utc)


class Silent:
    """Nobody is told about progress."""

    def start(self, total: int) -> None:
        """Not told."""

    def step(self, judgement: object) -> None:
        """Not told."""

    def drop(self, count: int) -> None:
        """Not told."""

    def stop(self) -> None:
        """Not told."""

    def tell(self, doing: str) -> None:
        """Not told."""


@dataclass
class Clock:
    """Time of server, client and job alike; passes only when it is told to."""

    now: datetime = BEGIN

    def now_s(self) -> float:
        return self.now.timestamp()

    def monotonic_s(self) -> float:
        return self.now.timestamp()

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def jitter(self) -> float:
        return 0.5


@dataclass(kw_only=True)
class Story:
    """What happens on a pull request, in order."""

    server: GithubServer
    store: BaselineStore
    place: Path
    clock: Clock
    token: str
    event: Path
    entropy: random.Random = field(default_factory=lambda: random.Random(7))

    def wait(self, seconds: float = 60) -> None:
        self.clock.sleep(seconds)

    def report(
        self,
        regressed: Sequence[str] = ("gelu", "softmax"),
        *,
        commit: str = HEAD,
        failing: Sequence[str] = (),
        suite: str = "default",
        author: str = JOB_LOGIN,
        whole: bool = True,
        reported_at: str = "",
    ) -> Comment:
        """The bot writes its comment, or changes it."""
        self.wait()
        failures = tuple(FailureKey(fingerprint="v2:00", operator=name, cause="tail_mask") for name in failing)
        state = CommentState(
            version=1,
            stage="smoke",
            ci_run=31,
            run_number=5,
            attempt=1,
            conclusion="regressed",
            body="",
            head=ReportedHead(commit=commit, failures=failures, regressed=tuple(regressed), whole=whole),
            complete=True,
            reported_at=reported_at,
        )
        body = compose(suite, state, "**opsdebug: regressed**")
        mine = [one for one in self.comments if one.author == author and one.body.startswith(body.splitlines()[0])]
        if not mine:
            return self.server.comment(REPOSITORY, NUMBER, body, author=author)
        changed = replace(mine[0], body=body, updated_at=self.server.state.now())
        self.server.state.comments[changed.id] = changed
        return changed

    def says(self, body: str, login: str = "ada", role: str = "write") -> PersonRequest:
        """Somebody comments."""
        self.wait()
        self.server.role(REPOSITORY, login, role)
        comment = self.server.comment(REPOSITORY, NUMBER, body, author=login)
        account = self.server.state.account(login)
        return PersonRequest(
            number=NUMBER,
            login=login,
            account=account.id,
            kind=account.type,
            at=self.clock.now.replace(microsecond=0),
            comment=comment.id,
            body=body,
        )

    def labels(self, label: str, login: str = "ada", role: str = "write", head: str = HEAD) -> PersonRequest:
        """Somebody puts a label on it."""
        self.wait()
        self.server.role(REPOSITORY, login, role)
        account = self.server.state.account(login)
        at = self.clock.now.replace(microsecond=0)
        return PersonRequest(
            number=NUMBER, login=login, account=account.id, kind=account.type, at=at, label=label, head=head
        )

    def handled(self, request: PersonRequest, **environ: str) -> Handled:
        """The bot's job, some time later."""
        self.wait()
        client = open_client(api_url=self.server.url, token=self.token, clock=self.clock)
        forge = Forge(api=client, repository=REPOSITORY, author=author_named(JOB_LOGIN))
        return handle_request(request, forge, self.store, self.world(**environ))

    def world(self, **environ: str) -> World:
        job = {
            "GITHUB_EVENT_NAME": "issue_comment",
            "GITHUB_EVENT_PATH": str(self.event),
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_REPOSITORY": REPOSITORY,
        }
        return World(
            directory=self.place,
            environ={**job, **environ},
            now=lambda: self.clock.now,
            entropy=self.entropy.randbytes,
            monotonic_ns=lambda: 0,
            progress=Silent(),
        )

    @property
    def comments(self) -> tuple[Comment, ...]:
        return self.server.comments_of(REPOSITORY, NUMBER)

    @property
    def replies(self) -> list[str]:
        """What the bot answered, without its hidden first line."""
        ours = [one.body for one in self.comments if one.author == JOB_LOGIN]
        return [body.partition("\n")[2].strip() for body in ours if body.startswith("<!-- opsdebug-ci:reply id=")]

    def signs(self, request: PersonRequest) -> list[str]:
        """Reactions under what was said."""
        return [] if request.comment is None else [one.content for one in self.server.reactions_of(request.comment)]

    @property
    def stored(self) -> tuple[Acceptance, ...]:
        """Everything that counts."""
        if not self.store.exists():
            return ()
        return every_acceptance(self.store.mirror().root, self.clock.now)


@contextmanager
def story(place: Path, store: BaselineStore | None = None) -> Iterator[Story]:
    """A pull request without comments; at the end the referee has the word."""
    event = place / "event.json"
    event.write_text('{"repository": {"default_branch": "main"}}')
    clock = Clock()
    with GithubServer(clock=clock.now_s) as server:
        server.repository(REPOSITORY)
        server.pull_request(REPOSITORY, NUMBER, head_sha=HEAD)
        yield Story(
            server=server,
            store=store or open_store(place / "baselines"),
            place=place,
            clock=clock,
            token=server.token(permissions={"pull-requests": "write"}, repository=REPOSITORY),
            event=event,
        )
