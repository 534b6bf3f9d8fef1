"""act runs a consumer's workflows on this machine, with the action as it stands in this checkout."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PARTS = ("action.yml", ".github/action", "opsdebug_ci", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What one run of act left."""

    exit_code: int
    log: list[dict[str, Any]]
    text: str
    """Both streams, as they came."""

    def messages(self, job: str) -> str:
        return "\n".join(str(line.get("msg", "")) for line in self.log if line.get("jobID") == job)

    def commands(self, job: str, name: str) -> list[str]:
        """Messages of the workflow commands `name` that the runner obeyed in `job`."""
        return [
            str(line.get("raw", line.get("msg", "")))
            for line in self.log
            if line.get("jobID") == job and line.get("command") == name
        ]


def git(directory: Path, *words: str) -> str:
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *author, *words], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout


def exported(directory: Path) -> Path:
    """The action's files alone, without anything that git ignores."""
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *PARTS)
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
    return directory


def wheelhouse(root: Path) -> Path:
    """A directory of wheels, filled as docs/action.md says."""
    wheels = root / "wheel house"
    sources = exported(root / "sources")
    words = ("wheel", "--quiet", "--wheel-dir", str(wheels), str(sources), "setuptools")
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True, timeout=300)
    return wheels


def pip_settings() -> dict[str, str]:
    """pip's configuration of this machine as variables, since act's home directory is another one."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    entries = re.findall(r"^(?:global|install|user|:env:)\.([a-z-]+)=(.+)$", listed.stdout, re.M)
    settings = {f"PIP_{name.upper().replace('-', '_')}": str(ast.literal_eval(value)) for name, value in entries}
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=False)
    return settings | ({"PIP_CACHE_DIR": cache.stdout.strip()} if cache.returncode == 0 else {})


def act(
    event: str,
    payload: Path,
    *,
    repository: Path,
    home: Path,
    actions: Mapping[str, Path],
    variables: Mapping[str, str],
    options: Sequence[str] = (),
    secrets: Mapping[str, str] | None = None,
    path: Sequence[Path] = (),
) -> Act:
    """Run the workflows of `repository` that listen to `event`.

    Args:
        event: its name.
        payload: its file.
        repository: a checkout.
        home: directory for what act keeps.
        actions: directories by `owner/name@ref`.
        variables: of every step.
        options: more words.
        secrets: by name; they go through act's environment.
        path: directories whose programs every step finds first.
    """
    home.mkdir(exist_ok=True)
    given = dict(secrets or {})
    words = [event, "--json", "--eventpath", str(payload), "--platform", "ubuntu-latest=-self-hosted"]
    words += [word for use, place in actions.items() for word in ("--local-repository", f"{use}={place}")]
    words += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
    words += [word for name in given for word in ("--secret", name)]
    done = subprocess.run(
        [str(BIN / "act"), *words, *options],
        cwd=repository,
        env={
            **os.environ,
            **given,
            "HOME": str(home),
            "PATH": os.pathsep.join([*map(str, (*path, BIN)), os.environ["PATH"]]),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    text = done.stdout + done.stderr
    return Act(
        exit_code=done.returncode, log=[entry for line in text.splitlines() for entry in _entry(line)], text=text
    )


def _entry(line: str) -> list[dict[str, Any]]:
    """A line of the log; act also says some things without JSON."""
    try:
        entry = json.loads(line)
    except json.JSONDecodeError:
        return []
    return [entry] if isinstance(entry, dict) else []
