"""What tells a region of an output from the rest of it, and bad elements from good ones.

Decides what the worker measures for `opsdebug attribute`. Deliberately no finding: it describes elements, not causes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.accuracy import Quantiles
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.region import Region
from opsdebug_ci.model.vocabulary import Word


class TensorRole(Word):
    """What a tensor is in a comparison."""

    INPUT = "input"
    OUTPUT = "output"
    REFERENCE = "reference"
    ERROR = "error"


class Alignment(Word):
    """How the elements of a tensor are laid beside those of the output."""

    ELEMENTS = "elements"
    """By broadcasting: an element for every element of the output."""
    LEADING = "leading"
    """Its leading axes are the output's; along the others it is taken as a whole."""
    TRAILING = "trailing"
    """Its trailing axes are the output's; along the others it is taken as a whole."""
    WHOLE = "whole"
    """Not at all."""


class Relation(Word):
    """How a feature stands to its threshold where elements are bad."""

    ABOVE = ">"
    BELOW = "<"
    EQUAL = "="


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSummary:
    """Some elements of a tensor; the numbers are over the finite ones, None where there are none."""

    count: int
    """Elements."""

    nan: int
    """NaN among them."""

    infinite: int
    """Infinities among them."""

    zero: int
    """Zeros of either sign."""

    subnormal: int
    """Nonzero magnitudes below the smallest normal number of the tensor's format."""

    minimum: float | None
    """Smallest."""

    maximum: float | None
    """Largest."""

    mean: float | None
    """Mean."""

    deviation: float | None
    """Standard deviation over the elements (n in the denominator)."""

    size: Quantiles
    """Percentiles of |x|."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSummary:
    """One tensor inside the region and outside it."""

    name: str
    """Argument or output name; `expected` and `error` for the other two."""

    role: TensorRole
    """What it is."""

    shape: tuple[int, ...]
    """Sizes."""

    dtype: str
    """Framework spelling."""

    alignment: Alignment
    """How the region was laid over it."""

    inside: ValueSummary
    """Its elements in the region; all of them where it is not aligned."""

    outside: ValueSummary | None
    """The others; None where there are none, or where it is not aligned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Bad elements of a set of elements: beyond the green bound, or of a wrong class."""

    elements: int
    """Elements."""

    bad: int
    """Bad ones."""

    rows: int
    """Rows (stretches along the last axis) with any element in the set."""

    bad_rows: int
    """Rows with a bad element."""

    all_bad_rows: int
    """Rows all of whose elements are bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One feature and one threshold: elements on one side are called bad, those on the other good."""

    feature: str
    """What is compared, e.g. `|x|` or `index on axis 2 mod 4`."""

    relation: Relation
    """On which side elements are bad."""

    threshold: float
    """With what; the number with the fewest digits that separates the same elements."""

    reach: float | None
    """Largest (for `>`) or smallest (for `<`) value of the feature on the good side; None for `=`."""

    accuracy: float
    """Share of elements it calls right."""

    balanced_accuracy: float
    """Mean of the share of bad elements it calls bad and the share of good ones it calls good: 0.5 says nothing."""

    bad: int
    """Bad elements it was judged on."""

    good: int
    """Good elements it was judged on."""

    region_bad: int
    """Bad elements of the region on the bad side."""

    region_good: int
    """Good elements of the region on the bad side."""

    @property
    def statement(self) -> str:
        """`|x| > 3`."""
        return f"{self.feature} {self.relation} {self.threshold:.9g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionElement:
    """One element of the region."""

    index: tuple[int, ...]
    """Where."""

    bad: bool
    """Beyond the green bound, or of a wrong class."""

    actual: float | None
    """Output there; None when not finite."""

    expected: float | None
    """Reference there; None when not finite."""

    inputs: Mapping[str, float | None]
    """Element of every input aligned with it; None when not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReading:
    """One output, its region against the rest."""

    output: str
    """Output name."""

    shape: tuple[int, ...]
    """Its shape."""

    region: Region
    """The region, every index counted from the start."""

    inside: Tally
    """Bad elements in the region."""

    outside: Tally
    """Bad elements elsewhere."""

    tensors: tuple[TensorSummary, ...]
    """Inputs, output, reference, error."""

    splits: tuple[Split, ...]
    """What separates bad from good over the whole output, best first, one per feature; empty when all are alike."""

    region_splits: tuple[Split, ...]
    """The same within the region alone."""

    elements: tuple[RegionElement, ...]
    """The elements of the region that are furthest off, worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Answer to `AttributeCase`."""

    case_id: str
    """Which case."""

    observation: Observation
    """What happened when it ran."""

    reading: RegionReading | None = None
    """None: there was nothing to read."""

    refusal: str | None = None
    """Why what was asked does not fit the output, with its shape; None when it does."""

    remedy: str | None = None
    """What to do about the refusal."""
