"""Questions to git and orders to it, in the same way everywhere.

Decides what git may do on the way: no shell, hook, monitor or filter is started, no configuration of the person or the
system is read, nobody is asked for a password, and no variable of a surrounding git leads it elsewhere.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError

TIMEOUT_S = 60
"""Longest one question to git may take."""

ORDER_TIMEOUT_S = 600
"""Longest git may take to write: a checkout of gigabytes from a network disk."""

LAST_WORDS = 500
"""Characters of git's complaint that an error quotes."""

OPTIONS = (
    "-c",
    "log.showSignature=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    # NOTE: in a CI container the checkout often belongs to another user, and the permission git wants for that stands
    # in the global configuration, which is not read here. The operators in that directory run as this user anyway.
    "-c",
    "safe.directory=*",
    "--no-pager",
)
"""In front of every question."""

READS_FILES = ("status", "diff")
"""Questions about the files of a work tree, for which git runs what the repository's own configuration names as the
filter of a file (gitattributes(5), `filter`)."""

SUBMODULE_MODE = "160000 "
"""How an entry of the index begins that is a submodule."""

_WITHOUT_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}
"""What a filter is set to: a command without words is none."""

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How git ended."""

    code: int
    """Exit status; negative when it was killed, also for taking too long."""

    output: bytes = field(repr=False)
    """What it printed."""

    said: str
    """What it said on standard error."""


def run(
    directory: Path, *words: str, environment: Mapping[str, str], stdin: bytes = b"", timeout_s: float = ORDER_TIMEOUT_S
) -> Ended:
    """Run git with an environment of the caller's making, and say how it ended.

    Raises:
        EnvironmentLimitError: there is no git.
    """
    try:
        finished = _run(directory, words, timeout_s, environment, stdin)
    except OSError as fault:
        raise _failed(words, directory, str(fault), "install git, or put it on the search path") from fault
    except subprocess.TimeoutExpired:
        return Ended(code=-1, output=b"", said=f"git {words[0]}: no end within {timeout_s:g} s")
    return Ended(code=finished.returncode, output=finished.stdout, said=finished.stderr.decode(errors="replace"))


def answer(directory: Path, *question: str) -> str | None:
    """What git prints, without the last newline; None when it fails or is not there."""
    try:
        finished = _run(directory, question, TIMEOUT_S, _without_filters(directory, question))
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(finished.stdout).removesuffix("\n") if finished.returncode == 0 else None


def names(directory: Path, *question: str) -> tuple[str, ...] | None:
    """What git prints, split where it writes NUL; None when it fails or is not there."""
    found = answer(directory, *question)
    return None if found is None else tuple(name for name in found.split("\0") if name)


def order(directory: Path, *words: str, next_step: str) -> None:
    """Have git do something.

    Raises:
        EnvironmentLimitError: it did not, with what it said and `next_step`.
    """
    try:
        finished = _run(directory, words, ORDER_TIMEOUT_S)
    except OSError as fault:
        raise _failed(words, directory, str(fault), next_step) from fault
    except subprocess.TimeoutExpired as late:
        raise _failed(words, directory, f"no end within {ORDER_TIMEOUT_S} s", next_step) from late
    if finished.returncode:
        said = os.fsdecode(finished.stderr).strip()[-LAST_WORDS:]
        raise _failed(words, directory, said or f"exit status {finished.returncode}", next_step)


def environment_for_git(inherited: Mapping[str, str]) -> dict[str, str]:
    """`inherited` without git's own variables, which would point a hook's git at another repository."""
    kept = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    return {**kept, **_ENVIRONMENT}


def _without_filters(directory: Path, question: tuple[str, ...]) -> dict[str, str] | None:
    """The environment of a question by which no filter is run; None: the question runs none.

    A file that was only touched then counts as changed where the repository keeps it filtered (large files, LFS).
    """
    if question[0] not in READS_FILES:
        return None
    top = Path(answer(directory, "rev-parse", "--show-toplevel") or directory)
    settings = [(f"{name}.{key}", value) for name in _filters(top) for key, value in _WITHOUT_FILTER.items()]
    # NOTE: variables, since behind `-c` a filter with `=` in its name would be taken for another.
    pairs = {f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in enumerate(settings)}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(settings)}
    return {**environment_for_git(os.environ), "GIT_CONFIG_COUNT": str(len(settings)), **pairs, **values}


def _filters(top: Path) -> dict[str, None]:
    """Filters that the repository at `top` and its submodules configure, whose files git looks at as well."""
    listed = answer(top, "config", "-z", "--name-only", "--get-regexp", r"^filter\.") or ""
    found = dict.fromkeys(name.rpartition(".")[0] for name in listed.split("\0") if name)
    entries = (answer(top, "ls-files", "-z", "--stage") or "").split("\0")
    submodules = (top / entry.partition("\t")[2] for entry in entries if entry.startswith(SUBMODULE_MODE))
    for submodule in submodules:
        if (submodule / ".git").exists():  # otherwise git would answer for the repository around it
            found |= _filters(submodule)
    return found


def _run(
    directory: Path,
    words: tuple[str, ...],
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603 - a fixed program with a list of arguments, no shell
        ["git", *OPTIONS, "-C", str(directory), *words],  # noqa: S607 - the person's own git, by search path
        env=environment_for_git(os.environ) if environment is None else environment,
        input=stdin,
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )


def _failed(words: tuple[str, ...], directory: Path, found: str, next_step: str) -> EnvironmentLimitError:
    return EnvironmentLimitError(
        f"`git {words[0]}` in {directory}: found `{found}`; wanted it to succeed", next_step=next_step
    )
