"""Comparing speed: what was measured in two or more arms, and what it comes to.

An *arm* is one state of the code: a commit, a dirty work tree or an installed version. A *series* is one case timed in
the arms. A *launch* is a fresh process of every arm; its minimum is one number. Effects are ratios, head over base.
Schema `opsdebug.compare/1`.

History:
    1  first version
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.vocabulary import Word

COMPARE_SCHEMA = "opsdebug.compare/1"
"""Name and version of the document."""


class SpeedVerdict(Word):
    """What a comparison comes to."""

    SAME = "same"
    """A slowdown of the threshold would have shown, and did not."""
    FASTER = "faster"
    """Faster for certain, confirmed in fresh processes."""
    REGRESSED = "regressed"
    """Slower for certain, confirmed in fresh processes, and the threshold is not ruled out: needs a person."""
    SUSPECTED = "suspected"
    """Slower, but by less than the threshold for certain, or not confirmed."""
    INCONCLUSIVE = "inconclusive"
    """The machine was too noisy, or time was too short, to say."""
    NEW = "new"
    """The base does not have the operator."""
    MISSING = "missing"
    """The head does not have it."""


SEVERITY = (
    SpeedVerdict.REGRESSED,
    SpeedVerdict.INCONCLUSIVE,
    SpeedVerdict.SUSPECTED,
    SpeedVerdict.MISSING,
    SpeedVerdict.NEW,
    SpeedVerdict.FASTER,
    SpeedVerdict.SAME,
)
"""The worst first."""


class Comparing(Word):
    """Why two arms are compared."""

    CHANGE = "change"
    """The baseline commit against the code under test."""
    CONTROL = "control"
    """The base against itself: what it finds is false."""
    LADDER = "ladder"
    """An older commit against the code under test, for slow drift."""


class Round(Word):
    """Which part of an experiment a launch belongs to."""

    SCREEN = "screen"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFacts:
    """What one arm is."""

    name: str
    """`base`, `head`, or the name of a rung, e.g. `a week ago`."""

    revision: str
    """As it was asked for, e.g. `origin/main`; empty: the work tree as it is."""

    commit: str
    """Full hash; empty outside git."""

    dirty: bool
    """The work tree differs from it."""

    tree: str
    """Hash of the committed tree; empty where dirty or outside git."""

    python: str
    """Interpreter."""

    torch: str
    """Its torch version."""

    build_s: float | None
    """Seconds its build took; None: nothing is built, or it was there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTime:
    """One series in one fresh process. ns per call."""

    arm: str
    """Name of the arm."""

    round: Round
    """Part of the experiment."""

    launch: int
    """Which launch of the whole experiment, from 0; equal numbers ran side by side."""

    min_ns: float
    """Shortest sample of all visits."""

    p10_ns: float
    """Tenth percentile of the samples."""

    median_ns: float
    """Median of the samples."""

    samples: int
    """How many there were."""

    calls: int
    """Calls in one sample."""

    throttled: bool = False
    """The clocks were held down while it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How much slower the head is, estimated from launch minima."""

    ratio: float
    """Head over base; 1.1 is 10 % slower. exp of the two-sample Hodges-Lehmann shift of log minima."""

    low: float
    """Lower end of the 95 % interval."""

    high: float
    """Upper end."""

    p_slower: float
    """Exact one-sided p of the Mann-Whitney test that the head is not slower."""

    p_faster: float
    """The same that it is not faster."""

    tenth_ratio: float
    """The ratio by tenth percentiles instead of minima; must agree."""

    detectable: float
    """Smallest slowdown this many launches of this noise would have shown, as a share: 0.1 is 10 %."""

    launches: int
    """Launches per arm."""

    @property
    def shown(self) -> bool:
        """It moved by more than what would have shown, and the interval does not hold that it did not move."""
        least = 1 + self.detectable
        return (self.low > 1 and self.ratio >= least) or (self.high < 1 and self.ratio * least <= 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One series in two arms."""

    case: CaseDocument
    """What was timed."""

    why: Comparing
    """Why."""

    base: str
    """Name of the arm compared with."""

    verdict: SpeedVerdict
    """What it comes to."""

    statement: str
    """One sentence with numbers."""

    threshold: float
    """Slowdown that needs a person, as a share."""

    base_ns: float | None
    """Median of the base's launch minima; ns per call. None: nothing was timed."""

    head_ns: float | None
    """The same of the head."""

    screen: Effect | None
    """By the first launches, all of them; None: not timed."""

    confirm: Effect | None
    """By fresh launches for what the screen showed; None: it showed nothing, or there was no time."""

    launches: tuple[LaunchTime, ...] = ()
    """Every launch of both arms."""

    cost_s: float = 0.0
    """Seconds spent on it, process starts aside."""

    @property
    def effect(self) -> Effect | None:
        """What the verdict rests on."""
        return self.confirm or self.screen


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmBound:
    """How often we raise a false alarm, from controls."""

    alarms: int
    """Controls that the rule called regressed."""

    of: int
    """Controls in all."""

    upper: float
    """Upper end of the one-sided 95 % Clopper-Pearson interval of the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRun:
    """All comparisons of one invocation."""

    arms: tuple[ArmFacts, ...]
    """Every arm, the head last."""

    comparisons: tuple[Comparison, ...]
    """The worst first, controls apart."""

    controls: tuple[Comparison, ...]
    """The base against itself."""

    contaminated: str | None
    """Why nothing is called regressed in this run; None: nothing speaks against it."""

    probe_ratio: float | None
    """What both arms share, timed in both: 1 is what it should be. None: not timed."""

    machine: Machine
    """Where."""

    processes: int
    """Fresh processes started."""

    duration_s: float
    """Seconds in all, builds aside."""

    seed: int
    """Of the random order of arms, series and visits."""

    complete: bool = True
    """Everything planned was done within the budget."""

    notes: tuple[str, ...] = ()
    """What a reader must know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareDocument:
    """Answer of `opsdebug compare`."""

    schema: str
    """COMPARE_SCHEMA."""

    run: ComparisonRun
    """What was measured and what it comes to."""

    verdict: SpeedVerdict
    """The worst of the comparisons."""

    alarms: AlarmBound | None
    """Our own false-alarm rate: from the controls in the store and of this run; None: there were none."""

    next: tuple[str, ...]
    """Commands to run next."""

    exit_code: int
    """0 nothing regressed, 1 something did, 4 something could not be told."""
