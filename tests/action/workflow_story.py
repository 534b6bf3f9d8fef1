"""A repository with the workflows that `opsdebug init` writes, run as GitHub would run them: act runs the jobs,
artifacts go through the real client, git through https, and the API is the fake GitHub.

What act does not do is done here: a run is known to the API from its beginning, its artifacts as soon as they are
there, and the token of its jobs may do what the workflow says, and no more.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from act_runs import Act, act, exported, git, pip_settings, wheelhouse
from git_server import GitServer
from github_server import GithubServer
from workflow_files import load

from opsdebug_ci.github.recipe import Recipe
from opsdebug_ci.github.scaffold import scaffold

HERE = Path(__file__).parent
HOME = "acme/kernels"
ACTION = "opsdebug-ci/opsdebug-ci@v1"
STORE = "opsdebug-baselines"
CLIENTS = ("upload", "download")
NEEDS_NPM = pytest.mark.skipif(shutil.which("npm") is None, reason="the client of artifacts needs npm and Node.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt of a run of a workflow."""

    id: int
    number: int
    attempt: int = 1

    @property
    def variables(self) -> dict[str, str]:
        return {
            "GITHUB_RUN_ID": str(self.id),
            "GITHUB_RUN_NUMBER": str(self.number),
            "GITHUB_RUN_ATTEMPT": str(self.attempt),
        }


@dataclass(slots=True, kw_only=True)
class Repository:
    """A repository and everything that is needed to run its workflows."""

    root: Path
    server: GithubServer
    remote: GitServer
    actions: Mapping[str, Path]
    variables: Mapping[str, str]
    shards: int
    project: str
    clone: Path = field(init=False)
    """Whose newest commit is the default branch's."""

    origin: Path = field(init=False)
    """The bare repository that is cloned."""

    path: Path = field(init=False)
    acts: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.clone = self.root / "clone"
        shutil.copytree(HERE / self.project, self.clone)
        for file in scaffold(Recipe(shards=self.shards, python="python3")):
            if file.path.startswith(".github/"):
                (self.clone / file.path).parent.mkdir(parents=True, exist_ok=True)
                (self.clone / file.path).write_text(file.text, encoding="utf-8")
        git(self.clone, "init", "--quiet", "--initial-branch=main")
        git(self.clone, "add", ".")
        git(self.clone, "commit", "--quiet", "--message=base")
        self.path = self.remote.trusting_git()
        self.origin = self.remote.create(HOME)
        git(self.clone, "remote", "add", "origin", self.address)
        self.send()
        self.server.repository(HOME)

    @property
    def address(self) -> str:
        return f"{self.remote.url}/{HOME}"

    @property
    def tip(self) -> str:
        """Newest commit of the default branch."""
        return git(self.clone, "rev-parse", "HEAD").strip()

    def send(self) -> None:
        """The newest commit, to where it is cloned from."""
        git(self.clone, "push", "--quiet", str(self.origin), "HEAD:main")

    def change(self, old: str, new: str) -> None:
        """A commit on the default branch that replaces a line of the operators."""
        replace_line(self.clone, old, new)
        self.send()

    def run(
        self,
        event: str,
        payload: Mapping[str, Any],
        workflow: str,
        run: Run,
        *options: str,
        at: Path | None = None,
        **about: str,
    ) -> Act:
        """A run of a workflow of the default branch, with what GitHub knows of it meanwhile and then.

        Args:
            event: what starts it.
            payload: its file.
            workflow: the file's name.
            run: which.
            options: more words for act.
            at: the checkout that it runs in; None: that of the default branch.
            about: more of what the API says of it.
        """
        at = at or self.clone
        kept = self.root / f"artifacts-{run.id}-{run.attempt}"
        facts = {
            "head_sha": git(at, "rev-parse", "HEAD").strip(),
            "head_branch": "main",
            "event": event,
            "path": f".github/workflows/{workflow}",
            **about,
        }
        numbers = {"id": run.id, "run_number": run.number, "run_attempt": run.attempt}
        known = self.server.run(HOME, status="in_progress", conclusion=None, **numbers, **facts)
        told: set[str] = set()

        def tell() -> None:
            for archive in sorted(kept.glob(f"{run.id}/*/*.zip")):
                if archive.stem not in told:
                    told.add(archive.stem)
                    self.server.artifact(known, archive.stem, archive.read_bytes())

        self.server.before("GET", f"/repos/*/*/actions/runs/{run.id}/artifacts", tell)
        words = ("--artifact-server-path", str(kept), "--artifact-server-addr", "127.0.0.1")
        words += ("--artifact-server-port", str(free_port()))
        done = self.act(event, payload, at, workflow, run, *words, *options)
        conclusion = "failure" if done.exit_code else "success"
        self.server.run(HOME, conclusion=conclusion, **numbers, **facts)
        tell()
        return done

    def stored(self, query: str) -> list[Mapping[str, object]]:
        """Rows of the store on the branch, for somebody who reads it with `opsdebug sql`."""
        words = ("sql", query, "--format=json", f"--store=branch:{STORE}@{self.origin.as_uri()}")
        command = [sys.executable, "-I", "-X", "utf8", "-m", "opsdebug_ci", *words]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return list(json.loads(done.stdout))

    def act(self, event: str, payload: Mapping[str, Any], at: Path, workflow: str, run: Run, *options: str) -> Act:
        """A workflow by act, and nothing else."""
        self.acts += 1
        file = self.root / f"event-{self.acts}.json"
        file.write_text(json.dumps({**payload, **about_repository(event)}), encoding="utf-8")
        token = self.server.token(permissions=permissions(at, workflow), repository=HOME, name=f"{workflow} {run.id}")
        done = act(
            event,
            file,
            repository=at,
            home=self.root / "home",
            actions=self.actions,
            variables={
                **self.variables,
                **run.variables,
                **ref_of(event, payload),
                "GITHUB_REPOSITORY": HOME,
                "GITHUB_API_URL": self.server.url,
                "GITHUB_SERVER_URL": self.remote.url,
            },
            options=("--workflows", f".github/workflows/{workflow}", *options),
            secrets={"GITHUB_TOKEN": token},
            path=(self.path,),
        )
        (self.root / f"log-{self.acts}").write_text(done.text, encoding="utf-8")
        assert token not in done.text
        return done


def about_repository(event: str) -> dict[str, object]:
    """What an event says of the repository; that of a schedule need not name it."""
    return {} if event == "schedule" else {"repository": {"full_name": HOME, "default_branch": "main"}}


def ref_of(event: str, payload: Mapping[str, Any]) -> dict[str, str]:
    """The branch of an event, where act would find another."""
    refs = {"schedule": "refs/heads/main", "merge_group": payload.get("merge_group", {}).get("head_ref", "")}
    return {"GITHUB_REF": refs[event]} if event in refs else {}


def permissions(at: Path, workflow: str) -> dict[str, str]:
    """What the jobs of a workflow may do; act has one token for all of them."""
    granted: dict[str, str] = {}
    for job in load(at / ".github/workflows" / workflow)["jobs"].values():
        for name, level in job["permissions"].items():
            granted[name] = "write" if "write" in (level, granted.get(name)) else level
    return granted


def replace_line(at: Path, old: str, new: str) -> None:
    """A commit in the checkout `at` that replaces a line of its operators."""
    source = at / "operators.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(old) == 1
    source.write_text(text.replace(old, new), encoding="utf-8")
    git(at, "commit", "--quiet", "--all", "--message=change")


@contextmanager
def repository(root: Path, *, shards: int, project: str = "repository") -> Iterator[Repository]:
    """Everything in place, nothing run yet. At the end the referee has the word."""
    wheels = wheelhouse(root)
    with GithubServer() as server, GitServer(root / "remote", server.state) as remote:
        yield Repository(
            root=root,
            server=server,
            remote=remote,
            actions={ACTION: exported(root / "action"), **artifact_clients(root)},
            variables=pip_settings() | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels.as_uri()},
            shards=shards,
            project=project,
        )


def artifact_clients(root: Path) -> dict[str, Path]:
    """What stands in for the actions that upload and download artifacts, by the names that the workflows use."""
    installed = root / "artifacts"
    shutil.copytree(HERE / "artifacts", installed)
    words = ("install", "--no-audit", "--no-fund", "--prefer-offline", "--silent")
    subprocess.run(["npm", *words], cwd=installed, check=True, capture_output=True, timeout=300)
    text = "".join(file.text for file in scaffold())
    places = {}
    for name in CLIENTS:
        (use,) = set(re.findall(rf"actions/{name}-artifact@[0-9a-f]{{40}}", text))
        places[use] = root / f"{name}-artifact"
        shutil.copytree(installed, places[use], copy_function=os.link)
        (places[use] / f"{name}.yml").rename(places[use] / "action.yml")
    return places


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
