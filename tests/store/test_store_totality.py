"""Rows and values say the same: every stored run comes back from its rows, and its rows come back from it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from store_documents import CALIBRATION, full_document, run_document
from store_performance import any_value

from opsdebug_ci.model import Calibration, ObservationDocument, RunDocument
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.files.encoding import READ_BACK, decode_run, encode_run, rows_of
from opsdebug_ci.store.schema import TABLES

WHOLE = StoredRun(
    document=full_document(),
    calibrations=(
        CALIBRATION,
        replace(CALIBRATION, clocks_before=CALIBRATION.clocks_after, clocks_after=CALIBRATION.clocks_before),
        Calibration(device="cuda:0", probes=()),
        Calibration(device="cuda:0", probes=CALIBRATION.probes),
    ),
    bundles_elsewhere={"ab" * 32: "artifact `bundles` of the run"},
)


def read_back(stored: StoredRun) -> StoredRun:
    """The run as it comes back from its files."""
    files = {file.path.partition("/")[0]: file.data for file in encode_run(stored)}
    return decode_run(
        {t.name: rows_of(t, pq.read_table(pa.BufferReader(files[t.name]))) for t in READ_BACK if t.name in files}
    )


def named_apart(document: RunDocument) -> RunDocument:
    """The same with a run id and a start that may be stored, and accuracies that belong to outputs."""
    run = replace(document.run, id="r1", started_at="2026-11-29T10:20:30Z")
    return replace(document, run=run, observations=tuple(map(with_own_outputs, document.observations)))


def with_own_outputs(seen: ObservationDocument) -> ObservationDocument:
    outputs = tuple(
        replace(one, name=f"y{at}", accuracy=None if one.accuracy is None else replace(one.accuracy, output=f"y{at}"))
        for at, one in enumerate(seen.outputs)
    )
    measured = next((one.accuracy for one in outputs if one.accuracy is not None), None)
    return replace(seen, outputs=outputs, accuracy=measured)


def runs() -> st.SearchStrategy[StoredRun]:
    """Any at all: every field any value of its type, but for what must be a name and what is not stored with it: speed,
    which has rows of its own, and what other runs recorded."""
    kept = any_value(RunDocument).map(lambda drawn: replace(drawn, performance=None, recorded=()))
    document = kept.map(named_apart)
    return st.builds(
        StoredRun,
        document=document,
        calibrations=st.lists(any_value(Calibration), max_size=3).map(tuple),
        bundles_elsewhere=st.dictionaries(st.text("0123456789abcdef", max_size=4), st.text(max_size=4), max_size=2),
    )


@given(runs())
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
    phases=[Phase.generate],  # NOTE: a run has hundreds of fields, and shrinking one takes minutes.
)
def test_whatever_is_stored_of_a_run_survives(stored: StoredRun) -> None:
    assert read_back(stored) == stored


@pytest.mark.parametrize(
    "stored",
    [WHOLE, StoredRun(document=run_document("")), replace(WHOLE, calibrations=())],
    ids=["whole", "empty", "some"],
)
def test_a_run_comes_back_and_so_does_every_row(stored: StoredRun) -> None:
    again = read_back(stored)
    assert again == stored
    for table in TABLES:
        assert list(table.rows(again)) == list(table.rows(stored)), table.name


def test_every_table_of_runs_has_rows_of_the_whole_run() -> None:
    assert [table.name for table in TABLES if not table.rows(WHOLE)] == ["acceptances"]


def test_a_calibration_without_readings_is_a_row() -> None:
    (table,) = (table for table in TABLES if table.name == "calibrations")
    rows = table.rows(WHOLE)
    assert [(row["calibration"], row.get("probe")) for row in rows[4:6]] == [(2, None), (3, "memcpy")]
    assert [row["position"] for row in rows] == list(range(7))
