"""What happened when a case ran: the worker's answer, before anyone judges it."""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.accuracy import Accuracy
from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.hunt import HuntReading
from opsdebug_ci.model.memory import AliasReading, ForeignRead, GuardFacts, LayoutChange, MemoryReading, PageFault
from opsdebug_ci.model.property import PropertyReading
from opsdebug_ci.model.region import Region
from opsdebug_ci.model.vocabulary import Confidence, Kind, Phase, ReferenceKind, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFacts:
    """Shape and dtype of one output."""

    shape: tuple[int, ...]
    """Sizes."""

    dtype: str
    """Framework spelling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceReading:
    """What became of one reference."""

    reference: ReferenceKind
    """Which one."""

    derived: bool
    """We made it from the torch reference, rather than the user."""

    answered: bool
    """It gave comparable outputs."""

    reason: str | None
    """Why it did not answer, or what is special about its answer."""

    fault: bool = False
    """It should have answered and broke; an absent reference is not a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """How one reference stands to the one that was used, for one output."""

    reference: ReferenceKind
    """The other reference."""

    disagreement: float | None
    """Largest distance over what is allowed to a reference of its kind (docs/measures.md); None: no finite pair."""

    elements: int
    """Elements on which they differ by more than that, or in class."""

    sides_with_operator: int
    """Elements the used reference rejects but this one accepts."""

    allies: tuple[ReferenceKind, ...] = ()
    """References, the used one aside, that agree with this one on every element; told only where it differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MisroundingReading:
    """How often an output much narrower than the operator's steps (docs/measures.md) is not the rounded reference, over
    elements where a correct operator hardly ever misses it."""

    visible: int
    """Elements that count: finite, normal, with a tolerance of the steps far below one ulp of the output."""

    misrounded: int
    """Those that differ from the reference rounded to nearest."""

    growing: int
    """Those of the misrounded whose size grew."""

    unexplained: int
    """Those of the misrounded that even the worst case of the steps does not explain."""

    expected_rate: float
    """Largest rate expected of a correct operator, 0 to 1."""

    flagged: bool
    """The rate, or its bias, is beyond what a correct operator can show."""

    like_framework: bool = False
    """The framework's own result misrounds in the same way, so the flag holds nothing against the operator."""

    @property
    def rate(self) -> float:
        """Share of the visible elements that are misrounded, 0 to 1; 0 when there are none."""
        return self.misrounded / self.visible if self.visible else 0.0

    @property
    def growing_share(self) -> float | None:
        """Share of the misrounded whose size grew; near 0 or 1 for a wrong constant; None when there are none."""
        return self.growing / self.misrounded if self.misrounded else None

    @property
    def bias_z(self) -> float:
        """Binomial z of that share against one half: (2k - m)/sqrt(m) for k of m; 0 when there are none."""
        return (2 * self.growing - self.misrounded) / self.misrounded**0.5 if self.misrounded else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReading:
    """One output: facts, accuracy and the references' votes."""

    name: str
    """Output name: `out0`, or the argument's name for `out` and mutated arguments."""

    kind: Kind
    """How it was compared."""

    actual: TensorFacts
    """What the operator returned."""

    expected: TensorFacts
    """What the reference returned, at its declared dtype."""

    used: ReferenceKind
    """Reference the accuracy is against."""

    accuracy: Accuracy | None
    """None when the shapes differ, so nothing can be compared."""

    rejected: int
    """Elements beyond their worst-case bound against the used reference and against every other one."""

    disputed: int
    """Elements beyond it against the used reference, which another reference accepts."""

    votes: tuple[Vote, ...]
    """The other references."""

    confidence: Confidence
    """How far the references agree on this output."""

    bad_region: Region | None = None
    """Smallest region that holds every element beyond the tolerance, where one of them is rejected."""

    misrounding: MisroundingReading | None = None
    """None: the output is not narrower than the steps, is exact, or has a tolerance of the user's own."""

    worse_than_framework: int = 0
    """Amber elements in slices far worse than the framework at the same precision (docs/tolerance.md)."""

    unspecified: int = 0
    """Elements beyond their bounds that another right evaluation of the reference shows too (docs/tolerance.md)."""

    bias: float | None = None
    """Mean signed relative error in unit roundoffs, where it is larger than a correct operator's; None elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionFacts:
    """An exception, reduced to what can be compared and shown."""

    type: str
    """Class name."""

    message: str
    """First 2,000 characters."""

    frames: tuple[str, ...]
    """Innermost last, `file:line function`, at most 12."""

    place: str | None = None
    """`file:line` of the innermost frame in code that is neither installed nor ours; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """How a worker ended, when it did."""

    signal: str | None
    """Signal name, e.g. `SIGSEGV`; None when it exited by itself."""

    exit_code: int | None
    """Exit status when it exited by itself."""

    phase: Phase
    """Its last breadcrumb."""

    detail: str | None
    """Which reference or step, when the breadcrumb says."""

    log_tail: str
    """Last 2,000 characters of what it wrote to standard output and standard error; where they hold the report of a
    fatal signal, half of them are what was written before it."""

    frames: tuple[str, ...] = ()
    """Where a fatal signal met it, innermost last, `file:line function`, at most 12; empty: it did not say."""

    place: str | None = None
    """`file:line` of the innermost of them in code that is neither installed nor ours; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Where the time of a case went."""

    total_ns: int
    """Whole case."""

    function_ns: int
    """Launches of the operator."""

    reference_ns: int
    """References, the precise one and its error bound included."""

    @property
    def overhead_ns(self) -> int:
        """What is neither the operator nor a reference."""
        return self.total_ns - self.function_ns - self.reference_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What happened when a case ran."""

    case_id: str
    """Which case."""

    status: Status
    """What happened."""

    reason: str | None = None
    """Why it was skipped, or what broke, in one sentence."""

    exception: ExceptionFacts | None = None
    """The exception, when one was raised."""

    process: ProcessFacts | None = None
    """How the worker ended, when the case ended it."""

    outputs: tuple[OutputReading, ...] = ()
    """One per output."""

    references: tuple[ReferenceReading, ...] = ()
    """One per reference asked for."""

    memory: tuple[MemoryReading, ...] = ()
    """Undeclared writes."""

    reads: tuple[ForeignRead, ...] = ()
    """Reads beyond the arguments that reach an output."""

    aliases: tuple[AliasReading, ...] = ()
    """Undeclared sharing of memory."""

    layout_changes: tuple[LayoutChange, ...] = ()
    """Undeclared changes of tensors that leave their bytes alone."""

    guard: GuardFacts | None = None
    """What the guards can claim; None: nothing was launched under them."""

    pages: tuple[PageFault, ...] = ()
    """What watched pages caught; empty unless they were asked."""

    rerun: str | None = None
    """Why this is what a fresh process came to, rather than the first one; None: it is the first one's."""

    hunt: HuntReading | None = None
    """None: no more launches were asked for."""

    origin: HealthEvent | None = None
    """First step whose values are unhealthy though those it reads are not; None: not looked for, or none."""

    inputs_digest: str | None = None
    """Digest of the inputs it ran on (`InputTable.digest`); None: there were none."""

    repeat_mismatches: int = 0
    """Output elements whose bits differed between two launches on the same inputs."""

    unwritten: int = 0
    """Output elements that follow the fill of fresh memory: they were never written, or computed from what was not."""

    from_scratch: int = 0
    """Those of the unwritten that do not hold the fill itself: they were computed from memory nobody wrote."""

    structure: str | None = None
    """How the operator's outputs differ in number or type from the reference's; None when they do not."""

    clues: tuple[Clue, ...] = ()
    """What the worker's rules say about the cause; empty unless an output failed."""

    properties: tuple[PropertyReading, ...] = ()
    """Properties beyond values that were looked at; empty on most cases."""

    durations: Durations | None = None
    """Where the time went; None when the worker did not live to say."""

    @property
    def worst_output(self) -> OutputReading | None:
        """The output with the most severe accuracy; the first of equals; None when nothing was compared."""
        measured = [output for output in self.outputs if output.accuracy is not None]
        return max(measured, key=lambda output: output.accuracy.severity if output.accuracy else (), default=None)
