"""An error that only the worst case explains."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject, allowed_text, index_text, share_text
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause, Kind, Zone

_SUMS = (Cause.ACCUMULATION_ORDER, 0.5, "; pairwise or compensated summation would remove it")
_UNNAMED = (Cause.UNKNOWN, 0.2, "")
_OPEN = (
    Cause.UNKNOWN,
    0.2,
    "; its kind is left open, so steps at the operands' precision are forgiven: declare the kind",
)

_CAUSES = {
    **dict.fromkeys((Kind.REDUCTION, Kind.MATMUL, Kind.SCAN, Kind.NORM), _SUMS),
    **dict.fromkeys((Kind.SOFTMAX, Kind.LOG_SOFTMAX, Kind.ATTENTION), _SUMS),
    Kind.TRANSCENDENTAL: (Cause.APPROXIMATION, 0.3, "; a better approximation would remove it"),
    Kind.AUTO: _OPEN,
    Kind.ELEMENTWISE: (Cause.WRONG_ROUNDING, 0.3, "; rounding once, at the end, would remove it"),
}
"""Likely cause by kind, how sure, and the remedy."""


def amber(subject: Subject) -> Iterator[Finding]:
    """Fires when an output is beyond the statistical tolerance, within the worst-case bound. Silent when red."""
    for output in subject.observation.outputs:
        accuracy = output.accuracy
        if accuracy is None or accuracy.zone is not Zone.AMBER:
            continue
        where = (
            f", worst at {index_text(accuracy.worst.index)}: {allowed_text(subject, output)}" if accuracy.worst else ""
        )
        cause, confidence, remedy = _CAUSES.get(output.kind, _UNNAMED)
        statement = (
            f"`{output.name}`: {share_text(accuracy.over_tolerance, accuracy.compared)} are beyond the statistical "
            f"tolerance but within the worst-case bound{where}{remedy}"
        )
        evidence: Evidence = {
            "output": output.name,
            "over_tolerance": accuracy.over_tolerance,
            "compared": accuracy.compared,
            "ratio": accuracy.worst.ratio if accuracy.worst else None,
        }
        yield subject.finding(cause, confidence, statement, evidence)
