"""A pull request from a fork, from push to comment: the two workflows that GitHub runs for it.

What act does not do is done here: the end of one workflow starts the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from act_runs import Act, git
from workflow_story import HOME, Repository, Run, replace_line

FORK, NUMBER, BRANCH = "stranger/kernels", 7, "faster"
OPERATORS = "opsdebug.yml"


@dataclass(slots=True, kw_only=True)
class PullRequest:
    """The fork, and its pull request once something was pushed."""

    home: Repository
    fork: Path = field(init=False)
    base: str = field(init=False)
    head: str = field(init=False)

    def __post_init__(self) -> None:
        self.fork = self.home.root / "fork"
        git(self.home.root, "clone", "--quiet", str(self.home.origin), str(self.fork))
        # As a job of the pull request sees it: what it checks out comes from the repository that is to take it.
        git(self.fork, "remote", "set-url", "origin", self.home.address)
        git(self.fork, "checkout", "--quiet", "-b", BRANCH)
        self.base = self.head = self.home.tip
        self.home.server.repository(FORK, fork=True)

    def push(self, old: str, new: str) -> None:
        """A commit in the fork that replaces a line of its operators; the first one opens the pull request."""
        replace_line(self.fork, old, new)
        opened, self.head = self.head != self.base, git(self.fork, "rev-parse", "HEAD").strip()
        if opened:
            self.home.server.push(HOME, NUMBER, self.head)
        else:
            self.home.server.pull_request(
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
        about = {"head_branch": BRANCH, "head_repository": FORK}
        return self.home.run("pull_request", payload, OPERATORS, run, *options, at=self.fork, **about)

    def report(self, run: Run) -> Act:
        """What GitHub starts when that has ended."""
        return report(self.home, run, "pull_request", self.head, {"head_branch": BRANCH, "head_repository": FORK})


def report(home: Repository, run: Run, event: str, head: str, about: Mapping[str, str]) -> Act:
    """The workflow of the default branch that the end of a run starts.

    Args:
        home: whose.
        run: which has ended.
        event: that had started it.
        head: its commit.
        about: branch and full name of the repository that the commit comes from.
    """
    payload = {
        "action": "completed",
        "workflow_run": {
            "id": run.id,
            "name": "opsdebug",
            "workflow_id": 1,
            "run_number": run.number,
            "run_attempt": run.attempt,
            "event": event,
            "status": "completed",
            "conclusion": "failure",
            "head_sha": head,
            "head_branch": about["head_branch"],
            "head_repository": {"full_name": about["head_repository"]},
            "path": f".github/workflows/{OPERATORS}",
            "pull_requests": [],
        },
    }
    bot = Run(id=run.id + 1, number=run.number)
    return home.act("workflow_run", payload, home.clone, "opsdebug-report.yml", bot)
