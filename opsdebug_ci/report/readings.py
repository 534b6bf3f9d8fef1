"""The readings of one output, each beside what it usually means. They inform; classes and bounds judge.

Decides wording and which reading applies to which output.
"""

from __future__ import annotations

from collections.abc import Callable

from opsdebug_ci.model.accuracy import Accuracy, Quantiles
from opsdebug_ci.model.document import ObservationDocument, OutputDocument
from opsdebug_ci.model.region import region_text
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.report import figures
from opsdebug_ci.report.escape import plain

HIGH_COSINE, COARSE_COSINE = 0.9999, 0.999
"""From where a cosine is taken for high confidence, and for a coarse agreement."""

HALF_ULP_GOOD, HALF_ULP_SUSPECT = 1, 4
"""float16: at most one unit is as good as it gets; above four an intermediate result was probably kept too narrow."""

EXPONENTIAL = (str(Kind.TRANSCENDENTAL), str(Kind.SOFTMAX), str(Kind.LOG_SOFTMAX))
"""Kinds for which significant digits are shown."""


def output_lines(output: OutputDocument) -> list[str]:
    """Lines about one output: a heading, then one reading per line, indented."""
    heading = f"{plain(output.name)}: {output.dtype} {list(output.shape)}, compared as {output.kind}"
    accuracy = output.accuracy
    if accuracy is None:
        return [heading, "  nothing could be compared"]
    if accuracy.compared == 0:
        return [heading, "  0 elements compared: only shape and dtype were"]
    return [heading, *(f"  {name:<19} {value}" for name, value in _readings(output, accuracy))]


def short_lines(observation: ObservationDocument) -> list[str]:
    """How large the errors of the worst output are and where its bad elements lie; nothing where none was measured."""
    accuracy = observation.accuracy
    if accuracy is None or accuracy.rel_err.max is None or not accuracy.over_tolerance:
        return []
    ulp = f"; ULP {_quantiles(accuracy.ulp, figures.count)}" if accuracy.ulp.max is not None else ""
    output = next((output for output in observation.outputs if output.name == accuracy.output), None)
    region = "" if output is None or output.bad_region is None else f" in {region_text(output.bad_region)}"
    worst = "" if accuracy.worst is None else f", worst at {figures.index(accuracy.worst.index)}"
    return [
        f"rel error {_quantiles(accuracy.rel_err, figures.measure)}{ulp}",
        f"{accuracy.over_tolerance:,} of {accuracy.compared:,} beyond tolerance{region}{worst}",
    ]


def _readings(output: OutputDocument, accuracy: Accuracy) -> list[tuple[str, str]]:
    beyond = f"{accuracy.over_tolerance:,} of {accuracy.compared:,} beyond tolerance"
    lines = [
        ("zone", f"{accuracy.zone}, {beyond}, {accuracy.over_worst_case:,} beyond the worst case"),
        *(("wrong class", _class_text(accuracy)) for _ in accuracy.class_mismatches[:1]),
        ("worst", _worst(accuracy, output.dtype)),
        ("cosine", figures.cosine(accuracy.cosine) + _cosine_meaning(accuracy.cosine)),
        ("max abs error", f"{figures.measure(accuracy.max_abs_err)} at {figures.index(accuracy.max_abs_index)}"),
        ("rel error", _quantiles(accuracy.rel_err, figures.measure)),
    ]
    if accuracy.ulp.max is not None:
        lines.append(("ULP", _quantiles(accuracy.ulp, figures.count) + _ulp_meaning(output.dtype, accuracy.ulp)))
    if accuracy.significant_digits is not None and output.kind in EXPONENTIAL:
        lines.append(("significant digits", f"{accuracy.significant_digits:.1f}"))
    if accuracy.misrounding_rate is not None:
        lines.append(("misrounding rate", figures.percent(accuracy.misrounding_rate)))
    return [*lines, ("bound", plain(accuracy.bound))]


def _class_text(accuracy: Accuracy) -> str:
    return ", ".join(
        f"{cell.actual} for {cell.expected} ({cell.count:,}x, first at {figures.index(cell.first_index)})"
        for cell in accuracy.class_mismatches
    )


def _worst(accuracy: Accuracy, dtype: str) -> str:
    worst = accuracy.worst
    if worst is None:
        return figures.MISSING
    return (
        f"{figures.error_size(accuracy)} at {figures.index(worst.index)}: got {figures.value(worst.actual, dtype)}, "
        f"wanted {figures.value(worst.expected, dtype)}, allowed {figures.measure(worst.tolerance)} "
        f"(rounding {figures.measure(worst.rounding)}, internal {figures.measure(worst.internal)}, "
        f"worst case {figures.measure(worst.worst_case)})"
    )


def _quantiles(quantiles: Quantiles, write: Callable[[float | None], str]) -> str:
    shown = (("P50", quantiles.p50), ("P95", quantiles.p95), ("P99", quantiles.p99), ("max", quantiles.max))
    return ", ".join(f"{name} {write(value)}" for name, value in shown)


def _cosine_meaning(cosine: float | None) -> str:
    if cosine is None:
        return " (undefined: not finite)"
    if cosine >= HIGH_COSINE:
        return " (high confidence: at least 0.9999)"
    if cosine >= COARSE_COSINE:
        return " (coarse agreement: at least 0.999)"
    return " (below 0.999: another direction)"


def _ulp_meaning(dtype: str, ulp: Quantiles) -> str:
    if dtype != "float16" or ulp.max is None:
        return ""
    if ulp.max <= HALF_ULP_GOOD:
        return " (at most 1: as good as float16 gets)"
    if ulp.max > HALF_ULP_SUSPECT:
        return " (above 4: an intermediate result may have lost precision)"
    return ""
