"""NaN, infinities and zeros of the wrong class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opsdebug_ci.judge.rules.rule import Subject, index_text, share_text
from opsdebug_ci.model.accuracy import ClassMismatch
from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.vocabulary import Cause

NON_FINITE = ("nan", "+inf", "-inf")
NEAR_ZERO = ("+0", "-0", "subnormal")


def nan_inf_handling(subject: Subject) -> Iterator[Finding]:
    """Fires when NaN or an infinity appears, vanishes or changes. Silent when both sides are finite."""
    for output in subject.observation.outputs:
        cells = [c for c in _cells(output) if c.expected in NON_FINITE or c.actual in NON_FINITE]
        yield from _classes(subject, output, cells, Cause.NAN_INF_HANDLING)


def denormal_signed_zero(subject: Subject) -> Iterator[Finding]:
    """Fires when a subnormal becomes zero or a zero changes its sign. Silent about every other class."""
    for output in subject.observation.outputs:
        cells = [c for c in _cells(output) if c.expected in NEAR_ZERO and c.actual in NEAR_ZERO]
        yield from _classes(subject, output, cells, Cause.DENORMAL_SIGNED_ZERO)


def _cells(output: OutputReading) -> tuple[ClassMismatch, ...]:
    return () if output.accuracy is None else output.accuracy.class_mismatches


def _classes(
    subject: Subject, output: OutputReading, cells: Iterable[ClassMismatch], cause: Cause
) -> Iterator[Finding]:
    """Sure when these cells are all that is wrong; unsure when values are wrong too, never written at all, or other
    ones in some launches on the same inputs: of those the odd one is told of where the usual one is right."""
    found = sorted(cells, key=lambda cell: -cell.count)
    if not found or output.accuracy is None:
        return
    count = sum(cell.count for cell in found)
    alone = count >= max(output.rejected, output.accuracy.over_worst_case)
    hunt = subject.observation.hunt
    changing = subject.observation.repeat_mismatches > 0 or (hunt is not None and hunt.odd > 0)
    seldom = subject.contract.deterministic and changing
    confidence = 0.3 if subject.observation.unwritten else 0.9 if alone and not seldom else 0.5
    listed = ", ".join(
        f"{c.actual} for {c.expected} ({c.count:,}x, first at {index_text(c.first_index)})" for c in found
    )
    share = f"{share_text(count, output.accuracy.compared)} {'is' if count == 1 else 'are'}"
    statement = f"`{output.name}`: {share} of the wrong class: {listed}"
    yield subject.finding(cause, confidence, statement, _evidence(subject, output, found))


def _evidence(subject: Subject, output: OutputReading, cells: list[ClassMismatch]) -> dict[str, EvidenceValue]:
    counts: dict[str, EvidenceValue] = {f"{cell.expected} -> {cell.actual}": cell.count for cell in cells}
    return {"output": output.name, "inputs": str(subject.case.inputs), "rejected": output.rejected, **counts}
