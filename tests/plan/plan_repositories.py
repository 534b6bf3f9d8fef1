"""Real repositories to build histories in."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

from opsdebug_ci.plan.revision import changed_files


class Repository:
    """A repository to build histories in."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.dates: dict[str, str] = {}
        self.root.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **self.dates}
        done = subprocess.run(
            ["git", "-C", str(self.root), *identity, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".py").write_text(text)

    def commit(self, **files: str) -> str:
        self.write(**files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=change")
        return self.git("rev-parse", "HEAD")

    def changed(self, base: str, start: str = ".") -> list[str]:
        return [str(path.relative_to(self.root)) for path in changed_files(self.root / start, base)]

    def at(self, moment: datetime) -> Repository:
        """Commits from now on are made then."""
        text = f"{int(moment.timestamp())} +0000"
        self.dates = {"GIT_COMMITTER_DATE": text, "GIT_AUTHOR_DATE": text}
        return self
