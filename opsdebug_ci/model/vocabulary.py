"""The closed vocabularies of the project: one word per idea, spelled the same in code, JSON, tables and docs.

Decides the words. Deliberately holds no behaviour beyond membership.
"""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """A member of a closed vocabulary; prints as its spelling."""

    def __str__(self) -> str:
        return str(self.value)


class Kind(Word):
    """What family of computation an output belongs to; decides how it is compared."""

    EXACT = "exact"
    ELEMENTWISE = "elementwise"
    TRANSCENDENTAL = "transcendental"
    REDUCTION = "reduction"
    MATMUL = "matmul"
    SOFTMAX = "softmax"
    LOG_SOFTMAX = "log_softmax"
    NORM = "norm"
    ATTENTION = "attention"
    SCAN = "scan"
    QUANTIZE = "quantize"
    INDEX = "index"
    AUTO = "auto"


class Family(Word):
    """How input values are drawn."""

    NORMAL = "normal"
    UNIFORM = "uniform"
    SHIFTED = "shifted"
    HEAVY = "heavy"
    CONSTANT = "constant"
    CANCELLING = "cancelling"
    LARGE = "large"
    SMALL = "small"
    SUBNORMAL = "subnormal"
    INTEGER = "integer"
    INDEX_CODED = "index_coded"
    TIES = "ties"
    SIGNED_ZEROS = "signed_zeros"
    SPECIALS = "specials"
    SPECIAL_ROWS = "special_rows"
    NEAR_CONSTANT = "near_constant"
    THRESHOLDS = "thresholds"
    HALVES = "halves"
    EDGES = "edges"
    MASKED = "masked"
    LEVELS = "levels"
    OWN = "own"
    """The operator's own input callable decided."""
    OWN_EMPTY = "own_empty"
    """The same, with the last tensor of every list emptied."""


class Layout(Word):
    """How a tensor's elements lie in its storage."""

    CONTIGUOUS = "contiguous"
    TRANSPOSED = "transposed"
    STRIDED = "strided"
    OFFSET = "offset"
    PADDED = "padded"
    EXPANDED = "expanded"
    MIXED = "mixed"
    """The first tensor contiguous, every other one transposed."""
    OWN = "own"
    """The operator's own input callable decided."""


class ValueDomain(Word):
    """Which values a tensor argument may hold."""

    ANY = "any"
    FINITE = "finite"
    NONZERO = "nonzero"
    NONNEGATIVE = "nonnegative"
    POSITIVE = "positive"


class ReferenceKind(Word):
    """An independent way to the right answer."""

    TORCH = "torch"
    NAIVE = "naive"
    PRECISE = "precise"


class Verifier(Word):
    """Which references a run consults."""

    TORCH = "reference_torch"
    NAIVE = "reference_naive"
    PRECISE = "reference_precise"
    ALL = "all"


class CheckpointMode(Word):
    """What a trace looks at."""

    ALL = "all"
    HEALTH = "health"
    NONE = "none"


class Direction(Word):
    """Which way the operator is run; backward, to its gradients, also what the incoming gradient is like."""

    FORWARD = "forward"
    BACKWARD = "backward"
    """Dense, drawn at random."""
    BACKWARD_VIEW = "backward_view"
    """A view of wider rows, as behind a concatenation."""
    BACKWARD_TRANSPOSED = "backward_transposed"
    """The last two axes exchanged in storage."""
    BACKWARD_EXPANDED = "backward_expanded"
    """One number repeated with stride 0, as behind a sum of everything."""
    BACKWARD_ZERO = "backward_zero"
    """Zero throughout, as where nothing depends on the output."""
    BACKWARD_LARGE = "backward_large"
    """Far above 1, as behind a loss that is scaled up."""


class Stage(Word):
    """When a set of cases is run."""

    SMOKE = "smoke"
    FULL = "full"
    REPLAY = "replay"
    RUN = "run"
    """Not a stage of `ci`: cases picked by hand with `opsdebug run`."""
    IMPORT = "import"
    """Not a stage of `ci`: times that another tool recorded, with `opsdebug baselines import`. Nothing was judged."""


class Verdict(Word):
    """What a case, or a whole run, comes to."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"


FAILING_VERDICTS = (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT)
"""Verdicts that hold the operator responsible."""


class Status(Word):
    """What happened when a case ran; a fact, not yet a verdict."""

    RAN = "ran"
    RAISED = "raised"
    SKIPPED = "skipped"
    INPUTS_BROKEN = "inputs_broken"
    REFERENCE_BROKEN = "reference_broken"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    WORKER_BROKEN = "worker_broken"


class Refusal(Word):
    """Why a case that was not judged holds nothing against its operator, though nobody declared that."""

    EMPTY = "empty"
    """The operator raised on arguments without elements that have some at its own sizes."""
    LAYOUT = "layout"
    """A check of the operator's own raised, and passes on contiguous copies of the same values."""
    REFERENCE = "reference"
    """The torch reference raises on these inputs, or answers in a way its own other answers contradict."""


class Empty(Word):
    """What it comes to when an operator raises on an empty input."""

    SKIP = "skip"
    FAIL = "fail"


class Phase(Word):
    """What the worker was doing; its last breadcrumb tells where it died."""

    DISCOVER = "discover"
    INPUTS = "inputs"
    FUNCTION = "function"
    REFERENCE = "reference"
    COMPARE = "compare"
    PROBE = "probe"


class Side(Word):
    """Where a byte lies, seen from a tensor's storage."""

    HEAD = "head"
    """Before its storage."""
    TAIL = "tail"
    """Behind its storage."""
    GAP = "gap"
    """In its storage, but in no element of it."""
    INSIDE = "inside"
    """In one of its elements."""


class Role(Word):
    """What a guarded tensor is to the operator."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"
    """Memory the operator asked for and did not return."""


class Profile(Word):
    """How much the guards do."""

    QUICK = "quick"
    """At most five launches."""
    DEEP = "deep"
    """One factor at a time, checked after every step."""


class PageMode(Word):
    """Which pages around or under the arguments the processor watches."""

    TAIL = "tail"
    """None may be touched behind their ends."""
    TAIL_READABLE = "tail_readable"
    """They may be read there, not written."""
    HEAD = "head"
    """None may be touched before their beginnings."""
    HEAD_READABLE = "head_readable"
    """They may be read there, not written."""
    INPUTS_READABLE = "inputs_readable"
    """Arguments that the contract lets nobody write may not be written."""


class Access(Word):
    """What an instruction did to memory it does not own."""

    READ = "read"
    WRITE = "write"


class Zone(Word):
    """Where the worst error lies relative to the bounds (green, worst-case only, impossible)."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"


class Confidence(Word):
    """How far the references can be trusted for this case."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Blame(Word):
    """Whom a finding holds responsible."""

    OPERATOR = "operator"
    REFERENCE = "reference"
    RUNTIME = "runtime"
    INPUT = "input"


class Gate(Word):
    """Which failures fail a run."""

    NEW = "new"
    ALL = "all"
    NEVER = "never"


class Cause(Word):
    """The named root causes: closed and versioned."""

    TAIL_MASK = "tail_mask"
    STRIDE_VIEW = "stride_view"
    INDEX_OVERFLOW = "index_overflow"
    LOW_PRECISION_ACCUM = "low_precision_accum"
    ACCUMULATION_ORDER = "accumulation_order"
    APPROXIMATION = "approximation"
    NAN_INF_HANDLING = "nan_inf_handling"
    DENORMAL_SIGNED_ZERO = "denormal_signed_zero"
    EMPTY_OR_ZERO_DIM = "empty_or_zero_dim"
    ALIASING_INPLACE = "aliasing_inplace"
    OOB_WRITE = "oob_write"
    OOB_READ = "oob_read"
    UNINITIALISED = "uninitialised"
    NONDETERMINISM_RACE = "nondeterminism_race"
    BROADCASTING = "broadcasting"
    WRONG_CONSTANT_EPS = "wrong_constant_eps"
    WRONG_AXIS = "wrong_axis"
    WRONG_DEFAULT = "wrong_default"
    DTYPE_PROMOTION = "dtype_promotion"
    CRASH_SEGFAULT = "crash_segfault"
    HANG = "hang"
    WRONG_ROUNDING = "wrong_rounding"
    SIGN_FLIP = "sign_flip"
    MASK_SEMANTICS = "mask_semantics"
    PERF_CLIFF = "perf_cliff"
    LAYOUT_PERMUTATION = "layout_permutation"
    WRONG_SCALE = "wrong_scale"
    INPUT_MUTATED = "input_mutated"
    CHEATING = "cheating"
    EXCEPTION = "exception"
    UNKNOWN = "unknown"
