"""What may be wrong with an operator: found on one case, asked about others.

Decides what a hypothesis is, and how a rule that looks at one case becomes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.worker.probes.scene import Scene

CONSTANTS = ("argument", "as", "use", "axis", "factor", "offset", "eps_used", "lanes", "bits")
"""Evidence of a rule that is the same in every case of one fault: another number is another fault."""

SAME = 0.02
"""Relative difference up to which two numbers are one: within the tolerance of an output they are not exact."""


class Hypothesis(Protocol):
    """One thing that may be wrong."""

    @property
    def key(self) -> str:
        """The same for the same supposition, in every case of an operator."""

    @property
    def cause(self) -> Cause:
        """What it is called."""

    @property
    def counts_bits(self) -> bool:
        """It predicts values, so that evidence for it is counted."""

    @property
    def most_tests(self) -> int | None:
        """Cases besides the first that it is asked about; None: all."""

    def clues(self, scene: Scene, failing: Sequence[Failure]) -> Iterable[Clue]:
        """What it says of the wrong outputs of a case; nothing where it does not explain them."""

    def clues_at_length(self, scene: Scene, failing: Sequence[Failure]) -> Iterable[Clue]:
        """The same for a case that it does not explain at first sight, while it explains others."""

    def shows(self, scene: Scene, outputs: Sequence[Failure]) -> bool:
        """Whether outputs that are right would be wrong if it held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRule:
    """A rule that sees a cause in a case, asked whether it sees that cause in others."""

    rule: Callable[[Scene, Failure], Iterable[Clue]]
    """The rule."""

    name: str
    """Its name."""

    seen: Clue
    """What it saw where it was asked first."""

    most_tests: int | None = None
    counts_bits: bool = False

    @property
    def cause(self) -> Cause:
        return self.seen.cause

    @property
    def key(self) -> str:
        constants = ", ".join(f"{name} {_short(self.seen.evidence[name])}" for name in _constants(self.seen))
        return f"{self.name}: {self.cause}" + (f" ({constants})" if constants else "")

    def clues(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        for failure in failing:
            seen = [clue for clue in self.rule(scene, failure) if self._is_same(clue)]
            if seen:
                yield max(seen, key=lambda clue: clue.confidence)

    def _is_same(self, clue: Clue) -> bool:
        """The same cause with the same constants."""
        names = _constants(self.seen)
        return clue.cause is self.cause and all(
            _agree(self.seen.evidence[name], clue.evidence.get(name)) for name in names
        )

    def clues_at_length(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        del scene, failing  # a rule sees what it sees
        yield from ()

    def shows(self, scene: Scene, outputs: Sequence[Failure]) -> bool:
        del scene, outputs  # rules read wrong outputs
        return False


def _constants(clue: Clue) -> list[str]:
    return [name for name in CONSTANTS if name in clue.evidence]


def _agree(one: EvidenceValue, other: EvidenceValue) -> bool:
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return one == other
    return abs(one - other) <= SAME * max(abs(one), abs(other))


def _short(value: EvidenceValue) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
