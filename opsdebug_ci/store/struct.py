"""Values inside a column: a dataclass as a struct, evidence as JSON text.

Decides only their plain form; reading a struct back is the model's own `from_json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

import pyarrow as pa

from opsdebug_ci.model.finding import EvidenceValue, Finding
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.column import REAL, TEXT, Row

Value = TypeVar("Value")

NOT_FINITE = "float"
"""Key of the object that stands for a float JSON cannot spell: `{"float": "nan"}`, `"inf"` or `"-inf"`."""

SCALARS = (float, int, str, bool)
"""Types whose plain form is the value itself."""

FINDING = pa.struct(
    [("cause", TEXT), ("confidence", REAL), ("blame", TEXT), ("statement", TEXT), ("evidence", TEXT), ("next", TEXT)]
)
"""Model value `Finding`; evidence is a JSON object, with `{"float": "nan"}` for a float JSON cannot spell."""


def to_struct(value: Any) -> Any:
    """Plain form of a slotted dataclass of scalars, enums, tuples, mappings and such dataclasses; NaN stays."""
    if value is None or type(value) in SCALARS:
        return value
    if isinstance(value, tuple):
        return [to_struct(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return list(value.items())
    return {name: to_struct(getattr(value, name)) for name in value.__slots__}


def evidence_text(evidence: Mapping[str, EvidenceValue]) -> str:
    """Evidence as a JSON object; a float that is not finite as `{"float": "nan"}`, which no other value looks like."""
    plain = {
        name: {NOT_FINITE: str(value)} if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in evidence.items()
    }
    return json.dumps(plain, allow_nan=False)


def read_evidence(text: str) -> dict[str, EvidenceValue]:
    """Inverse of `evidence_text`."""
    plain: dict[str, Any] = json.loads(text)
    return {name: float(value[NOT_FINITE]) if isinstance(value, dict) else value for name, value in plain.items()}


def finding_struct(finding: Finding) -> dict[str, Any]:
    """A finding with its evidence as text."""
    return {
        "cause": finding.cause.value,
        "confidence": finding.confidence,
        "blame": finding.blame.value,
        "statement": finding.statement,
        "evidence": evidence_text(finding.evidence),
        "next": finding.next,
    }


def read_finding(struct: Mapping[str, Any]) -> Finding:
    """Inverse of `finding_struct`."""
    finding: Finding = from_json({**struct, "evidence": read_evidence(struct["evidence"])}, Finding)
    return finding


def cells(value: object | None, columns: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a dataclass as columns of their own; none of them when there is no value.

    Args:
        value: a slotted dataclass.
        columns: field -> column.
    """
    return {} if value is None else {column: to_struct(getattr(value, field)) for field, column in columns.items()}


def read_cells(row: Row, columns: Mapping[str, str], kind: type[Value]) -> Value | None:
    """Inverse of `cells`: None where the first of the columns, whose field is never None, is null."""
    if row[next(iter(columns.values()))] is None:
        return None
    value: Value = from_json({field: row[column] for field, column in columns.items()}, kind)
    return value
