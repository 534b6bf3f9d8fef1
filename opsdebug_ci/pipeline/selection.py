"""`Selection`: what a command is to verify, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from opsdebug_ci.model import ReferenceKind, Stage
from opsdebug_ci.model.vocabulary import Profile
from opsdebug_ci.plan import Axes, Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to verify."""

    stage: Stage
    """Which stage, or `run`."""

    patterns: tuple[str, ...] = ()
    """Operator names or globs; empty: all."""

    axes: Axes = field(default_factory=Axes)
    """Values fixed by hand."""

    checks: tuple[ReferenceKind, ...] = tuple(ReferenceKind)
    """References to consult."""

    repeats: int = 1
    """Launches on the same inputs whose bits must agree."""

    profile: Profile = Profile.QUICK
    """How much the guards do in every case."""

    changed: str | None = None
    """Only operators that differ from this revision."""

    shard: Shard | None = None
    """Only this part of the cases."""

    budget_s: float | None = None
    """Stop after so long; the run is then incomplete."""

    limits: Mapping[str, int] = field(default_factory=dict)
    """Most cases of an operator, by name; the others have as many as the stage plans."""

    diagnosis_s: float | None = None
    """Seconds for what is asked about failures afterwards; None: nothing is, and no bundles are written."""

    enough_failures: int | None = None
    """Failing cases after which no more of an operator are run; None: all are."""

    record_in: Path | None = None
    """Directory the run is recorded in instead of the store, whatever triggered it; None: the store, where the event
    may make a baseline."""

    resumable: bool = False
    """Keep a journal, and go on from what an interrupted attempt of the same command has judged."""

    fresh: bool = False
    """Forget what earlier attempts have judged."""
