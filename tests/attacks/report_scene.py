"""A pull request of a fork, a finished run with its artifacts, and `opsdebug publish` as the report job runs it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from attack_documents import HEAD, run_document
from github_server import GithubServer
from github_server.records import Check, Comment, Run
from hostile_job import ROOT

from opsdebug_ci.github.api.client import Limits, open_client
from opsdebug_ci.model.document import PlanFacts, RunDocument
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.model.shard import SHARD_FILE, SHARD_SCHEMA, ShardDocument
from opsdebug_ci.pipeline.publication.publish import publish
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.report import encode

REPOSITORY = "acme/kernels"
FORK = "stranger/kernels"
NUMBER = 7
RUN_ID = 4711
MARKER = "<!-- opsdebug-ci:v1 id=default -->"
JOB = "github-actions[bot]"
WRITE = {"actions": "read", "checks": "write", "pull-requests": "write", "contents": "read"}
"""Permissions of the report job."""
READ = {"actions": "read", "checks": "read", "pull-requests": "read", "contents": "read"}
"""What is left of them for the token of a fork."""


class Impatience:
    """A clock by which waiting takes no time, and is added up."""

    def __init__(self) -> None:
        self.slept_s = 0.0

    def monotonic_s(self) -> float:
        return self.slept_s

    def now_s(self) -> float:
        return datetime.now(timezone.utc).timestamp() + self.slept_s

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds

    def jitter(self) -> float:
        return 0.5


class Silence:
    """Nobody is told about progress."""

    def __getattr__(self, name: str) -> object:
        return lambda *words: None


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """An archive as the upload step makes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def shard(document: RunDocument | None, number: int = 1, of: int = 1, **claims: object) -> ShardDocument:
    """What one job leaves; `claims` replace what it says of itself."""
    run = document
    if run is not None and run.plan is None:
        mine = len(run.observations)
        run = replace(run, plan=PlanFacts(id="5" * 64, cases=mine * of, mine=mine))
    made = ShardDocument(
        schema=SHARD_SCHEMA,
        suite="default",
        stage="smoke",
        shard=number,
        shards=of,
        attempt=1,
        repository=REPOSITORY,
        ci_run=RUN_ID,
        head_commit=HEAD,
        exit_code=3 if run is None else run.summary.exit_code,
        run=run,
        error="no torch" if run is None else "",
    )
    return replace(made, **claims)  # type: ignore[arg-type]  # claims may lie about types too


class Scene:
    """One server, one pull request, one run."""

    def __init__(self, server: GithubServer, directory: Path) -> None:
        self.server, self.directory = server, directory
        self.ended: dict[str, object] = {}
        for name in (REPOSITORY, FORK):
            server.repository(name, fork=name == FORK)
        self.open_pull()
        self.run = self.finished()
        self.token = server.token(permissions=WRITE, repository=REPOSITORY)
        self.clock = Impatience()

    def open_pull(self, number: int = NUMBER, *, head_sha: str = HEAD, base_ref: str = "main") -> None:
        self.server.pull_request(
            REPOSITORY, number, head_sha=head_sha, head_repository=FORK, base_ref=base_ref, author="stranger"
        )

    def finished(
        self,
        id: int = RUN_ID,
        *,
        head_sha: str = HEAD,
        number: int = 1,
        attempt: int = 1,
        conclusion: str | None = "success",
    ) -> Run:
        """A run that has ended; without a conclusion, one whose newest attempt has not."""
        return self.server.run(
            REPOSITORY,
            id=id,
            head_sha=head_sha,
            head_repository=FORK,
            run_number=number,
            run_attempt=attempt,
            status="in_progress" if conclusion is None else "completed",
            conclusion=conclusion,
            actor="stranger",
        )

    def upload(self, content: ShardDocument | bytes, name: str = "", run: Run | None = None) -> None:
        """An artifact: of a shard, or whatever bytes."""
        if isinstance(content, ShardDocument):
            name = name or f"opsdebug-v1-a{content.attempt}-s{content.shard}of{content.shards}"
            content = zipped({SHARD_FILE: encode(content)})
        self.server.artifact(run or self.run, name or "opsdebug-v1-a1-s1of1", content)

    @property
    def environ(self) -> dict[str, str]:
        """Variables of the report job."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.server.url,
            "GITHUB_SERVER_URL": self.server.html,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": "99",
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_EVENT_PATH": str(self.event()),
            "RUNNER_TEMP": str(self.directory),
        }

    def event(self) -> Path:
        """The event's file: that the run has ended. Each reporter has its own, as each job has."""
        handle, name = tempfile.mkstemp(prefix="event-", suffix=".json", dir=self.directory)
        os.close(handle)
        run = {"id": self.run.id, "head_sha": self.run.head_sha, "event": "pull_request", "pull_requests": []}
        run |= self.ended
        payload = {"action": "completed", "workflow_run": run, "repository": {"default_branch": "main"}}
        path = Path(name)
        path.write_text(json.dumps(payload), encoding="utf-8")
        return path

    def publish(self, *, token: str = "", limits: Limits | None = None, **asked: object) -> PublishedDocument:
        """`opsdebug publish` in this process, by a clock that does not wait."""
        request = PublishRequest(run_id=self.run.id, **asked)  # type: ignore[arg-type]
        api = open_client(api_url=self.server.url, token=token or self.token, clock=self.clock, limits=limits)
        try:
            return publish(request, api, self.clock, self.world())
        finally:
            api.close()

    def world(self) -> World:
        return World(
            directory=self.directory,
            environ=self.environ,
            now=lambda: datetime.now(timezone.utc),
            entropy=os.urandom,
            monotonic_ns=lambda: 0,
            progress=Silence(),  # type: ignore[arg-type]
        )

    def start(self, *, token: str = "", **environ: str) -> subprocess.Popen[str]:
        """The action's step with `publish: true`, in processes of its own."""
        inputs = {"PUBLISH": "true", "TOKEN": token or self.token}
        return subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(ROOT / ".github/action/run.py")],
            cwd=self.directory,
            env={
                **self.environ,
                "GITHUB_WORKSPACE": str(self.directory),
                "GITHUB_OUTPUT": str(self.directory / "output"),
                "GITHUB_STEP_SUMMARY": str(self.directory / "step_summary"),
                **{f"OPSDEBUG_INPUT_{name}": value for name, value in inputs.items()},
                **environ,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def step(self, *, token: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """The same to its end."""
        process = self.start(token=token, **environ)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def comments(self, number: int = NUMBER) -> tuple[Comment, ...]:
        return self.server.comments_of(REPOSITORY, number)

    def ours(self, number: int = NUMBER) -> tuple[Comment, ...]:
        """Comments of the bot."""
        return tuple(one for one in self.comments(number) if one.author == JOB)

    def check(self, sha: str = HEAD) -> Check:
        """The only check of a commit."""
        (check,) = self.server.checks_of(REPOSITORY, sha)
        return check


def failing(*operators: str, passing: Sequence[str] = ("clean",)) -> ShardDocument:
    """The only shard of a run in which these operators fail."""
    return shard(run_document(operators or ("gelu",), passing=passing))
