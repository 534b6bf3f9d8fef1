"""Everything outside that a pipeline touches, handed in as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from opsdebug_ci.model.judgement import Judgement


class Progress(Protocol):
    """Who is told how far a run has come."""

    def start(self, total: int) -> None:
        """`total` cases are about to run."""

    def step(self, judgement: Judgement) -> None:
        """One case was judged."""

    def drop(self, count: int) -> None:
        """`count` cases will not be run after all."""

    def stop(self) -> None:
        """The last case was judged, or the run ended early."""

    def tell(self, doing: str) -> None:
        """Something that takes a while begins, after the last case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Effects of one invocation."""

    directory: Path
    """Where the person stands; the configuration is searched from here upwards."""

    environ: Mapping[str, str]
    """Environment variables."""

    now: Callable[[], datetime]
    """The clock, in UTC."""

    entropy: Callable[[int], bytes]
    """So many random bytes; only run ids are made of them."""

    monotonic_ns: Callable[[], int]
    """A clock that never goes back."""

    progress: Progress
    """Who is told about progress."""
