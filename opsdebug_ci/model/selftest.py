"""The public form of a self-test: what `opsdebug selftest --json` prints.

Schema `opsdebug.selftest/1`. Has its own types, as the document of a run does.

History:
    1  first version
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.description import Unavailable
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.vocabulary import Cause, Verdict

SELFTEST_SCHEMA = "opsdebug.selftest/1"
"""Name and version of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many of so many, with the Wilson score interval of the share behind it."""

    count: int
    """How many."""

    of: int
    """Of how many."""

    low: float
    """Lower end of the 95 % interval, a share."""

    high: float
    """Upper end of the 95 % interval, a share; 1 where nothing was counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCause:
    """One finding of a failing case."""

    cause: Cause
    """Cause it names."""

    confidence: float
    """0 to 1."""

    statement: str
    """One sentence with numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefectResult:
    """What became of one planted defect."""

    name: str
    """Name of the defect."""

    wrong: str
    """What is wrong, in one phrase."""

    accepted: tuple[Cause, ...]
    """Causes that name it rightly, the expected one first."""

    cases: int
    """Cases of the wrong operator that were judged."""

    failed: int
    """Those that failed."""

    case: str | None
    """The failing case that speaks for it; None: it was missed."""

    found: tuple[NamedCause, ...]
    """What that case's findings say, the most probable first."""

    next: str
    """Command to look closer."""

    @property
    def detected(self) -> bool:
        """Some case failed."""
        return self.failed > 0

    @property
    def top1(self) -> bool:
        """The first finding names it rightly."""
        return self.named_within(1)

    @property
    def top3(self) -> bool:
        """One of the first three findings names it rightly."""
        return self.named_within(3)

    def named_within(self, first: int) -> bool:
        """Whether one of the `first` findings has an accepted cause."""
        return any(named.cause in self.accepted for named in self.found[:first])


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanTrouble:
    """A case of a correct operator that did not pass."""

    operator: str
    """Operator name."""

    case: str
    """Readable name of the case."""

    verdict: Verdict
    """What it was taken for."""

    statement: str
    """What was said against it."""

    next: str
    """Command to look closer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRow:
    """The defects of one cause."""

    cause: Cause
    """The expected cause."""

    planted: int
    """Defects."""

    detected: int
    """Those that some case showed."""

    top1: int
    """Those whose first finding is accepted."""

    top3: int
    """Those among whose first three findings one is accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestDocument:
    """A whole self-test."""

    schema: str
    """SELFTEST_SCHEMA."""

    tool_version: str
    """Version of opsdebug-ci."""

    machine: Machine
    """Where it ran."""

    started_at: str
    """ISO 8601, UTC."""

    duration_ns: int
    """Wall time."""

    verdict: Verdict
    """`pass`, `fail`, or `inconclusive` when too little was judged to say."""

    exit_code: int
    """0, 1 or 4."""

    reasons: tuple[str, ...]
    """Why it does not pass; empty when it does."""

    detection: Rate
    """Planted defects that some case showed."""

    top1: Rate
    """Planted defects whose first finding names an accepted cause."""

    top3: Rate
    """Planted defects among whose first three findings one names an accepted cause."""

    false_alarms: Rate
    """Cases of correct operators that failed."""

    inconclusive: Rate
    """Cases of correct operators of which the references could not say whether they are right."""

    errors: int
    """Cases of correct operators that broke, no matter in what; never a pass."""

    causes: tuple[CauseRow, ...]
    """The defects by expected cause, in the order of the vocabulary."""

    defects: tuple[DefectResult, ...]
    """Every defect that was run, in the order of the register."""

    troubles: tuple[CleanTrouble, ...]
    """Cases of correct operators that failed, broke or stayed open."""

    unavailable: tuple[Unavailable, ...]
    """Operators that cannot run on this machine."""
