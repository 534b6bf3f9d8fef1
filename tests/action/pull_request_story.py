"""A pull request from a fork, from push to comment, as GitHub would play it: the workflows that `opsdebug init` writes
are run by act, artifacts go through the real client, and the API is the fake GitHub.

What act does not do is done here: the end of one workflow starts the other, and a run keeps artifacts over attempts.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from act_runs import Act, act, exported, git, pip_settings, wheelhouse
from github_server import GithubServer

from opsdebug_ci.github.recipe import Recipe
from opsdebug_ci.github.scaffold import scaffold

HERE = Path(__file__).parent
HOME, FORK, NUMBER, BRANCH = "acme/kernels", "stranger/kernels", 7, "faster"
ACTION = "opsdebug-ci/opsdebug-ci@v1"
SHARDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of the workflow that runs operators."""

    id: int
    number: int
    attempt: int = 1


@dataclass(slots=True, kw_only=True)
class Story:
    """A repository, its fork, and everything that is needed to run workflows of both."""

    root: Path
    server: GithubServer
    actions: Mapping[str, Path]
    variables: Mapping[str, str]
    default: Path = field(init=False)
    fork: Path = field(init=False)
    base: str = field(init=False)
    head: str = field(init=False)
    acts: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.default = self.root / "default"
        shutil.copytree(HERE / "pull_request", self.default)
        for file in scaffold(Recipe(shards=SHARDS, python="python3")):
            if file.path.startswith(".github/"):
                (self.default / file.path).parent.mkdir(parents=True, exist_ok=True)
                (self.default / file.path).write_text(file.text, encoding="utf-8")
        git(self.default, "init", "--quiet", "--initial-branch=main")
        git(self.default, "add", ".")
        git(self.default, "commit", "--quiet", "--message=base")
        self.base = self.head = git(self.default, "rev-parse", "HEAD").strip()
        self.fork = self.root / "fork"
        git(self.root, "clone", "--quiet", str(self.default), str(self.fork))
        git(self.fork, "checkout", "--quiet", "-b", BRANCH)
        self.server.repository(HOME)
        self.server.repository(FORK, fork=True)

    def push(self, old: str, new: str) -> None:
        """A commit in the fork that replaces a line of its operators; the first one opens the pull request."""
        source = self.fork / "operators.py"
        text = source.read_text(encoding="utf-8")
        assert text.count(old) == 1
        source.write_text(text.replace(old, new), encoding="utf-8")
        git(self.fork, "commit", "--quiet", "--all", "--message=change")
        opened, self.head = self.head != self.base, git(self.fork, "rev-parse", "HEAD").strip()
        if opened:
            self.server.push(HOME, NUMBER, self.head)
        else:
            self.server.pull_request(
                HOME, NUMBER, head_sha=self.head, head_ref=BRANCH, head_repository=FORK, base_sha=self.base
            )

    def line_of(self, text: str) -> int:
        """Line of the fork's operators that begins so, from 1."""
        lines = (self.fork / "operators.py").read_text(encoding="utf-8").splitlines()
        (found,) = [number for number, line in enumerate(lines, 1) if line.startswith(text)]
        return found

    def smoke(self, run: Run, *options: str) -> Act:
        """The workflow of the pull request, with what GitHub then knows of it."""
        payload = {
            "action": "synchronize",
            "number": NUMBER,
            "pull_request": {
                "number": NUMBER,
                "head": {"sha": self.head, "ref": BRANCH, "repo": {"full_name": FORK}},
                "base": {"sha": self.base, "ref": "main", "repo": {"full_name": HOME}},
            },
        }
        kept = self.root / f"artifacts-{run.id}-{run.attempt}"
        place = ("--artifact-server-path", str(kept), "--artifact-server-addr", "127.0.0.1")
        port = ("--artifact-server-port", str(free_port()))
        variables = {
            "GITHUB_RUN_ID": str(run.id),
            "GITHUB_RUN_NUMBER": str(run.number),
            "GITHUB_RUN_ATTEMPT": str(run.attempt),
        }
        done = self._act("pull_request", payload, self.fork, "opsdebug.yml", variables, (*place, *port, *options))
        known = self.server.run(
            HOME,
            id=run.id,
            run_number=run.number,
            run_attempt=run.attempt,
            head_sha=self.head,
            head_branch=BRANCH,
            head_repository=FORK,
            conclusion="failure" if done.exit_code else "success",
        )
        for archive in sorted(kept.glob(f"{run.id}/*/*.zip")):
            self.server.artifact(known, archive.stem, archive.read_bytes())
        return done

    def report(self, run: Run) -> Act:
        """The workflow that GitHub starts when the other has ended: the default branch's, with a token that writes."""
        payload = {
            "action": "completed",
            "workflow_run": {
                "id": run.id,
                "name": "opsdebug",
                "workflow_id": 1,
                "run_number": run.number,
                "run_attempt": run.attempt,
                "event": "pull_request",
                "status": "completed",
                "conclusion": "failure",
                "head_sha": self.head,
                "head_branch": BRANCH,
                "head_repository": {"full_name": FORK},
                "path": ".github/workflows/opsdebug.yml",
                "pull_requests": [],
            },
        }
        token = self.server.token(
            permissions={"actions": "read", "checks": "write", "pull-requests": "write"}, repository=HOME
        )
        variables = {
            "GITHUB_RUN_ID": str(run.id + 1),
            "GITHUB_RUN_NUMBER": str(run.number),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_API_URL": self.server.url,
            "GITHUB_SERVER_URL": self.server.html,
        }
        return self._act("workflow_run", payload, self.default, "opsdebug-report.yml", variables, token=token)

    def _act(
        self,
        event: str,
        payload: Mapping[str, object],
        repository: Path,
        workflow: str,
        variables: Mapping[str, str],
        options: tuple[str, ...] = (),
        *,
        token: str = "",
    ) -> Act:
        self.acts += 1
        file = self.root / f"event-{self.acts}.json"
        home = {"full_name": HOME, "default_branch": "main"}
        file.write_text(json.dumps({**payload, "repository": home}), encoding="utf-8")
        done = act(
            event,
            file,
            repository=repository,
            home=self.root / "home",
            actions=self.actions,
            variables={**self.variables, "GITHUB_REPOSITORY": HOME, **variables},
            options=("--workflows", f".github/workflows/{workflow}", *options),
            secrets={"GITHUB_TOKEN": token} if token else None,
        )
        (self.root / f"log-{self.acts}").write_text(done.text, encoding="utf-8")
        return done


def story(root: Path, server: GithubServer) -> Story:
    """Everything in place, nothing run yet."""
    wheels = wheelhouse(root)
    uploading = root / "upload"
    shutil.copytree(HERE / "upload", uploading)
    words = ("install", "--no-audit", "--no-fund", "--prefer-offline", "--silent")
    subprocess.run(["npm", *words], cwd=uploading, check=True, capture_output=True, timeout=300)
    (upload,) = set(re.findall(r"actions/upload-artifact@[0-9a-f]{40}", scaffold()[0].text))
    return Story(
        root=root,
        server=server,
        actions={ACTION: exported(root / "action"), upload: uploading},
        variables=pip_settings() | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels.as_uri()},
    )


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
