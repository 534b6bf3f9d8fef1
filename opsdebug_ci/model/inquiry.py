"""The public form of what `attribute` and `trace` answer: what `--json` prints and the text is rendered from.

Schemas `opsdebug.attribute/1` and `opsdebug.trace/1`.

History:
    1  first version
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.attribution import RegionReading
from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.memory import LayoutChange, PageInquiry
from opsdebug_ci.model.trace import Bisection, Step
from opsdebug_ci.model.vocabulary import CheckpointMode, Verdict

ATTRIBUTE_SCHEMA = "opsdebug.attribute/1"
"""Name and version of an attribution."""

TRACE_SCHEMA = "opsdebug.trace/1"
"""Name and version of a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The case that was looked into."""

    case: CaseDocument
    """What was run."""

    chosen: str
    """Why this one."""

    verdict: Verdict
    """What it comes to."""

    findings: tuple[Finding, ...]
    """What its run found, most probable first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionDocument:
    """Answer of `opsdebug attribute`."""

    schema: str
    """ATTRIBUTE_SCHEMA."""

    subject: Subject
    """The case."""

    reading: RegionReading | None
    """None: there was nothing to read."""

    conclusion: tuple[str, ...]
    """What it comes to, a sentence each, the most telling first."""

    next: tuple[str, ...]
    """Commands to run next."""

    exit_code: int
    """0 something could be said, 1 the operator did not live to be looked into, 4 nothing was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDocument:
    """Answer of `opsdebug trace`."""

    schema: str
    """TRACE_SCHEMA."""

    subject: Subject
    """The case."""

    mode: CheckpointMode
    """What was looked at."""

    reference: str | None
    """What the steps were compared with, in words."""

    steps: tuple[Step, ...]
    """In the order of the operator."""

    first_bad: str | None
    """Name of the first step whose error jumps, or of the first that lets unhealthy values appear."""

    health: tuple[HealthEvent, ...]
    """Unhealthy steps in order."""

    looked_at: int
    """Steps whose health was looked at."""

    notes: tuple[str, ...]
    """What a reader must know."""

    conclusion: tuple[str, ...]
    """What it comes to, a sentence each, the most telling first."""

    next: tuple[str, ...]
    """Commands to run next."""

    exit_code: int
    """As in `AttributionDocument`."""

    pages: PageInquiry | None = None
    """What the case did to watched pages; None: it was not asked."""

    layouts: tuple[LayoutChange, ...] = ()
    """Arguments that lie otherwise in memory after a step, and checkpoints otherwise than in the reference."""

    bisections: tuple[Bisection, ...] = ()
    """Which call spoils each wrong output, where that was asked for."""
