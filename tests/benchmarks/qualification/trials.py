"""What the experiment writes, one JSON line per operator and rule, and reads again to resume and to be summarised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import msgspec


class Kind(str, Enum):
    """What a round plants."""

    SAME = "same"
    """Nothing: a comment differs."""
    MIXED = "mixed"
    """Slowdowns of several sizes, and one operator without."""
    UNIFORM = "uniform"
    """The same slowdown in every operator."""
    CONTROL = "control"
    """Nothing, and the rule itself chose to compare the base with itself."""


class Answer(str, Enum):
    """What a rule said of an operator."""

    REGRESSED = "regressed"
    """An alarm: the rule calls it slower."""
    SUSPECTED = "suspected"
    """Slower, but no alarm."""
    QUIET = "quiet"
    """Neither: same, or faster."""
    INCONCLUSIVE = "inconclusive"
    """The rule says that it could not tell."""
    FAILED = "failed"
    """The rule could not be run; never counted as quiet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One fresh process of one arm."""

    arm: str
    """`base` or `head`."""

    part: str
    """Part of the rule's measurement, e.g. `screen`."""

    min_ns: float
    """Shortest sample; ns per call."""

    median_ns: float
    """Median of the samples; ns per call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One operator, judged by one rule in one round."""

    round: int
    """Number of the round, from 0."""

    at: str
    """When the rule answered: UTC, ISO 8601."""

    rule: str
    """Who judged."""

    operator: str
    """What was judged."""

    kind: Kind
    """What the round plants."""

    share: float
    """Slowdown planted in this operator: 0.1 is 10 %, 0 is none."""

    spin_ns: float
    """Busy waiting planted; ns per call."""

    answer: Answer
    """What the rule said."""

    said: str
    """The same in the rule's own words."""

    ratio: float | None
    """Head over base as the rule estimates it; None: it gives none."""

    base_ns: float | None
    """The base as the rule times it; ns per call. None: it does not say."""

    round_s: float
    """Seconds the rule took for all operators of this round."""

    launches: tuple[Launch, ...] = ()
    """Raw numbers, where the rule gives them."""

    processes: int | None = None
    """Fresh processes of the round, where the rule tells."""

    cost_s: float | None = None
    """Seconds spent on this operator, where the rule tells."""


def append(path: Path, trials: Iterable[Trial]) -> None:
    """Write trials behind those that are there."""
    with path.open("ab") as file:
        file.writelines(msgspec.json.encode(trial) + b"\n" for trial in trials)


def read(path: Path) -> list[Trial]:
    """Every whole line; a last one that was cut short is left out."""
    return list(_read(path.read_bytes())) if path.exists() else []


def _read(content: bytes) -> Iterator[Trial]:
    whole, _, _ = content.rpartition(b"\n")
    for line in whole.splitlines():
        yield msgspec.json.decode(line, type=Trial)
