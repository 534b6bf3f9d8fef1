"""What a rule is: one observation in, findings out.

Decides the interface and the words that statements share. A rule never decides the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from opsdebug_ci.judge.command import rerun
from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.model.observation import Observation, OutputReading
from opsdebug_ci.model.vocabulary import Blame, Cause

Evidence = Mapping[str, EvidenceValue]
"""The numbers behind a statement, by name."""


CONFIDENCE_DIGITS = 3
"""Decimals of a confidence: it is an estimate, and its sums are not to print as 0.30000000000000004."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a rule looks at."""

    case: Case
    """What was run."""

    observation: Observation
    """What happened."""

    contract: Contract
    """What the operator promises."""

    @property
    def zero_dims(self) -> tuple[str, ...]:
        """Names of the dims that are 0."""
        return tuple(name for name, size in self.case.dims.items() if size == 0)

    def finding(
        self,
        cause: Cause,
        confidence: float,
        statement: str,
        evidence: Evidence,
        *,
        blame: Blame = Blame.OPERATOR,
        options: tuple[str, ...] = (),
    ) -> Finding:
        """A finding whose next command reruns the case, with `options` added; its confidence to three digits."""
        return Finding(
            cause=cause,
            confidence=round(confidence, CONFIDENCE_DIGITS),
            blame=blame,
            statement=statement,
            evidence=evidence,
            next=rerun(self.case, *options),
        )


Rule = Callable[[Subject], Iterable[Finding]]
"""Yields nothing when it has nothing to say. Its docstring says what it looks at and when it stays silent."""


def share_text(count: int, total: int) -> str:
    """`12 of 16,384 elements (0.0732 %)`; no percentage of nothing."""
    percent = f" ({100 * count / total:.3g} %)" if total else ""
    return f"{count:,} of {quantity(total, 'element')}{percent}"


def index_text(index: tuple[int, ...]) -> str:
    """`[3, 17]`; `[]` is the only element of a zero-dimensional tensor."""
    return f"[{', '.join(map(str, index))}]"


def value_text(value: float | None, dtype: str) -> str:
    """Enough digits to tell neighbours apart: 17 for float64, 9 for anything narrower (IEEE 754-2019, 5.12.2)."""
    if value is None:
        return "not finite"
    return f"{value:.17g}" if dtype == "float64" else f"{value:.9g}"


def allowed_text(subject: Subject, output: OutputReading) -> str:
    """The tolerance at the worst element and how far beyond it the error is; names a user's own tolerance."""
    worst = output.accuracy.worst if output.accuracy is not None else None
    if worst is None or worst.tolerance is None:
        return "nothing else allowed"
    ratio = "" if worst.ratio is None else f" (error {worst.ratio:.3g} x that)"
    own = f" by your own {_own_tolerance(subject.contract)}" if subject.contract.overrides_tolerance else ""
    return f"allowed {worst.tolerance:.3g}{own}{ratio}"


def _own_tolerance(contract: Contract) -> str:
    given = (("atol", contract.atol), ("rtol", contract.rtol))
    return ", ".join(f"{name}={value:g}" for name, value in given if value is not None)
