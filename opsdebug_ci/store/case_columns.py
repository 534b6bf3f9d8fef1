"""The axes of a case as columns, the same in every table that has them, and back."""

from __future__ import annotations

from typing import Any

from opsdebug_ci.model import CaseDocument
from opsdebug_ci.store.column import INTEGER, INTEGER_MAP, TEXT, Column, Row

CASE_COLUMNS = (
    Column(name="operator", type=TEXT, comment="operator name"),
    Column(name="case_id", type=TEXT, comment="stable id of the case"),
    Column(name="case_name", type=TEXT, comment="readable name of the case"),
    Column(name="dtype", type=TEXT, comment="dtype of the arguments that do not fix theirs"),
    Column(name="dims", type=INTEGER_MAP, comment="size of every named dim", unit="elements"),
    Column(name="layout", type=TEXT, comment="layout of the tensor arguments"),
    Column(name="inputs", type=TEXT, comment="family the values were drawn from"),
    Column(name="seed", type=INTEGER, comment="seed of the values"),
    Column(name="device", type=TEXT, comment="device the operator ran on"),
    Column(name="direction", type=TEXT, comment="forward, or backward: its gradients"),
)
"""One column per axis."""


def case_cells(case: CaseDocument) -> dict[str, Any]:
    """What `case` puts into CASE_COLUMNS."""
    return {
        "operator": case.operator,
        "case_id": case.id,
        "case_name": case.name,
        "dtype": case.dtype,
        "dims": list(case.dims.items()),
        "layout": case.layout,
        "inputs": case.inputs,
        "seed": case.seed,
        "device": case.device,
        "direction": case.direction,
    }


def read_case(row: Row) -> CaseDocument:
    """Inverse of `case_cells`."""
    return CaseDocument(
        id=row["case_id"],
        name=row["case_name"],
        operator=row["operator"],
        dtype=row["dtype"],
        dims=dict(row["dims"]),
        layout=row["layout"],
        inputs=row["inputs"],
        seed=row["seed"],
        device=row["device"],
        direction=row["direction"],
    )
