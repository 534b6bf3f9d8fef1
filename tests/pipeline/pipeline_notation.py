"""A repository with operators, and the surroundings of an invocation in it."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from opsdebug_ci.model import Stage
from opsdebug_ci.model.judgement import Judgement
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, load_configuration

SMOKE = Selection(stage=Stage.SMOKE)

RIGHT, WRONG, CONSTANT = "x + x", "x + 1.5", "x - x"
"""What an operator that is to double returns; the wrong ones are wrong in different ways."""


def source(name: str, returns: str, *, device: str = "cpu") -> str:
    """A module with one operator, which has one case per seed of the stage: three."""
    return f"""
import torch

from opsdebug_ci import operator


def draw(seed, dims, dtype):
    return [torch.arange(1.0, 5.0) + seed]


@operator(kind="elementwise", arguments=draw, devices=("{device}",))
def {name}(x):
    return {returns}


@{name}.reference("torch")
def _(x):
    return 2 * x
"""


@dataclass
class Tally:
    """Progress that counts."""

    total: int = 0
    steps: int = 0
    stopped: int = 0

    def start(self, total: int) -> None:
        self.total = total

    def step(self, judgement: Judgement) -> None:
        del judgement
        self.steps += 1

    def tell(self, doing: str) -> None:
        del doing

    def drop(self, count: int) -> None:
        self.total -= count

    def stop(self) -> None:
        self.stopped += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A directory under git, with one module per operator."""

    directory: Path
    """Its root."""

    tally: Tally = field(default_factory=Tally)
    """Progress of its runs."""

    def write(self, **operators: str) -> Project:
        """Write a module per operator, and the configuration that names all there are."""
        for name, returns in operators.items():
            (self.directory / f"{name}.py").write_text(source(name, returns))
        return self.configure()

    def configure(self) -> Project:
        """Write the configuration that names every module."""
        modules = ", ".join(f'"{path.name}"' for path in sorted(self.directory.glob("*.py")))
        (self.directory / "opsdebug.toml").write_text(f"operators = [{modules}]\n")
        return self

    def configuration(self, **overrides: object) -> Configuration:
        """The configuration as the command line would load it here."""
        return load_configuration(self.directory, overrides=overrides)

    def world(self, environ: Mapping[str, str] | None = None, tick_ns: int = 1) -> World:
        """Surroundings without CI; the clock advances by `tick_ns` each time it is read."""
        clock, entropy = itertools.count(step=tick_ns), itertools.count(1)
        return World(
            directory=self.directory,
            environ={"PATH": "/usr/bin:/bin", "HOME": str(self.directory), **(environ or {})},
            now=lambda: datetime.now(timezone.utc),
            entropy=lambda size: next(entropy).to_bytes(size, "big"),
            monotonic_ns=clock.__next__,
            progress=self.tally,
        )

    def commit(self) -> str:
        """Commit everything but the store; returns the commit."""
        self.git("add", "--all", "--", ".", ":!baselines")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        """Ask git."""
        identity = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.directory, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()


def repository(directory: Path, **operators: str) -> Project:
    """A repository with these operators and nothing committed."""
    project = Project(directory=directory)
    project.git("init", "--quiet", "--initial-branch=main")
    return project.write(**operators)


def job(directory: Path, event: str, **payload: object) -> dict[str, str]:
    """Variables of a GitHub job."""
    (directory / "event.json").write_text(json.dumps(payload))
    return {
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(directory / "event.json"),
        "GITHUB_JOB": "operators",
        "GITHUB_REPOSITORY": "somebody/kernels",
        "GITHUB_RUN_ID": "7",
        "GITHUB_SHA": "0" * 40,
        "GITHUB_REF": "refs/heads/main",
    }


HOME = {"repository": {"default_branch": "main"}}
"""What the event of a push says about its repository."""


def pull_request(directory: Path, base: str, head: str | None = None) -> dict[str, str]:
    """Variables of a job for a pull request whose base branch stood at `base`, and its own at `head`."""
    side = {"sha": base, "ref": "main", "repo": {"full_name": "somebody/kernels"}}
    change = {"number": 12, "head": {**side, "sha": head or base}, "base": side}
    return job(directory, "pull_request", pull_request=change)
