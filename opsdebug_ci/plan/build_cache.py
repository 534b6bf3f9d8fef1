"""The person's build command, run in the tree of an arm: once per tree of a commit, always in the work tree as it is.

Decides when it runs, with what around it, and what its failure says. A tree of a commit belongs to one command and one
interpreter, so a mark beside it is enough to know that it is built. The work tree is built every time: what a build
leaves is mostly ignored by git, so no hash of what git sees could tell that it is still there, and the tools that build
know best what is left to do. Deliberately does not know where trees come from.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from opsdebug_ci.bundle.durable import write_whole
from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.credentials import without_secrets
from opsdebug_ci.plan.commit_tree import alone

BUILD_TIMEOUT_S = 3600.0
"""Longest a build may take: builds of device code have been seen to take tens of minutes."""

LAST_LINES = 15
"""Lines of its output that the error of a failed build quotes."""

SITE_VARIABLE = "OPSDEBUG_SITE"
"""Tells the command a directory from which only this arm imports, e.g. `pip install --target "$OPSDEBUG_SITE" .`"""


HEAD = "head"
"""Name of the arm with the code under test: its failure is the change's, any other's is the choice of base."""

_THE_CHANGE = ("the code under test", "correct `build` in the configuration, or the code that it builds")
_ANOTHER = (
    "`{}`, an earlier commit",
    "nothing can be compared with a commit that does not build here: choose another base, or make `build` fit both",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """One build that is due."""

    command: str
    """For `sh -c`."""

    arm: str
    """Name of the arm."""

    root: Path
    """Where it runs."""

    place: Path
    """Directory for its log, its mark and `site`."""

    python: str
    """Absolute path of the interpreter; its directory comes first on the search path."""

    once: bool
    """It need not run again where it succeeded before."""

    timeout_s: float = BUILD_TIMEOUT_S
    """Longest it may take."""

    @property
    def log(self) -> Path:
        """What it printed last time."""
        return self.place / "build.log"

    @property
    def site(self) -> Path:
        """Where it may install to."""
        return self.place / "site"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """The mark of a build that succeeded."""

    command: str
    """What was run."""

    seconds: float
    """How long it took."""


def build(
    order: BuildOrder,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
    monotonic: Callable[[], float] = time.monotonic,
) -> float | None:
    """Build; seconds it took, or None where it was there already.

    Args:
        order: what to build.
        environment: variables; secrets are left out.
        tell: who hears that something that takes a while begins.
        monotonic: the clock, in seconds.

    Raises:
        EnvironmentLimitError: the command failed, took too long or cannot be run.
    """
    mark = order.place / "built.json"
    order.site.mkdir(parents=True, exist_ok=True)
    with alone(order.place / "lock"):
        if order.once and _is_built(mark, order.command):
            return None
        mark.unlink(missing_ok=True)
        tell(f"building {order.arm}: {order.command}")
        began = monotonic()
        _run(order, _environment(order, environment))
        seconds = monotonic() - began
        write_whole(mark, msgspec.json.encode(_Built(command=order.command, seconds=seconds)))
        return seconds


def _is_built(mark: Path, command: str) -> bool:
    try:
        return msgspec.json.decode(mark.read_bytes(), type=_Built).command == command
    except (OSError, msgspec.MsgspecError):
        return False


def _environment(order: BuildOrder, inherited: Mapping[str, str]) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(Path(order.python).parent), inherited.get("PATH", os.defpath))))
    return {**without_secrets(inherited), "PATH": path, SITE_VARIABLE: str(order.site)}


def _run(order: BuildOrder, environment: Mapping[str, str]) -> None:
    with order.log.open("wb") as log:
        try:
            process = subprocess.Popen(  # noqa: S602 - the build command is the person's own shell command
                order.command,
                shell=True,
                cwd=order.root,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as fault:
            raise _failed(order, f"could not be started: {fault.strerror}") from fault
        try:
            code = process.wait(order.timeout_s)
        except subprocess.TimeoutExpired as late:
            raise _failed(order, f"had not ended after {order.timeout_s:g} s") from late
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code:
        raise _failed(order, f"ended with exit status {code}" if code > 0 else f"was killed by signal {-code}")


def _failed(order: BuildOrder, how: str) -> EnvironmentLimitError:
    with order.log.open("rb") as log:
        last = b"".join(deque(log, LAST_LINES)).decode(errors="replace").rstrip()
    printed = f"its last lines:\n{last}" if last else "it printed nothing"
    whose, next_step = _THE_CHANGE if order.arm == HEAD else _ANOTHER
    return EnvironmentLimitError(
        f"`build` of {whose.format(order.arm)}: `{order.command}` in {order.root} {how}; wanted exit status 0; "
        f"{printed}",
        next_step=f"{next_step}; everything it printed: {order.log}",
    )
