"""Small files stay open between two questions of one process, and no answer is of yesterday for it."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from store_documents import run_document

from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.files.contents import LiveFile, PackHead
from opsdebug_ci.store.files.encoding import encode_run, encode_table, facts_of, file_of
from opsdebug_ci.store.files.heads import FileFault, head_metadata
from opsdebug_ci.store.files.kept_files import KeptFiles
from opsdebug_ci.store.files.layout import TablePath
from opsdebug_ci.store.files.table_file import Expected, OpenedFile, TableReader
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.tables import accuracy, runs
from opsdebug_ci.store.upkeep.verification import verify

COUNT = "select count(distinct run_id) from accuracy"


def test_the_next_question_sees_what_came_went_and_broke(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for run_id in ("r1", "r2"):
        store.append(run_document("add:pass", run_id))
    assert query(tmp_path, COUNT).rows == ((2,),)
    store.append(run_document("add:pass", "r3"))
    assert query(tmp_path, COUNT).rows == ((3,),)
    (tmp_path / "runs" / "date=2026-11-29" / "r1.parquet").unlink()
    assert query(tmp_path, COUNT).rows == ((2,),)
    path = tmp_path / "accuracy" / "date=2026-11-29" / "r2.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    answer = query(tmp_path, COUNT)
    assert (answer.rows, [fault.path for fault in answer.faults]) == (((1,),), ["accuracy/date=2026-11-29/r2.parquet"])
    path.write_bytes(data)
    assert (query(tmp_path, COUNT).rows, query(tmp_path, COUNT).faults) == (((2,),), ())


def test_a_file_is_read_once_until_there_is_no_room(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    files = []
    for run_id in ("r1", "r2"):
        store.append(run_document("add:pass", run_id))
        files.append(LiveFile(path=TablePath(table="accuracy", day="2026-11-29", name=run_id)))
    sizes = [(tmp_path / str(file.path)).stat().st_size for file in files]
    reader = TableReader(tmp_path, accuracy.TABLE)

    def opened(kept: KeptFiles, file: LiveFile) -> object:
        found = kept.open(reader, tmp_path, file, Expected())
        assert isinstance(found, OpenedFile)
        return found.fragment

    roomy, narrow = KeptFiles(sum(sizes)), KeptFiles(max(sizes))
    first = [opened(roomy, file) for file in files]
    assert [opened(roomy, file) for file in files] == first
    assert all(opened(roomy, file) is one for file, one in zip(files, first, strict=True))
    alone = opened(narrow, files[0])
    assert opened(narrow, files[0]) is alone
    opened(narrow, files[1])
    assert opened(narrow, files[0]) is not alone


def test_what_is_expected_of_a_file_is_asked_again(tmp_path: Path) -> None:
    open_store(tmp_path).append(run_document("add:pass"))
    file = LiveFile(path=TablePath(table="accuracy", day="2026-11-29", name="r1"))
    kept, reader = KeptFiles(), TableReader(tmp_path, accuracy.TABLE)
    assert isinstance(kept.open(reader, tmp_path, file, Expected(runs=frozenset(["r1"]))), OpenedFile)
    assert isinstance(kept.open(reader, tmp_path, file, Expected(runs=frozenset(["r2"]))), FileFault)


def test_a_strange_row_in_a_pack_is_for_verify_to_find(tmp_path: Path) -> None:
    files = {run_id: encode_run(StoredRun(document=run_document("add:pass", run_id))) for run_id in ("r1", "r2")}
    tables = {
        (run_id, file.path.split("/")[0]): pq.ParquetFile(io.BytesIO(file.data)).read()
        for run_id, of_run in files.items()
        for file in of_run
    }
    rows = pa.concat_tables([tables["r1", "accuracy"], tables["r2", "accuracy"]])
    data = encode_table(accuracy.TABLE, rows.cast(accuracy.TABLE.schema))
    facts = facts_of(accuracy.TABLE, data, rows.num_rows)
    head = PackHead(name="pack-1", runs=frozenset(["r1"]), replaces=frozenset(), files=(facts,))
    root = encode_table(runs.TABLE, tables["r1", "runs"].cast(runs.TABLE.schema), head_metadata(head))
    backend = open_store(tmp_path).backend
    backend.add(
        [file_of(accuracy.TABLE, "2026-11-01", "pack-1", data), file_of(runs.TABLE, "2026-11-01", "pack-1", root)]
    )
    answer = query(tmp_path, "select run_id from accuracy")
    assert (answer.rows, answer.faults) == ((("r1",),), ())
    assert "holds rows of run `r2`" in verify(backend, today=date(2026, 12, 1)).text
