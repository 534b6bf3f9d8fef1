"""What a rule is: something that is given two commits and says which operators became slower."""

from __future__ import annotations

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repository import Repository
from trials import Answer, Launch

LIMIT_S = 1200.0
"""A rule that has not answered by then has failed: ten times what any took."""

TAIL = 300
"""Characters of a failed command's output that are kept: its last message."""


class RuleError(Exception):
    """The rule could not be run, or its answer not be read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a rule says of one operator."""

    operator: str
    """Which."""

    answer: Answer
    """What it says."""

    said: str
    """In its own words."""

    ratio: float | None
    """Head over base, as it estimates it."""

    base_ns: float | None = None
    """The base, as it times it; ns per call."""

    launches: tuple[Launch, ...] = ()
    """Raw numbers."""

    cost_s: float | None = None
    """Seconds spent on this operator."""

    control: bool = False
    """The base against itself, of the rule's own accord."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a rule says of all operators."""

    readings: tuple[Reading, ...]
    """One for each it speaks of."""

    processes: int | None = None
    """Fresh processes it started, where it tells."""


class Rule(ABC):
    """A way to tell whether the head is slower than the base."""

    every = 1
    """Asked in every round, or in every second, third, ..."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As the table calls it."""

    @abstractmethod
    def judge(self, repository: Repository) -> Judgement:
        """Compare the head with the base.

        Raises:
            RuleError: it cannot be asked.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that ended."""

    code: int
    """Exit code."""

    out: str
    """Standard output."""

    err: str
    """Standard error."""

    @property
    def tail(self) -> str:
        """What it said last."""
        return " ".join((self.out[-TAIL:] + " " + self.err[-TAIL:]).split())


def command(words: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str]) -> Ran:
    """Run a command to its end, or end it and all it started.

    Raises:
        RuleError: it is not there, or takes too long.
    """
    texts = [str(word) for word in words]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            texts, cwd=folder, env=dict(environment), stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
    except OSError as error:
        raise RuleError(f"{texts[0]} cannot be started: {error}") from error
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise RuleError(f"{texts[0]} had no answer after {LIMIT_S:g} s") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Ran(code=process.returncode, out=out, err=err)
