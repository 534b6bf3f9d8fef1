"""A case with its profile, and the finding that a set of them leads to.

Decides which of the measured times a rule about cliffs uses: the shortest one, since what else runs on a machine only
ever adds to a time. Deliberately judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.vocabulary import Blame, Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """A case whose operator could be timed."""

    case: Case
    """What was timed."""

    profile: CaseProfile
    """What it came to."""

    @property
    def operator_ns(self) -> float:
        """Best time of the operator; infinite where there is none."""
        return float("inf") if self.profile.operator is None else self.profile.operator.best_ns

    @property
    def reference_ns(self) -> float | None:
        """Best time of the torch reference."""
        return None if self.profile.reference is None else self.profile.reference.best_ns

    @property
    def bytes(self) -> float:
        """What one launch must move; 0 where that is not known."""
        return 0.0 if self.profile.traffic is None else self.profile.traffic.bytes

    @property
    def flops(self) -> float | None:
        """What it must compute, where the operator's cost says so."""
        return None if self.profile.traffic is None else self.profile.traffic.flops

    @property
    def sizes(self) -> str:
        """Its dims as `B=1,S=128`."""
        return ",".join(f"{name}={size}" for name, size in self.case.dims.items())


def perf_cliff(confidence: float, statement: str, evidence: Mapping[str, EvidenceValue], again: str) -> Finding:
    """The finding that an operator is right and much slower than it has to be; `again` is the command that shows it."""
    return Finding(
        cause=Cause.PERF_CLIFF,
        confidence=confidence,
        blame=Blame.OPERATOR,
        statement=statement,
        evidence=evidence,
        next=again,
    )


def us(ns: float) -> str:
    """A time for a statement: two significant digits, which is what a repetition would give again."""
    for unit, size in (("us", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return f"{_digits(ns / size)} {unit}"
    return f"{_digits(ns / 1e9)} s"


def times(ratio: float) -> str:
    """A ratio for a statement, two significant digits."""
    return f"{_digits(ratio)}x"


def _digits(value: float) -> str:
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
