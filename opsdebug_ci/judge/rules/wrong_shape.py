"""An output of another shape than the reference's."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause, ReferenceKind

Shape = tuple[int, ...]


def wrong_shape(subject: Subject) -> Iterator[Finding]:
    """Fires for each output of another shape than the reference's. Silent about its values."""
    for output in subject.observation.outputs:
        got, wanted = output.actual.shape, output.expected.shape
        if got != wanted:
            cause, confidence = _shape_cause(got, wanted)
            author = _author(subject, output.used)
            statement = f"`{output.name}` has shape {list(got)}, wanted {list(wanted)} as reference `{author}` returned"
            evidence: Evidence = {"output": output.name, "actual": str(list(got)), "expected": str(list(wanted))}
            yield subject.finding(cause, confidence, statement, evidence)


def _author(subject: Subject, used: ReferenceKind) -> ReferenceKind:
    """The reference somebody wrote: a derived one is the torch reference in float64."""
    derived = {reading.reference for reading in subject.observation.references if reading.derived}
    return ReferenceKind.TORCH if used in derived else used


def _shape_cause(got: Shape, wanted: Shape) -> tuple[Cause, float]:
    """Axes in another order, axes of size 1 missing, added or stretched, or anything else."""
    if sorted(got) == sorted(wanted):
        return Cause.LAYOUT_PERMUTATION, 0.7
    if _broadcastable(got, wanted):
        return Cause.BROADCASTING, 0.9
    return Cause.BROADCASTING, 0.5


def _broadcastable(got: Shape, wanted: Shape) -> bool:
    if [size for size in got if size != 1] == [size for size in wanted if size != 1]:
        return True
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(got), reversed(wanted)))  # noqa: B905 - from the right
