"""An output that is not the rounded truth more often, or more one-sidedly, than its steps explain."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.observation import MisroundingReading, OutputReading
from opsdebug_ci.model.vocabulary import Blame, Cause, Kind

ONE_SIDED_Z = 8.0
"""Binomial z of the direction above which a constant is off rather than a rounding; the flag's own limit."""

BESIDE_OTHERS = 0.25
"""Confidence where elements are wrong beyond every rounding: those that are not may be off for the same reason."""

ONE_ROUNDING = 1.0
"""Units in the last place that one wrong rounding makes at most."""

_SUMS = (Kind.REDUCTION, Kind.MATMUL, Kind.SCAN, Kind.ATTENTION, Kind.SOFTMAX, Kind.LOG_SOFTMAX)


def misrounding(subject: Subject) -> Iterator[Finding]:
    """Fires when a declared kind is flagged: those elements are red. Silent where the framework does the same."""
    for output in subject.observation.outputs:
        reading = output.misrounding
        if reading is not None and reading.flagged and not reading.like_framework and output.kind is not Kind.AUTO:
            yield _finding(subject, output, reading, "which no correct evaluation of the declared kind shows")


def misrounding_remark(subject: Subject) -> Iterator[Finding]:
    """Fires for a flag that is not held against the operator: its kind is open, or the framework does the same.

    Also for a float32 output that passes with errors that lean to one side. Silent about everything else.
    """
    for output in subject.observation.outputs:
        reading = output.misrounding
        if reading is not None and reading.flagged and reading.like_framework:
            yield _finding(subject, output, reading, "as the framework's own result is", blame=Blame.REFERENCE)
        elif reading is not None and reading.flagged and output.kind is Kind.AUTO:
            yield _finding(subject, output, reading, "which is not judged while its kind is left open")
        if output.bias is not None and not output.rejected:
            yield _leaning(subject, output, output.bias)


def worse_than_framework(subject: Subject) -> Iterator[Finding]:
    """Fires when a declared kind is, within its worst case, locally far worse than the framework. Silent otherwise."""
    for output in subject.observation.outputs:
        if output.worse_than_framework:
            statement = (
                f"`{output.name}`: {output.worse_than_framework:,} elements lie in rows or sizes where the error is "
                "far beyond the framework's own at the same precision (median 1.5 x, P99 2 x, largest 3 x)"
            )
            evidence: Evidence = {"output": output.name, "elements": output.worse_than_framework}
            confidence = BESIDE_OTHERS if _is_gross(output) else 0.5
            yield subject.finding(Cause.LOW_PRECISION_ACCUM, confidence, statement, evidence)


def _is_gross(output: OutputReading) -> bool:
    """Its worst element is wrong beyond every rounding."""
    worst = None if output.accuracy is None else output.accuracy.worst
    if worst is None or worst.actual is None or worst.expected is None or worst.worst_case is None:
        return False
    return abs(worst.actual - worst.expected) > worst.worst_case


def _finding(
    subject: Subject,
    output: OutputReading,
    reading: MisroundingReading,
    consequence: str,
    *,
    blame: Blame = Blame.OPERATOR,
) -> Finding:
    statement = (
        f"`{output.name}`: {100 * reading.rate:.3g} % of {reading.visible:,} elements are not the rounded truth "
        f"(a correct operator: at most {100 * reading.expected_rate:.2g} %), {reading.unexplained:,} of them beyond "
        f"the worst case of the steps, {_direction(reading)}; {consequence}"
    )
    evidence: Evidence = {
        "output": output.name,
        "rate": reading.rate,
        "expected_rate": reading.expected_rate,
        "misrounded": reading.misrounded,
        "unexplained": reading.unexplained,
        "growing_share": reading.growing_share,
        "z": reading.bias_z,
    }
    cause, confidence = _cause(output, reading)
    if output.accuracy is not None and output.accuracy.over_worst_case:
        confidence = BESIDE_OTHERS
    return subject.finding(cause, confidence, statement, evidence, blame=blame)


def _direction(reading: MisroundingReading) -> str:
    return f"{100 * (reading.growing_share or 0.0):.3g} % of them too large (z = {reading.bias_z:.1f})"


def _cause(output: OutputReading, reading: MisroundingReading) -> tuple[Cause, float]:
    """One side: a constant or divisor, unless so many that a formula is another; both sides: a rounding inside.

    Of several units in the last place, it was several roundings, or one at fewer bits.
    """
    kind = output.kind
    steps = None if output.accuracy is None else output.accuracy.ulp.max
    if abs(reading.bias_z) > ONE_SIDED_Z:
        constant = Cause.WRONG_CONSTANT_EPS if kind is Kind.NORM else Cause.WRONG_SCALE
        return (Cause.APPROXIMATION if kind is Kind.TRANSCENDENTAL else constant), 0.5
    coarse = kind in _SUMS or (kind in (Kind.AUTO, Kind.NORM) and steps is not None and steps > ONE_ROUNDING)
    return (Cause.LOW_PRECISION_ACCUM if coarse else Cause.WRONG_ROUNDING), 0.5


def _leaning(subject: Subject, output: OutputReading, bias: float) -> Finding:
    statement = (
        f"`{output.name}`: errors lean to one side, by {bias:+.3g} roundings on average over well-conditioned elements;"
        " roundings would cancel, a wrong constant or a coarse function does not"
    )
    return subject.finding(Cause.APPROXIMATION, 0.3, statement, {"output": output.name, "bias_u": bias})
