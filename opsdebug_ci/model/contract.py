"""What an operator promises, and what it costs.

Decides which promises can be made. Deliberately judges none of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Empty

NAN_POLICIES = ("propagate", "ignore")
"""`propagate`: a NaN input reaches every output that depends on it. `ignore`: NaN inputs are outside the contract."""

EMPTY_POLICIES = tuple(map(str, Empty))

Index = tuple[Union[str, int], int]
"""(argument name or position, axis): what an index output points into."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Promises of an operator; a tolerance is a statement about them.

    Raises DeclarationError when values are unknown or contradictory; the message lists every problem at once.
    """

    accumulate: str = "float32"
    """Accumulator dtype of reductions; float64 inputs always accumulate in float64."""

    nan: str = "propagate"
    """`propagate` or `ignore` (NaN inputs are then never made)."""

    deterministic: bool = True
    """Same bits on every launch."""

    batch_invariant: bool = False
    """Row i does not depend on how many rows there are, bit for bit."""

    mutates: tuple[str, ...] = ()
    """Arguments the operator writes besides `out`; each is an output under its own name."""

    out: str | int | None = None
    """Argument (name or position) the result is written to."""

    may_alias: bool = False
    """An output may share storage with an input."""

    index: Index | None = None
    """What an index output points into; None: inferred where unambiguous."""

    empty: str | None = None
    """What it comes to when the operator raises on an empty input: `skip` or `fail`; None: as configured."""

    allow: tuple[str, ...] = ()
    """Deviations the operator declares, from ALLOWANCES."""

    atol: float | None = None
    """Absolute tolerance of the user's own; overrides ours, and the report says so."""

    rtol: float | None = None
    """Relative tolerance of the user's own; overrides ours, and the report says so."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise DeclarationError("contract: " + "; ".join(problems))

    def _problems(self) -> Iterator[str]:
        if self.accumulate not in FLOAT_FORMATS:
            yield f"`accumulate` is {self.accumulate!r}; wanted one of {', '.join(FLOAT_FORMATS)}"
        if self.nan not in NAN_POLICIES:
            yield f"`nan` is {self.nan!r}; wanted one of {', '.join(NAN_POLICIES)}"
        if not _are_words(self.mutates):
            yield f"`mutates` is {self.mutates!r}; wanted a tuple of argument names, e.g. ('x',)"
        if self.out is not None and not _is_argument(self.out):
            yield f"`out` is {self.out!r}; wanted an argument's name or position"
        if self.index is not None and not _is_index(self.index):
            yield f"`index` is {self.index!r}; wanted (argument, axis), e.g. ('x', -1)"
        if self.empty is not None and self.empty not in EMPTY_POLICIES:
            yield f"`empty` is {self.empty!r}; wanted one of {', '.join(EMPTY_POLICIES)}"
        if not _are_words(self.allow) or set(self.allow) - set(ALLOWANCES):
            yield f"`allow` is {self.allow!r}; wanted a tuple of some of {', '.join(ALLOWANCES)}"
        for name, value in (("atol", self.atol), ("rtol", self.rtol)):
            if value is not None and not _is_amount(value):
                yield f"`{name}` is {value!r}; wanted a number >= 0"

    @property
    def overrides_tolerance(self) -> bool:
        """The user gave a tolerance, so ours does not apply."""
        return self.atol is not None or self.rtol is not None


ALLOWANCES = ("ftz", "tf32", "low_precision_p")
"""Words `Contract.allow` understands: subnormals may flush to zero; operands of products are rounded to TF32; they are
rounded to the case's dtype (attention that stores its probabilities in half precision)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one launch."""

    flops: float
    """Floating-point operations."""

    bytes: float | None = None
    """Bytes moved to and from memory; None: the sum over arguments and outputs."""

    def __post_init__(self) -> None:
        if not _is_amount(self.flops) or (self.bytes is not None and not _is_amount(self.bytes)):
            raise DeclarationError(f"cost has flops={self.flops!r}, bytes={self.bytes!r}; wanted numbers >= 0")


def _is_argument(value: object) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _is_index(value: object) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and _is_argument(value[0])
        and isinstance(value[1], int)
        and not isinstance(value[1], bool)
    )


def _are_words(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(word, str) for word in value)


def _is_amount(value: object) -> bool:
    """A finite number >= 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf
