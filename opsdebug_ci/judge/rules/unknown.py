"""Nothing more specific fits: the numbers themselves."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Subject, allowed_text, index_text, share_text, value_text
from opsdebug_ci.model.accuracy import Accuracy, WorstElement
from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.vocabulary import Cause, Kind

SUMMING = (Kind.REDUCTION, Kind.MATMUL, Kind.SCAN)
"""Kinds whose worst-case bound is over every order of summation."""


def unknown(subject: Subject) -> Iterator[Finding]:
    """Speaks only when no other rule does, about the worst output; always says something."""
    output = subject.observation.worst_output
    if output is None or output.accuracy is None:
        status = subject.observation.status
        reason = f": {subject.observation.reason}" if subject.observation.reason else ""
        yield subject.finding(Cause.UNKNOWN, 0.2, f"failed with status {status}{reason}", {"status": str(status)})
        return
    yield subject.finding(Cause.UNKNOWN, 0.2, _statement(subject, output, output.accuracy), _evidence(output))


def _statement(subject: Subject, output: OutputReading, accuracy: Accuracy) -> str:
    wrong = share_text(output.rejected or accuracy.over_worst_case, accuracy.compared)
    if accuracy.worst is None:
        return f"`{output.name}`: {wrong} are wrong"
    worst, dtype = accuracy.worst, output.actual.dtype
    return (
        f"`{output.name}`: {wrong} are wrong; worst at {index_text(worst.index)}: got "
        f"{value_text(worst.actual, dtype)}, wanted {value_text(worst.expected, dtype)}, "
        f"{allowed_text(subject, output)}{_impossible(subject, output, worst)}"
    )


def _impossible(subject: Subject, output: OutputReading, worst: WorstElement) -> str:
    """The strongest sentence there is: red means that not even conspiring roundings reach it (docs/tolerance.md).

    Silent where that bound was not computed (no internal part) or is not the one in force (the user's own, tf32).
    """
    contract = subject.contract
    if output.kind not in SUMMING or contract.overrides_tolerance or "tf32" in contract.allow:
        return ""
    if worst.actual is None or worst.expected is None or worst.worst_case is None or not worst.internal:
        return ""
    if not abs(worst.actual - worst.expected) > worst.worst_case:
        return ""
    accumulator = "float64" if subject.case.dtype == "float64" else contract.accumulate
    return f"; rounding sums in {accumulator} does not explain it"


def _evidence(output: OutputReading) -> dict[str, EvidenceValue]:
    accuracy = output.accuracy
    if accuracy is None:
        return {}
    return {
        "output": output.name,
        "rejected": output.rejected,
        "compared": accuracy.compared,
        "max_abs_err": accuracy.max_abs_err,
        "ratio": accuracy.worst.ratio if accuracy.worst else None,
        "bound": accuracy.bound,
    }
