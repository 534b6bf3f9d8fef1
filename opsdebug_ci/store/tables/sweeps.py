"""Table `sweeps`: how the time of an operator grew with size in a profile."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from opsdebug_ci.model.profile_document import Sweep, SweepPoint
from opsdebug_ci.store.column import INTEGER, INTEGER_MAP, REAL, TEXT, Column, Row, StoredRun, Table
from opsdebug_ci.store.struct import to_struct

POINT = pa.struct([("dims", INTEGER_MAP), ("bytes", REAL), ("operator_ns", REAL), ("reference_ns", REAL)])
"""Model value `SweepPoint`."""


def rows(stored: StoredRun) -> Sequence[Row]:
    """One row per sweep."""
    document = stored.document
    sweeps = () if document.performance is None else document.performance.sweeps
    return [
        {
            "run_id": document.run.id,
            "position": position,
            "operator": sweep.operator,
            "dtype": sweep.dtype,
            "points": to_struct(sweep.points),
            "exponent": sweep.exponent,
            "reference_exponent": sweep.reference_exponent,
        }
        for position, sweep in enumerate(sweeps)
    ]


def read_sweeps(stored: Sequence[Row]) -> tuple[Sweep, ...]:
    """Inverse of `rows`."""
    return tuple(
        Sweep(
            operator=row["operator"],
            dtype=row["dtype"],
            points=tuple(SweepPoint(**{**point, "dims": dict(point["dims"])}) for point in row["points"]),
            exponent=row["exponent"],
            reference_exponent=row["reference_exponent"],
        )
        for row in sorted(stored, key=lambda row: int(row["position"]))
    )


TABLE = Table(
    name="sweeps",
    comment="One row per operator and dtype that was timed over a range of sizes.",
    columns=(
        Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
        Column(name="position", type=INTEGER, comment="order of the rows of a run, from 0"),
        Column(name="operator", type=TEXT, comment="operator name"),
        Column(name="dtype", type=TEXT, comment="dtype of the arguments that do not fix theirs"),
        Column(name="points", type=pa.list_(POINT), comment="best times by size, smallest first"),
        Column(name="exponent", type=REAL, comment="time ~ bytes ** exponent at the large end; null: not told"),
        Column(name="reference_exponent", type=REAL, comment="the same of the torch reference; null: not told"),
    ),
    rows=rows,
    order=("position",),
)
