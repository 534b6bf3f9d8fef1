"""What a verdict rests on: which reference, how far it can be trusted, who disagrees.

Decides dissent and outvoting from the votes the worker counted. Deliberately recomputes none of them.
"""

from __future__ import annotations

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.model.judgement import ReferenceUse
from opsdebug_ci.model.observation import Observation, OutputReading, Vote
from opsdebug_ci.model.vocabulary import Confidence, ReferenceKind

_WORST_FIRST = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def dissenters(output: OutputReading) -> tuple[Vote, ...]:
    """Votes that differ from the used reference, on any element, by more than references may differ."""
    return tuple(vote for vote in output.votes if vote.elements)


def outvoted(output: OutputReading) -> bool:
    """The precise reference clears the operator, and only the framework disagrees with it."""
    clears = output.used is ReferenceKind.PRECISE and not (output.rejected or output.disputed)
    return clears and {vote.reference for vote in dissenters(output)} == {ReferenceKind.TORCH}


def odd_one_out(output: OutputReading) -> ReferenceKind | None:
    """The one reference that differs while all the others agree; None with fewer than three, or when nobody is alone.

    Agreement with the used reference is no differing element; among the others it is what the worker recorded.
    """
    differing = dissenters(output)
    if len(output.votes) < 2 or not differing:
        return None
    if len(differing) == 1:
        return differing[0].reference
    first, *rest = differing
    united = len(differing) == len(output.votes) and all(vote.reference in first.allies for vote in rest)
    return output.used if united else None


def all_differ(output: OutputReading) -> bool:
    """Three references or more, no two of which agree."""
    differing = dissenters(output)
    return len(differing) >= 2 and len(differing) == len(output.votes) and not any(vote.allies for vote in differing)


def dissent_text(vote: Vote) -> str:
    """Who disagrees, and by how much."""
    return f"`{vote.reference}` differs on {quantity(vote.elements, 'element')}{_distance(vote)}"


def _distance(vote: Vote) -> str:
    """The distance is that of finite pairs: where none is further apart than allowed, the classes differ."""
    if vote.disagreement is None:
        return ""
    if vote.disagreement <= 1:
        return " in class (NaN, infinity)"
    return f", by up to {vote.disagreement:.3g} x what references may"


def reference_use(observation: Observation) -> ReferenceUse:
    """The used reference of the worst output, the lowest confidence of any, and the largest dissent.

    Where the precise reference outvotes the framework, low becomes medium: never high, no longer inconclusive.
    """
    worst = observation.worst_output
    if worst is None:
        return ReferenceUse(used=None, confidence=Confidence.LOW, dissent=None)
    votes = [vote for output in observation.outputs for vote in dissenters(output)]
    loudest = max(votes, key=lambda vote: (vote.elements, vote.disagreement or 0.0), default=None)
    return ReferenceUse(
        used=worst.used,
        confidence=min((_confidence(output) for output in observation.outputs), key=_WORST_FIRST.index),
        dissent=None if loudest is None else dissent_text(loudest),
    )


def _confidence(output: OutputReading) -> Confidence:
    if output.confidence is Confidence.LOW and outvoted(output):
        return Confidence.MEDIUM
    return output.confidence
