"""A judged case, and a judged run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.identity import Identity
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Cause, Confidence, ReferenceKind, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceUse:
    """Which reference a verdict rests on."""

    used: ReferenceKind | None
    """None: nothing was compared."""

    confidence: Confidence
    """How far it can be trusted."""

    dissent: str | None
    """The reference that disagrees, and by how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One case with its verdict."""

    case: Case
    """What was run."""

    observation: Observation
    """What happened."""

    verdict: Verdict
    """What it comes to."""

    reference: ReferenceUse
    """What the verdict rests on."""

    findings: tuple[Finding, ...]
    """Most probable first. A pass may carry some (amber, dissent, nothing compared)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Failures that look like one cause."""

    fingerprint: str
    """Versioned identity, without shapes and seeds."""

    cause: Cause
    """Named root cause."""

    operator: str
    """Operator it concerns."""

    count: int
    """Cases in it."""

    cases: tuple[str, ...]
    """Ids of the first ten."""

    statement: str
    """Statement of its representative."""

    why: str = ""
    """What its failures have in common, and why groups were merged into it or kept apart."""

    separators: tuple[str, ...] = ()
    """What separates failing from passing cases of the operator, e.g. `n % 16 != 0`."""

    umbrella: bool = False
    """It looks like so many other groups that it was merged with none."""

    bundle: str | None = None
    """sha256 of the bundle to replay: that of the smallest case, shrunk where that worked."""

    replay: str | None = None
    """Command that replays it; None: there is no bundle."""

    boundary: str | None = None
    """Nearest failing and passing case, e.g. `fails at n=129, passes at n=128`."""

    members: tuple[str, ...] = ()
    """Fingerprints its failures have by themselves, its own first; more than one where groups were merged."""

    identity: Identity | None = None
    """What its fingerprint is made of, in clear; None: recorded by an older version."""

    known: bool = False
    """None of its failures would gate under `new`: they are recorded at the baseline, or a person has accepted them."""

    since: str = ""
    """Earliest commit from which on every record of its operator shows it, full hash; empty: it is not known, or there
    is no such commit."""

    smallest: str = ""
    """Dims and dtype of the case in `bundle`, e.g. `M=7, N=250, float16`, where it is one that the failures were shrunk
    to; empty: it is one of `cases`, or was recorded by an older version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderFailure:
    """A failure recorded with a fingerprint of an older version, which no fingerprint of today equals."""

    case: str
    """Id of the case that failed; it names the operator too."""

    cause: str
    """Cause of its most probable finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailures:
    """Failures recorded at a baseline commit or before it."""

    commit: str | None = None
    """Nearest commit with a record; None: there is none, and every failure is new."""

    fingerprints: frozenset[str] = frozenset()
    """What failed, each operator at the nearest commit that ran it."""

    cases: frozenset[str] = frozenset()
    """Ids of the cases that failed, each at the nearest commit that ran it."""

    older: frozenset[OlderFailure] = frozenset()
    """Those of them whose fingerprint is of an older version."""

    since: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint or case id -> earliest commit from which on every record of its operator, or of it, shows it."""

    unread: tuple[str, ...] = ()
    """Files of the store that could not be read: what failed there is not among these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFailure:
    """A failure recorded at a baseline commit, with all that must pass for it to be gone."""

    fingerprint: str
    """Versioned identity, as it was recorded."""

    operator: str
    """Operator it concerns."""

    cause: str
    """Named root cause."""

    commit: str
    """Commit at which it is recorded; full hash."""

    cases: tuple[str, ...]
    """Ids of every case that failed so there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run comes to."""

    verdict: Verdict
    """Worst verdict that gates; `inconclusive` when nothing was judged."""

    exit_code: int
    """0 gate passes, 1 gate fails, 4 incomplete, inconclusive, or nothing judged."""

    counts: Mapping[str, int]
    """Cases per verdict."""

    groups: tuple[Group, ...]
    """Failures by cause, largest first."""
