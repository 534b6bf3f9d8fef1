"""What an operator promises, and what it costs.

Decides which promises can be made. Deliberately judges none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model.dtype import FLOAT_FORMATS

NAN_POLICIES = ("propagate", "ignore")
"""`propagate`: a NaN input reaches every output that depends on it. `ignore`: NaN inputs are outside the contract."""

Index = tuple[Union[str, int], int]
"""(argument name or position, axis): what an index output points into."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Promises of an operator; a tolerance is a statement about them.

    Raises DeclarationError when a value is unknown or contradictory.
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

    allow: tuple[str, ...] = ()
    """Deviations the operator declares: `ftz` (subnormals flush to zero), `tf32`, `fast_div`, `low_precision_p`."""

    atol: float | None = None
    """Absolute tolerance of the user's own; overrides ours, and the report says so."""

    rtol: float | None = None
    """Relative tolerance of the user's own; overrides ours, and the report says so."""

    def __post_init__(self) -> None:
        if self.accumulate not in FLOAT_FORMATS:
            raise DeclarationError(f"`accumulate` is `{self.accumulate}`; wanted one of {', '.join(FLOAT_FORMATS)}")
        if self.nan not in NAN_POLICIES:
            raise DeclarationError(f"`nan` is `{self.nan}`; wanted one of {', '.join(NAN_POLICIES)}")
        unknown = set(self.allow) - set(ALLOWANCES)
        if unknown:
            raise DeclarationError(f"`allow` has {sorted(unknown)}; wanted some of {', '.join(ALLOWANCES)}")
        if not isinstance(self.mutates, tuple):
            raise DeclarationError(f"`mutates` is {self.mutates!r}; wanted a tuple of argument names")
        for name, value in (("atol", self.atol), ("rtol", self.rtol)):
            if value is not None and not value >= 0:
                raise DeclarationError(f"`{name}` is {value}; wanted a number >= 0")

    @property
    def overrides_tolerance(self) -> bool:
        return self.atol is not None or self.rtol is not None


ALLOWANCES = ("ftz", "tf32", "fast_div", "low_precision_p")
"""Words `Contract.allow` understands."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one launch."""

    flops: float
    """Floating-point operations."""

    bytes: float | None = None
    """Bytes moved to and from memory; None: the sum over arguments and outputs."""

    def __post_init__(self) -> None:
        if not self.flops >= 0 or (self.bytes is not None and not self.bytes >= 0):
            raise DeclarationError(f"cost has flops={self.flops}, bytes={self.bytes}; wanted numbers >= 0")
