"""The public form of a run: what `--json` prints, what the store keeps and what reports are rendered from.

Schema `opsdebug.run/1`. Has its own types, so that internal values can change without disturbing its readers.

History:
    1  first version
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.accuracy import Accuracy
from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.description import Unavailable
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.judgement import RecordedFailure, ReferenceUse, Summary
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.region import Region
from opsdebug_ci.model.run import RunRecord
from opsdebug_ci.model.vocabulary import Gate, Verdict

RUN_SCHEMA = "opsdebug.run/1"
"""Name and version of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDocument:
    """One output of a case."""

    name: str
    """Output name."""

    kind: str
    """How it was compared."""

    shape: tuple[int, ...]
    """Shape the operator returned."""

    dtype: str
    """Dtype the operator returned."""

    accuracy: Accuracy | None
    """None: nothing could be compared."""

    bad_region: Region | None = None
    """Smallest region that holds every element beyond the tolerance; None: the output did not fail, or the run was
    stored by an older program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingDocument:
    """Where the time of a case went. Not a benchmark: one launch, whatever else the machine was doing."""

    total_ns: int
    """Whole case."""

    function_ns: int
    """Launches of the operator."""

    reference_ns: int
    """References and error bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationDocument:
    """One judged case."""

    case: CaseDocument
    """What was run."""

    verdict: Verdict
    """What it comes to."""

    reason: str | None
    """Why it was skipped or what broke; None otherwise."""

    reference: ReferenceUse
    """What the verdict rests on."""

    accuracy: Accuracy | None
    """The worst output's; None: nothing could be compared."""

    outputs: tuple[OutputDocument, ...]
    """Every output."""

    findings: tuple[Finding, ...]
    """Most probable first."""

    timing: TimingDocument | None
    """None when the worker did not live to say."""

    bundle: str | None = None
    """sha256 of the failure bundle, when one was written."""

    fingerprint: str | None = None
    """Group of the failure, when it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSource:
    """Where an operator is defined, so that a finding can be shown beside its code."""

    operator: str
    """Operator name."""

    file: str
    """Source file; absolute, on the machine that ran it."""

    line: int
    """First line of the function, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """What was planned before a stage was divided into shards, so that parts can be told to be of one whole."""

    id: str
    """sha256 over the stage, the tested files, the selection, the gate and the ids of all cases in order."""

    cases: int
    """Cases of the whole."""

    mine: int
    """Those of them that are this run's."""

    gate: Gate = Gate.NEW
    """Which failures gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocument:
    """A whole run."""

    schema: str
    """RUN_SCHEMA."""

    run: RunRecord
    """Facts of the invocation."""

    observations: tuple[ObservationDocument, ...]
    """Every case, in plan order."""

    summary: Summary
    """What it comes to."""

    next: tuple[str, ...]
    """Commands to run next."""

    stage: str | None = None
    """Stage name when `ci` made it."""

    baseline: str | None = None
    """Baseline commit compared with, when there was one."""

    baseline_how: str = ""
    """Which commit that is and how it was found, or why there is none, in a sentence; empty: nobody asked for one."""

    baseline_doubt: str = ""
    """Why a recorded failure may count as new all the same: what is stored, or a part of it, cannot be read or is not
    believed; in a sentence; empty: all of it counts, or the gate asks for none."""

    regressions: tuple[str, ...] = ()
    """Operators that regressed, when performance was compared."""

    unavailable: tuple[Unavailable, ...] = ()
    """Operators that exist but cannot run on this machine."""

    unchanged: tuple[str, ...] = ()
    """Operators left out by `--changed`: neither source nor dependencies changed."""

    notes: tuple[str, ...] = ()
    """What a reader must know beside the cases, e.g. why bundles hold no values."""

    sources: tuple[OperatorSource, ...] = ()
    """Where the operators with a known source are defined."""

    performance: PerformanceDocument | None = None
    """What is said of speed; None: it was not asked about."""

    recorded: tuple[RecordedFailure, ...] = ()
    """What is recorded at the baseline as failing, so that a reader can tell what is fixed. Not stored again."""

    plan: PlanFacts | None = None
    """What it is a part of; None: its cases were picked by hand, or it was stored by an older program."""
