"""How the references of one output stand to the one that is used, and how far they can be trusted together.

Decides votes and confidence. Deliberately judges no output: that is `comparison`; what follows from a dissent is the
judge's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from opsdebug_ci.model.observation import Vote
from opsdebug_ci.model.vocabulary import Confidence, ReferenceKind
from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.disagreement import agreement, disagreement

QUARTER = 0.25
"""Two float64 references agree when they differ by at most this share of the operator's tolerance."""

HIGH, MEDIUM = 0.9, 0.5
"""Agreement (P1 of 1 - d/(tolerance/4)) from where on confidence is high, and medium."""

SAME_FORMULA = frozenset({ReferenceKind.TORCH, ReferenceKind.PRECISE})
"""References that share their formula where the precise one is derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The references of one floating output, all shaped like it, in float64."""

    used: ReferenceKind
    """The one the accuracy is against."""

    values: Mapping[ReferenceKind, torch.Tensor]
    """All of them, the used one included."""

    bound: Bound
    """Bounds around the used one."""

    dtype: torch.dtype
    """The output's."""

    wide: bool
    """The operator computes in float64 itself, as the references do."""

    derived_precise: bool
    """The precise reference is the torch one in float64."""

    narrow: frozenset[ReferenceKind]
    """Those that answered in a format narrower than float64."""

    def vote(self, which: ReferenceKind, pardoned: int) -> Vote:
        """How `which` stands to the used one; it accepts `pardoned` elements that the used one rejects."""
        ratio, differing = disagreement(
            self.values[which], self.values[self.used], self._allowance(which, self.used), self.dtype
        )
        return Vote(
            reference=which,
            disagreement=ratio,
            elements=differing,
            sides_with_operator=pardoned,
            allies=self._allies(which) if differing else (),
        )

    def confidence(self, votes: list[Vote]) -> Confidence:
        """Low when a reference differs and none agrees; else by how closely the float64 ones agree.

        The framework at native precision counts as agreeing or not, never by its distance: it rounds as operators do.
        """
        dissent = [vote for vote in votes if vote.elements]
        agreeing = [vote for vote in votes if not vote.elements]
        if dissent:
            return Confidence.MEDIUM if agreeing else Confidence.LOW
        independent = [vote for vote in agreeing if not self._same_formula(vote.reference)]
        if not independent:
            return Confidence.MEDIUM
        return min((self._trust(vote.reference) for vote in independent), key=_WORST_FIRST.index)

    def _trust(self, which: ReferenceKind) -> Confidence:
        if self.wide or ReferenceKind.TORCH in (which, self.used):
            return Confidence.HIGH
        close = agreement(self.values[which], self.values[self.used], self._allowance(which, self.used))
        if close >= HIGH:
            return Confidence.HIGH
        apart = self._reads_constants_as_float32(which) or self.narrow & {which, self.used}
        return Confidence.MEDIUM if close >= MEDIUM or apart else Confidence.LOW

    def _reads_constants_as_float32(self, which: ReferenceKind) -> bool:
        """Of the two one is derived, so 0.9 in it is float32's, and in the other float64's: apart by a rounding."""
        return self.derived_precise and ReferenceKind.PRECISE in (which, self.used)

    def _same_formula(self, which: ReferenceKind) -> bool:
        return self.derived_precise and {which, self.used} <= SAME_FORMULA

    def _allies(self, which: ReferenceKind) -> tuple[ReferenceKind, ...]:
        """References besides the used one that agree with `which`."""
        return tuple(
            other
            for other, values in self.values.items()
            if other not in (which, self.used)
            and disagreement(values, self.values[which], self._allowance(other, which), self.dtype)[1] == 0
        )

    def _allowance(self, one: ReferenceKind, other: ReferenceKind) -> torch.Tensor:
        """How far two references may be apart: torch the worst case of any operator; two in float64 a quarter of the
        tolerance, or all of it where the operator works in float64 too."""
        if ReferenceKind.TORCH in (one, other):
            return self.bound.worst_case
        return self.bound.tolerance if self.wide else QUARTER * self.bound.tolerance


_WORST_FIRST = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def integer_confidence(votes: list[Vote], used: ReferenceKind, *, derived_precise: bool) -> Confidence:
    """As `Panel.confidence`, for outputs that have no distances."""
    dissent, agreeing = [v for v in votes if v.elements], [v for v in votes if not v.elements]
    if dissent:
        return Confidence.MEDIUM if agreeing else Confidence.LOW
    independent = [v for v in agreeing if not (derived_precise and {v.reference, used} <= SAME_FORMULA)]
    return Confidence.HIGH if independent else Confidence.MEDIUM


def misshapen_votes(references: Mapping[ReferenceKind, torch.Tensor], actual: torch.Tensor) -> list[Vote]:
    """References of another shape disagree on every element."""
    return [
        Vote(reference=which, disagreement=None, elements=max(1, actual.numel()), sides_with_operator=0)
        for which, values in references.items()
        if values.shape != actual.shape
    ]
