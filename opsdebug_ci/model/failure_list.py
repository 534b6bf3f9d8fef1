"""The public form of stored failures: what `opsdebug failures --json` prints and its text is rendered from.

Schema `opsdebug.failures/1`.

History:
    1  first version
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.identity import Identity
from opsdebug_ci.model.vocabulary import Word

FAILURES_SCHEMA = "opsdebug.failures/1"
"""Name and version of the document."""


class CauseState(Word):
    """What became of a recorded cause."""

    OPEN = "open"
    """It showed when its operator was last judged."""
    ACCEPTED = "accepted"
    """Somebody accepted it, and that has not lapsed."""
    NOT_SEEN = "not_seen"
    """Its operator was judged since without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A commit, and when a run looked at it."""

    commit: str
    """Full hash; empty outside a git repository."""

    at: str | None
    """ISO 8601, UTC; None: a bundle does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """One cause of failures, over all runs."""

    fingerprint: str
    """Versioned identity: its own, not that of a symptom merged into it."""

    members: tuple[str, ...]
    """Every fingerprint it has been recorded under, or that was merged into it."""

    operator: str
    """Operator it concerns."""

    cause: str
    """Named root cause."""

    statement: str
    """Of its newest failure."""

    cases: int
    """Cases that failed."""

    runs: int
    """Runs in which it showed; 0: only bundles tell of it."""

    first: Sighting
    """Where it was first seen."""

    last: Sighting
    """Where it was last seen."""

    state: CauseState
    """What became of it."""

    representative: str
    """Name of the case to look at first."""

    bundle: str | None
    """sha256 of the bundle to replay; None: there is none."""

    bundles: tuple[str, ...]
    """sha256 of every bundle of it that is at hand."""

    separators: tuple[str, ...]
    """What separates failing from passing cases, in the newest run."""

    boundary: str | None
    """Nearest failing and passing case."""

    why: str
    """What its failures have in common."""

    identity: Identity | None
    """What its fingerprint is made of; None: recorded by an older version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCaseRow:
    """One stored failure of a cause."""

    name: str
    """Readable name of the case."""

    verdict: str
    """What it came to."""

    seen: Sighting
    """Where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseDetail:
    """Everything about one cause, from its newest failures and its bundle."""

    failed: tuple[FailedCaseRow, ...]
    """Its newest failures."""

    evidence: Mapping[str, EvidenceValue]
    """The numbers behind the statement."""

    readings: tuple[str, ...] = ()
    """What was done to memory, in words."""

    stack: tuple[str, ...] = ()
    """Where it was raised or died, innermost last."""

    steps: tuple[str, ...] = ()
    """Unhealthy steps of one run of it."""

    nearest_passing: str | None = None
    """Name of the nearest case that passes; None: not known."""

    environment: tuple[tuple[str, str], ...] = ()
    """Machine and settings it failed with."""

    notes: tuple[str, ...] = ()
    """What a reader must know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresDocument:
    """Stored failures by cause."""

    schema: str
    """FAILURES_SCHEMA."""

    places: tuple[str, ...]
    """Where was looked."""

    causes: tuple[FailureCause, ...]
    """Open ones first, then newest first."""

    detail: CauseDetail | None
    """About the only cause, when one was asked for."""

    refused: tuple[str, ...]
    """Bundles that could not be read, and why."""

    next: tuple[str, ...]
    """Commands to run next."""
