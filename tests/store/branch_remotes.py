"""Real bare repositories with hooks, and a git in front of the real one that is in the way when it is told to."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

from opsdebug_ci.git.patience import Patience
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.branch import BranchBackend

BRANCH = "opsdebug-baselines"

DAY = "date=2026-11-29"

NOT_THE_PERSON = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

BRISK = Patience(first_s=0.01, longest_s=0.05)
"""As many tries as ever, with pauses that fit a remote in the same directory."""

BRISK_READING = Patience(tries=4, first_s=0.01, longest_s=0.05)
"""The same for a reader."""


def run_files(run: str, *bundles: bytes) -> list[StoreFile]:
    """What one run adds, in the order in which it is added."""
    named = [(hashlib.sha256(data).hexdigest(), data) for data in bundles]
    return [
        *(StoreFile(path=f"bundles/{name[:2]}/{name}.opsbundle", data=data) for name, data in named),
        StoreFile(path=f"accuracy/{DAY}/{run}.parquet", data=f"accuracy of {run}".encode() * 20),
        StoreFile(path=f"runs/{DAY}/{run}.parquet", data=f"run {run}".encode()),
    ]


def paths_of(*runs: str) -> set[str]:
    """Paths of their files, and of the marker."""
    return {"opsdebug-store.json", *(file.path for run in runs for file in run_files(run))}


class Forge:
    """A bare repository, and whoever administers it."""

    def __init__(self, directory: Path, name: str = "forge.git") -> None:
        self.directory = directory
        self.path = directory / name
        self.url = f"file://{self.path}"
        subprocess.run(["git", "init", "--quiet", "--bare", "--template=", str(self.path)], check=True)
        self.git("config", "uploadpack.allowFilter", "true")

    def git(self, *words: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
            env={**os.environ, **NOT_THE_PERSON},
            input=stdin,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def hook(self, script: str, name: str = "pre-receive") -> None:
        """Run a shell script on every push."""
        (self.path / "hooks").mkdir(exist_ok=True)
        executable(self.path / "hooks" / name, f"#!/bin/sh\n{script}\n")

    def files(self, branch: str = BRANCH) -> set[str]:
        return set(self.git("ls-tree", "-r", "--name-only", branch).splitlines())

    def file(self, path: str, branch: str = BRANCH) -> str:
        return self.git("cat-file", "blob", f"{branch}:{path}")

    def put(self, branch: str = BRANCH, **files: str) -> str:
        """Make a branch of these files, with no history."""
        blobs = {
            name.replace("__", "/"): self.git("hash-object", "-w", "--stdin", stdin=text.encode())
            for name, text in files.items()
        }
        index = {"GIT_INDEX_FILE": str(self.path / "own-index"), **os.environ}
        lines = "".join(f"100644 {blob}\t{name}\n" for name, blob in blobs.items())
        words = ["git", "-C", str(self.path)]
        subprocess.run([*words, "update-index", "--index-info"], input=lines.encode(), env=index, check=True)
        tree = (
            subprocess.run([*words, "write-tree"], env=index, check=True, capture_output=True).stdout.decode().strip()
        )
        (self.path / "own-index").unlink()
        commit = self.git("commit-tree", "-m", "by hand", tree)
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def backend(self, cache: str = "cache", **environ: str) -> BranchBackend:
        """A store on a branch here, as a machine with that cache sees it."""
        around = {**os.environ, **NOT_THE_PERSON, "OPSDEBUG_CACHE": str(self.directory / cache), **environ}
        return BranchBackend(
            f"branch:{BRANCH}@{self.url}", self.directory, around, writing=BRISK, reading=BRISK_READING
        )


class WatchedGit:
    """A program `git` that writes its arguments down, and runs `meanwhile` before or after the first push."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "arguments"
        directory.mkdir()
        self.pushing("", "")

    @property
    def path(self) -> str:
        """Value of PATH with this git first."""
        return f"{self.directory}{os.pathsep}{os.environ['PATH']}"

    def pushing(self, before: str, after: str) -> None:
        """What happens around the first push from now on."""
        once = self.directory / "once"
        once.unlink(missing_ok=True)
        git = shutil.which("git")
        script = f"""#!/bin/sh
printf '%s\\n' "$*" >> '{self.log}'
case " $* " in
*" push "*)
    if [ ! -e '{once}' ]; then
        touch '{once}'
        {before or ":"}
        '{git}' "$@"; code=$?
        {after or ":"}
        exit $code
    fi;;
esac
exec '{git}' "$@"
"""
        executable(self.directory / "git", script)


def executable(path: Path, text: str) -> None:
    """Write a program."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
