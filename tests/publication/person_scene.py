"""A pull request that became slower, the people who answer it, and the jobs that are started for it, each a process.

Decides what GitHub gives such a job: the event's file, variables, a token. The server's clock passes only when it is
told to, and is an hour behind at first, so that nothing happens after the job's own now.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from github_server import GithubServer
from github_server.records import Check, Comment, Run
from publication_scene import MAY, NUMBER, REPOSITORY, WORKFLOW, Scene, commit
from shard_notation import cases, divided
from speed_notation import compared, compared_run

from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.model import Verdict
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.model.shard import ShardDocument
from opsdebug_ci.pipeline.publication.command import publish_here
from opsdebug_ci.pipeline.publication.publish import publish
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.report import decode_published
from opsdebug_ci.store.memory.history import every_acceptance
from opsdebug_ci.store.places.backends import open_store

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-I", "-X", "utf8", "-m", "opsdebug_ci")
STEP = (sys.executable, "-I", "-X", "utf8", str(ROOT / ".github/action/run.py"))
HEED_CTRL_C = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"
)
"""As in a job of GitHub's, though the tests may run in the background of a shell."""

BEHIND_S = 3600.0


@dataclass
class Time:
    """The server's."""

    now_s: float = field(default_factory=lambda: float(int(time.time())) - BEHIND_S)

    def __call__(self) -> float:
        return self.now_s


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A process that has."""

    exit_code: int
    out: str
    err: str

    @property
    def told(self) -> PublishedDocument:
        return decode_published(self.out.encode())


def executable(path: Path, text: str) -> None:
    """Write a program."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def slower(shard: ShardDocument, *operators: str) -> ShardDocument:
    """The same, where these operators became slower than the base."""
    run = shard.run
    assert run is not None
    compared_now = compared_run(*(compared(f"{name} N=64 regressed +11 [8, 14] x8") for name in operators))
    told = replace(
        run,
        performance=PerformanceDocument(comparison=compared_now),
        regressions=operators,
        summary=replace(run.summary, verdict=Verdict.FAIL, exit_code=1),
    )
    return replace(shard, run=told, exit_code=1)


@dataclass(kw_only=True)
class Repository:
    """The repository, its pull request, its store and its jobs."""

    scene: Scene
    place: Path
    store: str
    time: Time

    @property
    def server(self) -> GithubServer:
        return self.scene.server

    def wait(self, seconds: float = 60) -> None:
        self.time.now_s += seconds

    def run(self, *operators: str, of: Run | None = None, text: str = "gelu:pass*2 softmax:pass*2") -> Run:
        """A run of the newest commit, in which these operators became slower."""
        self.wait()
        found = self.scene.run(text, of=of, but=(1,), conclusion="failure" if operators else "success")
        (shard,) = divided(cases(text), 1)
        told = slower(shard, *operators) if operators else shard
        self.scene.upload(found, self.scene.claimed(told, found))
        return found

    def report(self, run: Run) -> Ended:
        """The job that the end of `run` starts."""
        self.wait()
        return self.job("workflow_run", {"action": "completed", "workflow_run": {"id": run.id}})

    def reported(self, run: Run, *, later: timedelta = timedelta(), **asked: object) -> PublishedDocument:
        """The same in this process and without its waits, some time `later`."""
        self.wait()
        now = datetime.now(timezone.utc) + later
        api = open_client(api_url=self.server.url, token=self.scene.token, clock=self.scene.clock)
        world = replace(self.scene.world(), directory=self.place, now=lambda: now)
        return publish(replace(PublishRequest(run_id=run.id), **asked), api, self.scene.clock, world)

    def says(self, body: str, login: str = "ada", role: str = "write") -> dict[str, object]:
        """Somebody comments; the event."""
        self.wait()
        self.server.role(REPOSITORY, login, role)
        comment = self.server.comment(REPOSITORY, NUMBER, body, author=login)
        return {
            "action": "created",
            "issue": {"number": NUMBER, "pull_request": {"url": "u"}},
            "comment": {
                "id": comment.id,
                "user": self._account(login),
                "created_at": comment.created_at,
                "body": body,
            },
            "sender": self._account(login),
        }

    def labels(self, label: str, login: str = "ada", role: str = "maintain") -> dict[str, object]:
        """Somebody puts a label on it; the event."""
        self.wait()
        self.server.role(REPOSITORY, login, role)
        put = self.server.label(REPOSITORY, NUMBER, label, actor=login)
        side = {"ref": "x", "sha": self.scene.head, "repo": {"full_name": self.scene.home}}
        pull = {"number": NUMBER, "updated_at": put.created_at, "head": side, "base": {**side, "sha": "0" * 40}}
        return {"action": "labeled", "label": {"name": label}, "pull_request": pull, "sender": self._account(login)}

    def answer(self, event: Mapping[str, object], *, step: bool = False) -> Ended:
        """The job that a person's event starts."""
        self.wait()
        return self.job("issue_comment" if "comment" in event else "pull_request_target", event, step=step)

    def answered(self, event: Mapping[str, object], name: str = "issue_comment", **asked: object) -> PublishedDocument:
        """What the job of a person's event does, in this process."""
        self.wait()
        environ = {**self._variables(name, event), "OPSDEBUG_TOKEN": self.scene.token}
        world = replace(
            self.scene.world(), directory=self.place, environ=environ, now=lambda: datetime.now(timezone.utc)
        )
        return publish_here(replace(PublishRequest(store=self.store, workflow=WORKFLOW), **asked), world)

    def job(self, name: str, event: Mapping[str, object], *options: str, step: bool = False, **variables: str) -> Ended:
        """One process to its end: `opsdebug publish`, or the action's step that runs it."""
        process = self.start(STEP if step else COMMAND, name, event, *options, **variables)
        out, err = process.communicate(timeout=60)
        return Ended(exit_code=process.returncode, out=out, err=err)

    def start(
        self, words: Sequence[str], name: str, event: Mapping[str, object], *options: str, **variables: str
    ) -> subprocess.Popen[str]:
        """The process of STEP or COMMAND."""
        environ = self._variables(name, event)
        if words is STEP:
            environ |= self._inputs
        else:
            environ["OPSDEBUG_TOKEN"] = self.scene.token
            words = (*words, "publish", "--json", f"--store={self.store}", f"--workflow={WORKFLOW}", *options)
        return subprocess.Popen(
            [sys.executable, "-c", HEED_CTRL_C, *words],
            cwd=self.place,
            env={**environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _variables(self, name: str, event: Mapping[str, object]) -> dict[str, str]:
        """Those of the job of an event."""
        path = self.place / "event.json"
        home = {"default_branch": "main", "full_name": REPOSITORY}
        path.write_text(json.dumps({**event, "repository": home}), encoding="utf-8")
        return {**self.environ, "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path)}

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.place),
            "OPSDEBUG_CACHE": str(self.place / "cache"),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            **self.scene.environ(),
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_RUN_ID": "99",
            "RUNNER_TEMP": str(self.place),
        }

    @property
    def _inputs(self) -> dict[str, str]:
        inputs = {
            "PUBLISH": "true",
            "TOKEN": self.scene.token,
            "STORE": self.store,
            "WORKFLOW": WORKFLOW,
        }
        return {
            "GITHUB_WORKSPACE": str(self.place),
            "GITHUB_OUTPUT": str(self.place / "output"),
            "GITHUB_STEP_SUMMARY": str(self.place / "step_summary"),
            **{f"OPSDEBUG_INPUT_{name}": value for name, value in inputs.items()},
        }

    def _account(self, login: str) -> dict[str, object]:
        account = self.server.state.account(login)
        return {"login": login, "id": account.id, "type": account.type}

    @property
    def ours(self) -> Comment:
        """The one comment of the bot."""
        (comment,) = self.scene.ours
        return comment

    @property
    def check(self) -> Check:
        """The check that counts: the newest of the newest commit."""
        return self.scene.checks()[-1]

    @property
    def stored(self) -> tuple[Acceptance, ...]:
        """Every acceptance that counts now, for somebody with a clone of their own."""
        environ = {**os.environ, "OPSDEBUG_CACHE": str(self.place / "other_cache")}
        store = open_store(self.store, root=self.place, environ=environ)
        if not store.exists():
            return ()
        return every_acceptance(store.mirror().root, datetime.now(timezone.utc))

    def signs(self, event: Mapping[str, object]) -> list[str]:
        """Reactions under a comment."""
        comment = event["comment"]
        assert isinstance(comment, dict)
        return [one.content for one in self.server.reactions_of(comment["id"])]

    def written(self) -> list[str]:
        """What was sent to be written so far."""
        return [f"{one.method} {one.path}" for one in self.server.requests if one.method != "GET"]


@contextmanager
def repository(place: Path, store: str) -> Iterator[Repository]:
    """One with a pull request of its own. At the end the referee has the word."""
    clock = Time()
    with GithubServer(clock=clock) as server:
        server.repository(REPOSITORY)
        server.pull_request(REPOSITORY, NUMBER, head_sha=commit(1))
        token = server.token(permissions={**MAY, "contents": "write"}, repository=REPOSITORY)
        told = Scene(server=server, token=token, home=REPOSITORY)
        yield Repository(scene=told, place=place, store=store, time=clock)
