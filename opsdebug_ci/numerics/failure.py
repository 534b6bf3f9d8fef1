"""One failing output with everything the worker knows about it: what pattern rules look at.

Decides what a rule may see. Deliberately runs nothing: rules that need another launch are probes of the worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Blame, Cause, Kind
from opsdebug_ci.numerics.compared import ComparedOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failing output. Holds live tensors, to be read only; never leaves the worker. All tensors have one shape."""

    output: str
    """Output name."""

    kind: Kind
    """How it was compared."""

    actual: torch.Tensor
    """What the operator returned, at its own dtype."""

    expected: torch.Tensor
    """The reference that was used: float64, not yet rounded to the output's dtype; int64 where both are integers."""

    bad: torch.Tensor
    """bool: beyond the green bound, or of a wrong class. At least one is True."""

    tolerance: torch.Tensor | None
    """float64: the green bound; None for integers, which must be equal."""

    deviation: torch.Tensor | None
    """float64: standard deviation of correct evaluations at the promised precision; None where nothing may deviate."""

    compute: FloatFormat
    """Format of the operator's elementwise steps, as promised."""

    accumulate: FloatFormat
    """Format of its accumulators, as promised."""

    arguments: Mapping[str, Any]
    """Pristine arguments by name, plain values included."""

    dims: Mapping[str, int]
    """Sizes of the case's dims."""

    compared: ComparedOutput | None = None
    """With what it was compared, so that it can be compared with something else."""

    @property
    def error(self) -> torch.Tensor:
        """float64: actual - expected; NaN where either is not finite."""
        error = self.actual.double() - self.expected.double()
        return error.masked_fill_(~torch.isfinite(error), float("nan"))

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensor arguments by name, those with strides."""
        every = {name: value for name, value in self.arguments.items() if isinstance(value, torch.Tensor)}
        return {name: value for name, value in every.items() if value.layout is torch.strided}

    def clue(
        self,
        rule: str,
        cause: Cause,
        confidence: float,
        statement: str,
        evidence: Mapping[str, EvidenceValue],
        *,
        blame: Blame = Blame.OPERATOR,
    ) -> Clue:
        """A clue about this output."""
        return Clue(
            rule=rule,
            cause=cause,
            confidence=confidence,
            output=self.output,
            statement=statement,
            evidence=dict(evidence),
            blame=blame,
        )
