"""A judged case as rows of table `accuracy`, and back.

Decides the mapping between the document's nested values and the table's flat columns; both directions are total.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model import (
    Accuracy,
    ClassMismatch,
    Confidence,
    ObservationDocument,
    OutputDocument,
    Quantiles,
    ReferenceKind,
    ReferenceUse,
    TimingDocument,
    Verdict,
    WorstElement,
    Zone,
)
from opsdebug_ci.model.region import Span
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.case_columns import case_cells, read_case
from opsdebug_ci.store.column import Row
from opsdebug_ci.store.struct import finding_struct, read_finding, to_struct


def observation_rows(observation: ObservationDocument) -> list[dict[str, Any]]:
    """Rows of one case.

    Raises:
        InternalError: the case's accuracy is not that of one of its outputs, or is named after another output.
    """
    case = {**case_cells(observation.case), **_judgement_columns(observation)}
    worst = _worst_position(observation)
    return [
        {**case, "output_index": position, "is_worst": position == worst, **_output_columns(output)}
        for position, output in enumerate(observation.outputs)
    ] or [case]


def read_observation(rows: Sequence[Row]) -> ObservationDocument:
    """Inverse of `observation_rows`: the rows of one case, in the order of its outputs."""
    first = rows[0]
    outputs = tuple(_read_output(row) for row in rows if row["output"] is not None)
    worst = [output.accuracy for row, output in zip(rows, outputs, strict=False) if row["is_worst"]]
    return ObservationDocument(
        case=read_case(first),
        verdict=Verdict(first["verdict"]),
        reason=first["reason"],
        reference=ReferenceUse(
            used=None if first["reference_used"] is None else ReferenceKind(first["reference_used"]),
            confidence=Confidence(first["reference_confidence"]),
            dissent=first["dissent"],
        ),
        accuracy=worst[0] if worst else None,
        outputs=outputs,
        findings=tuple(read_finding(struct) for struct in first["findings"]),
        timing=_read_timing(first),
        bundle=first["bundle"],
        fingerprint=first["fingerprint"],
    )


def _worst_position(observation: ObservationDocument) -> int | None:
    if observation.accuracy is None:
        return None
    for position, output in enumerate(observation.outputs):
        if output.accuracy is observation.accuracy or output.accuracy == observation.accuracy:
            return position
    raise InternalError(
        f"accuracy of case `{observation.case.name}` is of output `{observation.accuracy.output}`; "
        f"wanted that of one of its outputs: {[output.name for output in observation.outputs]}"
    )


def _judgement_columns(observation: ObservationDocument) -> dict[str, Any]:
    used, timing = observation.reference.used, observation.timing
    return {
        "verdict": observation.verdict.value,
        "reason": observation.reason,
        "reference_used": None if used is None else used.value,
        "reference_confidence": observation.reference.confidence.value,
        "dissent": observation.reference.dissent,
        "findings": [finding_struct(finding) for finding in observation.findings],
        **({} if timing is None else to_struct(timing)),
        "bundle": observation.bundle,
        "fingerprint": observation.fingerprint,
    }


def _read_timing(row: Row) -> TimingDocument | None:
    if row["total_ns"] is None:
        return None
    return TimingDocument(total_ns=row["total_ns"], function_ns=row["function_ns"], reference_ns=row["reference_ns"])


def _output_columns(output: OutputDocument) -> dict[str, Any]:
    columns = {
        "output": output.name,
        "kind": output.kind,
        "shape": list(output.shape),
        "output_dtype": output.dtype,
        "bad_region": to_struct(output.bad_region),
    }
    return columns if output.accuracy is None else {**columns, **_accuracy_columns(output.name, output.accuracy)}


def _accuracy_columns(output: str, accuracy: Accuracy) -> dict[str, Any]:
    if accuracy.output != output:
        raise InternalError(f"accuracy of output `{output}` is named `{accuracy.output}`; wanted the output's name")
    # NOTE: spelled out rather than walked field by field: a run has thousands of outputs, and this is their hot path.
    relative, ulp, index = accuracy.rel_err, accuracy.ulp, accuracy.max_abs_index
    return {
        "compared": accuracy.compared,
        "cosine": accuracy.cosine,
        "max_abs_err": accuracy.max_abs_err,
        "max_abs_index": None if index is None else list(index),
        "rel_err_p50": relative.p50,
        "rel_err_p95": relative.p95,
        "rel_err_p99": relative.p99,
        "rel_err_max": relative.max,
        "ulp_p50": ulp.p50,
        "ulp_p95": ulp.p95,
        "ulp_p99": ulp.p99,
        "ulp_max": ulp.max,
        "significant_digits": accuracy.significant_digits,
        "misrounding_rate": accuracy.misrounding_rate,
        "zone": accuracy.zone.value,
        "over_tolerance": accuracy.over_tolerance,
        "over_worst_case": accuracy.over_worst_case,
        "class_mismatches": to_struct(accuracy.class_mismatches),
        "worst": to_struct(accuracy.worst),
        "bound": accuracy.bound,
    }


def _read_output(row: Row) -> OutputDocument:
    region = row["bad_region"]
    return OutputDocument(
        name=row["output"],
        kind=row["kind"],
        shape=tuple(row["shape"]),
        dtype=row["output_dtype"],
        accuracy=None if row["compared"] is None else _read_accuracy(row),
        bad_region=None if region is None else tuple(Span(**span) for span in region),
    )


def _read_accuracy(row: Row) -> Accuracy:
    index, worst = row["max_abs_index"], row["worst"]
    return Accuracy(
        output=row["output"],
        compared=row["compared"],
        cosine=row["cosine"],
        max_abs_err=row["max_abs_err"],
        max_abs_index=None if index is None else tuple(index),
        rel_err=_read_quantiles(row, "rel_err"),
        ulp=_read_quantiles(row, "ulp"),
        significant_digits=row["significant_digits"],
        misrounding_rate=row["misrounding_rate"],
        zone=Zone(row["zone"]),
        over_tolerance=row["over_tolerance"],
        over_worst_case=row["over_worst_case"],
        class_mismatches=tuple(from_json(cell, ClassMismatch) for cell in row["class_mismatches"]),
        worst=None if worst is None else from_json(worst, WorstElement),
        bound=row["bound"],
    )


def _read_quantiles(row: Row, reading: str) -> Quantiles:
    return Quantiles(
        p50=row[f"{reading}_p50"], p95=row[f"{reading}_p95"], p99=row[f"{reading}_p99"], max=row[f"{reading}_max"]
    )
