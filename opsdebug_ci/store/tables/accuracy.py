"""Table `accuracy`: one row per case and output; a case without outputs has one row whose output is null.

Decides how a judged case lies in columns: what belongs to the case is repeated on each of its outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from opsdebug_ci.model import ObservationDocument
from opsdebug_ci.store.case_columns import CASE_COLUMNS
from opsdebug_ci.store.column import FLAG, INTEGER, INTEGERS, REAL, TEXT, Column, Row, StoredRun, Table
from opsdebug_ci.store.observation_rows import observation_rows, read_observation
from opsdebug_ci.store.struct import FINDING

SPAN = pa.struct([("first", INTEGER), ("last", INTEGER)])
"""Model value `Span`; the last index belongs to it."""

MISMATCH = pa.struct([("expected", TEXT), ("actual", TEXT), ("count", INTEGER), ("first_index", INTEGERS)])
"""Model value `ClassMismatch`."""

WORST = pa.struct(
    [("index", INTEGERS)]
    + [(name, REAL) for name in ("actual", "expected", "tolerance", "rounding", "internal", "worst_case")]
)
"""Model value `WorstElement`."""

QUANTILES = ("p50", "p95", "p99", "max")
"""Fields of the model value `Quantiles`."""

JUDGED_COLUMNS = (
    Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
    Column(name="case_index", type=INTEGER, comment="position of the case in the plan, from 0"),
    *CASE_COLUMNS,
    Column(name="verdict", type=TEXT, comment="verdict of the case"),
    Column(name="reason", type=TEXT, comment="why it was skipped or what broke; null otherwise"),
    Column(name="reference_used", type=TEXT, comment="reference the verdict rests on; null: nothing was compared"),
    Column(name="reference_confidence", type=TEXT, comment="how far that reference can be trusted"),
    Column(name="dissent", type=TEXT, comment="the reference that disagrees, and by how much; null: none"),
    Column(name="findings", type=pa.list_(FINDING), comment="findings of the case, most probable first"),
    Column(name="total_ns", type=INTEGER, comment="whole case; null: the worker did not live to say", unit="ns"),
    Column(name="function_ns", type=INTEGER, comment="launches of the operator", unit="ns"),
    Column(name="reference_ns", type=INTEGER, comment="references and error bounds", unit="ns"),
    Column(name="bundle", type=TEXT, comment="sha256 of the failure bundle; null: none was written"),
    Column(name="fingerprint", type=TEXT, comment="group of the failure; null: it did not fail"),
)

OUTPUT_COLUMNS = (
    Column(name="output_index", type=INTEGER, comment="position of the output, from 0; null: the case has none"),
    Column(name="output", type=TEXT, comment="output name; null: the case has none"),
    Column(name="kind", type=TEXT, comment="how the output was compared"),
    Column(name="shape", type=INTEGERS, comment="shape of the output", unit="elements"),
    Column(name="output_dtype", type=TEXT, comment="dtype of the output"),
    Column(name="is_worst", type=FLAG, comment="this output decided the case"),
    Column(name="compared", type=INTEGER, comment="elements judged; null: nothing could be compared", unit="elements"),
    Column(name="cosine", type=REAL, comment="cosine similarity; null: not finite or nothing compared"),
    Column(name="max_abs_err", type=REAL, comment="largest |actual - expected|", unit="units of the output"),
    Column(name="max_abs_index", type=INTEGERS, comment="where it is"),
    *(Column(name=f"rel_err_{name}", type=REAL, comment=f"relative error, {name}", unit="1") for name in QUANTILES),
    *(
        Column(
            name=f"ulp_{name}", type=REAL, comment=f"distance from the reference, {name}; null: integers", unit="ULP"
        )
        for name in QUANTILES
    ),
    Column(name="significant_digits", type=REAL, comment="correct digits; null: integers", unit="decimal digits"),
    Column(name="misrounding_rate", type=REAL, comment="share of elements not rounded to nearest", unit="1"),
    Column(name="zone", type=TEXT, comment="worst zone of any element: green, amber or red"),
    Column(name="over_tolerance", type=INTEGER, comment="elements beyond the green bound", unit="elements"),
    Column(name="over_worst_case", type=INTEGER, comment="elements beyond the amber bound", unit="elements"),
    Column(name="class_mismatches", type=pa.list_(MISMATCH), comment="disallowed pairs of number classes"),
    Column(name="worst", type=WORST, comment="element with the largest error relative to its tolerance"),
    Column(name="bound", type=TEXT, comment="which bound decided, in words"),
    Column(
        name="bad_region",
        type=pa.list_(SPAN),
        comment="per axis the first and last index of the smallest region that holds every element beyond the "
        "tolerance; null: it did not fail, older files",
    ),
)


def rows(stored: StoredRun) -> Sequence[Row]:
    """Rows of every case, in plan order."""
    document = stored.document
    return [
        {"run_id": document.run.id, "case_index": index, **row}
        for index, observation in enumerate(document.observations)
        for row in observation_rows(observation)
    ]


def read_observations(stored: Sequence[Row]) -> tuple[ObservationDocument, ...]:
    """Inverse of `rows`."""
    ordered = sorted(stored, key=lambda row: (row["case_index"], row["output_index"] or 0))
    return tuple(read_observation(tuple(case)) for _, case in groupby(ordered, key=lambda row: row["case_index"]))


TABLE = Table(
    name="accuracy",
    comment="One row per case and output; a case without outputs has one row whose output is null.",
    columns=JUDGED_COLUMNS + OUTPUT_COLUMNS,
    rows=rows,
    order=("case_index", "output_index"),
)
