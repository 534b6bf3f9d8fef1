"""A stored run comes back as it was."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from store_documents import CALIBRATION, accuracy, full_document, observation, run_document

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model import ObservationDocument, OutputDocument
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.files.encoding import encode_rows, encode_run
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.struct import evidence_text, read_evidence

REPEATED = ".recorded"
"""What the store holds of other runs, and does not hold again."""


def defaults_left(value: object, path: str = "") -> list[str]:
    """Fields of nested dataclasses that still hold their declared default."""
    left = []
    for field in dataclasses.fields(value):
        item, name = getattr(value, field.name), f"{path}.{field.name}"
        if field.default is not dataclasses.MISSING and item == field.default:
            left.append(name)
        if dataclasses.is_dataclass(item):
            left += defaults_left(item, name)
    return left


def test_every_field_of_a_run_survives(tmp_path: Path) -> None:
    document = full_document()
    store = open_store(tmp_path / "s")
    store.append(document, [CALIBRATION])
    assert store.load("r-full") == document


def test_the_full_document_leaves_no_field_at_its_default() -> None:
    document = full_document()
    assert defaults_left(document) + defaults_left(document.observations[1]) == [REPEATED]


@pytest.mark.parametrize("cases", ["", "add:pass", "add:pass add:crash add:timeout add:error add:inconclusive"])
def test_runs_of_any_size_survive(tmp_path: Path, cases: str) -> None:
    document = run_document(cases)
    store = open_store(tmp_path)
    store.append(document)
    assert store.load("r1") == document


def test_nan_stays_nan_and_none_stays_none(tmp_path: Path) -> None:
    measured = replace(accuracy("y"), cosine=math.nan, max_abs_err=None, max_abs_index=None)
    output = OutputDocument(name="y", kind="norm", shape=(2,), dtype="float32", accuracy=measured)
    seen = replace(observation("add:pass"), accuracy=measured, outputs=(output,))
    store = open_store(tmp_path)
    store.append(replace(run_document(""), observations=(seen,)))
    read = store.load("r1").observations[0].accuracy
    assert read is not None
    assert math.isnan(read.cosine or 0.0)
    assert (read.max_abs_err, read.max_abs_index) == (None, None)


def test_evidence_is_json_that_tells_a_float_from_a_word() -> None:
    evidence = {"a": math.inf, "b": "inf", "c": 1, "d": 1.0, "e": True, "f": None}
    assert evidence_text(evidence) == '{"a": {"float": "inf"}, "b": "inf", "c": 1, "d": 1.0, "e": true, "f": null}'
    read = read_evidence(evidence_text(evidence))
    assert read == evidence
    assert [type(value) for value in read.values()] == [type(value) for value in evidence.values()]
    assert math.isnan(float(str(read_evidence(evidence_text({"g": math.nan}))["g"])))


def test_text_that_utf8_cannot_spell_is_spelled_out(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append(replace(run_document(""), observations=(replace(observation("add:error"), reason="got \ud800"),)))
    assert store.load("r1").observations[0].reason == "got \\ud800"


FULL = StoredRun(document=full_document(), calibrations=(CALIBRATION,), bundles_elsewhere={"ab" * 32: "an artifact"})


def stray(field: str) -> ObservationDocument:
    seen = observation("add:pass")
    if field == "accuracy":
        return replace(seen, accuracy=accuracy("z"))
    return replace(seen, accuracy=None, outputs=(replace(seen.outputs[0], accuracy=accuracy("z")),))


@pytest.mark.parametrize("field", ["accuracy", "output"])
def test_an_accuracy_of_no_output_is_refused(field: str) -> None:
    with pytest.raises(InternalError, match="wanted"):
        encode_run(StoredRun(document=replace(run_document(""), observations=(stray(field),))))


@pytest.mark.parametrize("run_id", ["", "../r1", "a/b", ".hidden", "a" * 101, "pack-1"])
def test_a_run_id_that_is_no_file_name_is_refused(run_id: str) -> None:
    with pytest.raises(InternalError, match="run id is"):
        encode_run(StoredRun(document=run_document("add:pass", run_id)))


def test_a_start_that_is_no_instant_is_refused() -> None:
    document = run_document("add:pass")
    with pytest.raises(InternalError, match="`started_at` is `yesterday`; wanted an ISO 8601 instant"):
        encode_run(StoredRun(document=replace(document, run=replace(document.run, started_at="yesterday"))))


def test_a_value_outside_its_column_names_the_column() -> None:
    with pytest.raises(InternalError, match="column `seed` wants int64"):
        encode_run(StoredRun(document=replace(run_document(""), observations=(observation("add:pass", 1 << 70),))))


@pytest.mark.parametrize(
    ("started_at", "day"),
    [
        ("2026-11-29T23:59:59Z", "2026-11-29"),
        ("2026-11-30T00:30:00+01:00", "2026-11-29"),
        ("2026-11-29T00:00:00", "2026-11-29"),
    ],
)
def test_the_partition_is_the_utc_day(started_at: str, day: str) -> None:
    document = run_document("add:pass")
    files = encode_run(StoredRun(document=replace(document, run=replace(document.run, started_at=started_at))))
    assert [file.path for file in files] == [f"accuracy/date={day}/r1.parquet", f"runs/date={day}/r1.parquet"]


def test_files_are_in_the_order_they_must_appear() -> None:
    assert [file.path.partition("/")[0] for file in encode_run(FULL)] == [
        "accuracy",
        "timings",
        "comparisons",
        "histories",
        "sweeps",
        "calibrations",
        "failures",
        "runs",
    ]


def test_rows_have_no_key_that_is_not_a_column() -> None:
    strays = {
        (table.name, key)
        for table in TABLES
        for row in table.rows(FULL)
        for key in set(row) - {column.name for column in table.columns}
    }
    assert strays == set()


def test_files_carry_version_and_comments(tmp_path: Path) -> None:
    table = TABLES[-1]
    path = tmp_path / "runs.parquet"
    path.write_bytes(encode_rows(table, table.rows(StoredRun(document=run_document("")))))
    metadata = pq.read_metadata(path).metadata
    assert (metadata[b"opsdebug.table"], metadata[b"opsdebug.format_version"]) == (b"runs", b"2")
    columns = json.loads(metadata[b"opsdebug.columns"])
    assert (columns["duration_ns"], columns["cpu"]) == ("wall time [ns]", "CPU model")
    assert pq.read_schema(path).equals(table.schema)
