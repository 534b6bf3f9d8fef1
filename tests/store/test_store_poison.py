"""A poisoned store: what is wrong is named and left out, the rest answers, and nothing outside is touched."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_documents import run_document

from opsdebug_ci.store.files.contents import PackHead
from opsdebug_ci.store.files.dataset import store_rows
from opsdebug_ci.store.files.encoding import encode_rows, encode_table, facts_of, file_of
from opsdebug_ci.store.files.heads import head_metadata
from opsdebug_ci.store.files.inventory import take_inventory
from opsdebug_ci.store.files.soundness import MOST_GROUP_BYTES, MOST_GROUP_ROWS, MOST_GROUPS, footer_fault, schema_fault
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.tables import accuracy, runs
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact
from opsdebug_ci.store.upkeep.verification import Severity, verify

TODAY = date(2026, 11, 30)
DAY = "date=2026-11-29"
ACCURACY = f"accuracy/{DAY}/r2.parquet"
RUNS = f"runs/{DAY}/r2.parquet"


def filled(root: Path) -> Path:
    """Three runs of two cases each."""
    for run_id in ("r1", "r2", "r3"):
        open_store(root).append(run_document("add:pass gelu:fail/f1", run_id, commit=run_id))
    return root


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write a file anew as an older program would: it says nothing of what its pages hash to."""
    changed = change(pq.ParquetFile(path).read()).replace_schema_metadata()
    pq.write_table(changed, path, store_schema=False, write_page_checksum=True)


def unrecorded(root: Path, run_id: str = "r2") -> None:
    """Make a run one of format 1, of which no file was recorded."""
    rewritten(root / f"runs/{DAY}/{run_id}.parquet", lambda rows: rows.drop_columns(["files"]))


def flipped(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x55
    path.write_bytes(data)


def in_column(path: Path, column: str) -> int:
    """A byte in the middle of the pages of a column."""
    group = pq.read_metadata(path).row_group(0)
    chunk = next(
        group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema.split(".")[0] == column
    )
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    return int(start + chunk.total_compressed_size - 3)


def set_column(name: str, values: pa.Array) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.set_column(rows.schema.get_field_index(name), name, values)


def _magic(root: Path) -> None:
    (root / ACCURACY).write_bytes(b"not parquet at all")


def _magic_of_runs(root: Path) -> None:
    (root / RUNS).write_bytes(b"not parquet at all")


def _truncated(root: Path) -> None:
    unrecorded(root)
    (root / ACCURACY).write_bytes((root / ACCURACY).read_bytes()[:-100])


def _empty(root: Path) -> None:
    (root / RUNS).write_bytes(b"")


def _page(root: Path) -> None:
    flipped(root / RUNS, in_column(root / RUNS, "cpu"))


def _page_without_hash(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, lambda rows: rows)
    flipped(root / ACCURACY, in_column(root / ACCURACY, "run_id"))


def _same_size(root: Path) -> None:
    flipped(root / ACCURACY, 200)


def _another_size(root: Path) -> None:
    (root / ACCURACY).write_bytes((root / ACCURACY).read_bytes() + b"PAR1")


def _another_sound_file(root: Path) -> None:
    rows = pq.ParquetFile(root / ACCURACY).read().slice(0, 1).to_pylist()
    (root / ACCURACY).write_bytes(encode_rows(accuracy.TABLE, rows))


def _gone(root: Path) -> None:
    (root / ACCURACY).unlink()


def _unlisted(root: Path) -> None:
    (root / f"sweeps/{DAY}").mkdir(parents=True)
    (root / f"sweeps/{DAY}/r2.parquet").write_bytes((root / ACCURACY).read_bytes())


def _without_run_id(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, lambda rows: rows.drop_columns(["run_id"]))


def _of_another_type(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, set_column("compared", pa.array(["a", "b"])))


def _of_another_nested_type(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, set_column("dims", pa.array([["B"], ["S"]])))


def _of_another_run(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, set_column("run_id", pa.array(["r2", "r1"])))


def _with_no_run(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, set_column("run_id", pa.array(["r2", None])))


def _under_anothers_name(root: Path) -> None:
    (root / RUNS).write_bytes((root / f"runs/{DAY}/r1.parquet").read_bytes())


def _of_two_runs(root: Path) -> None:
    rewritten(root / RUNS, lambda rows: pa.concat_tables([rows, rows]))


def _on_another_day(root: Path) -> None:
    other = root / "accuracy/date=2026-11-28/r2.parquet"
    other.parent.mkdir()
    other.write_bytes((root / ACCURACY).read_bytes())


def _run_on_another_day(root: Path) -> None:
    other = root / "runs/date=2026-11-28/r2.parquet"
    other.parent.mkdir()
    other.write_bytes((root / RUNS).read_bytes())


def _linked(root: Path) -> None:
    outside = root.parent / "outside.parquet"
    (root / ACCURACY).rename(outside)
    (root / ACCURACY).symlink_to(outside)


def _recorded_as_nothing(root: Path) -> None:
    nothing = {"table": "accuracy", "sha256": None, "size_bytes": None, "rows": None}
    (row,) = pq.ParquetFile(root / RUNS).read().to_pylist()
    (root / RUNS).write_bytes(encode_rows(runs.TABLE, [{**row, "files": [nothing]}]))
    (root / f"failures/{DAY}/r2.parquet").unlink()


def _length_of_footer(root: Path) -> None:
    unrecorded(root)
    data = (root / ACCURACY).read_bytes()
    (root / ACCURACY).write_bytes(data[:-8] + struct.pack("<I", 0x7FFFFFF0) + data[-4:])


BAD_ACCURACY = [
    pytest.param(_magic, "bytes; .* are recorded", id="no Parquet"),
    pytest.param(_truncated, "is not Parquet that can be read", id="a truncated footer"),
    pytest.param(
        _length_of_footer, "is not Parquet that can be read|cannot be read", id="a footer longer than the file"
    ),
    pytest.param(_page_without_hash, "cannot be read: .*CRC checksum", id="a damaged page of an older program"),
    pytest.param(_same_size, "has sha256 `.*` is recorded", id="a flipped bit"),
    pytest.param(_another_size, "has [0-9,]+ bytes; [0-9,]+ are recorded", id="another size"),
    pytest.param(_another_sound_file, "are recorded", id="a sound file with fewer rows"),
    pytest.param(_gone, "is recorded, and is not there", id="no file"),
    pytest.param(_without_run_id, "lacks column `run_id`", id="no run_id"),
    pytest.param(_of_another_type, "has `string` in column `compared`; wanted `int64`", id="another type"),
    pytest.param(_of_another_nested_type, "in column `dims`; wanted `map", id="another nested type"),
    pytest.param(_of_another_run, "holds rows of run `r1`; wanted those of `r2`", id="rows of another run"),
    pytest.param(_with_no_run, "holds rows of run `None`", id="rows of no run"),
    pytest.param(_linked, "is recorded, and is not there|is a link", id="a link"),
    pytest.param(_recorded_as_nothing, "has [0-9,]+ bytes; -1 are recorded", id="nothing recorded"),
]
"""Ways to poison the file of r2 in table `accuracy`, and what is said of it."""

BAD_RUNS = [
    pytest.param(_magic_of_runs, "is not Parquet that can be read", id="no Parquet"),
    pytest.param(_empty, "is not Parquet that can be read", id="nothing"),
    pytest.param(_page, "has pages of sha256 .*, which is not what it says of itself", id="a damaged page"),
    pytest.param(_under_anothers_name, "holds rows of run `r1`; wanted those of `r2`", id="another's id"),
    pytest.param(_of_two_runs, "holds 2 rows; wanted one of each of `r2`", id="two rows"),
]
"""Ways to poison the file of r2 in table `runs`."""


@pytest.mark.parametrize(("poison", "found"), BAD_ACCURACY)
def test_a_bad_file_is_named_and_left_out(tmp_path: Path, poison: Callable[[Path], None], found: str) -> None:
    root = filled(tmp_path / "s")
    poison(root)
    answer = query(root, "select * from accuracy order by run_id")
    assert [row[0] for row in answer.rows] == ["r1", "r1", "r3", "r3"]
    assert {fault.path for fault in answer.faults} == {ACCURACY}
    assert any(re.search(found, fault.found) for fault in answer.faults), answer.faults
    alone = query(root, "select id from runs order by 1")
    assert (alone.rows, alone.faults) == ((("r1",), ("r2",), ("r3",)), ())
    damaged = {remark.path for remark in verify(open_store(root).backend, today=TODAY).remarks}
    assert ACCURACY in damaged


@pytest.mark.parametrize(("poison", "found"), BAD_RUNS)
def test_a_run_whose_own_file_is_bad_is_named_and_left_out(
    tmp_path: Path, poison: Callable[[Path], None], found: str
) -> None:
    root = filled(tmp_path / "s")
    poison(root)
    answer = query(root, "select run_id from accuracy order by 1")
    assert [row[0] for row in answer.rows] == ["r1", "r1", "r3", "r3"]
    assert [fault.path for fault in answer.faults] == [RUNS]
    assert re.search(found, answer.faults[0].found), answer.faults
    assert query(root, "select id from runs order by 1").rows == (("r1",), ("r3",))
    verified = verify(open_store(root).backend, today=TODAY)
    assert (verified.exit_code, verified.runs) == (1, 2)


@pytest.mark.parametrize("poison", [_on_another_day, _run_on_another_day])
def test_a_copy_in_the_directory_of_another_day_counts_once(tmp_path: Path, poison: Callable[[Path], None]) -> None:
    root = filled(tmp_path / "s")
    poison(root)
    answer = query(root, "select run_id from accuracy order by 1")
    assert [row[0] for row in answer.rows] == ["r1", "r1", "r2", "r2", "r3", "r3"]
    (fault,) = answer.faults
    assert "date=2026-11-28" in fault.path
    assert "director" in fault.found


def _unchanged(root: Path) -> None:
    assert (root / RUNS).is_file()


def _older(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, lambda rows: rows)


def _older_in_several_groups(root: Path) -> None:
    unrecorded(root)
    rows = pq.ParquetFile(root / ACCURACY).read().replace_schema_metadata()
    pq.write_table(rows, root / ACCURACY, store_schema=False, row_group_size=1)


def _more_columns(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, lambda rows: rows.append_column("etc", pa.array(["/etc/passwd", "/etc/shadow"])))


def _fewer_columns(root: Path) -> None:
    unrecorded(root)
    rewritten(root / ACCURACY, lambda rows: rows.drop_columns(["bound", "worst", "dims"]))


def _unfinished(root: Path) -> None:
    (root / f"accuracy/{DAY}/r4.parquet").write_bytes(b"half a fi")


def _foreign(root: Path) -> None:
    (root / "accuracy" / "notes.csv").write_text("a,b")
    (root / "README.md").write_text("what this is")


@pytest.mark.parametrize(
    "change",
    [_unchanged, _older, _older_in_several_groups, _more_columns, _fewer_columns, _unfinished, _foreign],
)
def test_what_is_sound_or_never_read_is_no_fault(tmp_path: Path, change: Callable[[Path], None]) -> None:
    root = filled(tmp_path / "s")
    change(root)
    answer = query(root, "select run_id from accuracy order by 1")
    assert [row[0] for row in answer.rows] == ["r1", "r1", "r2", "r2", "r3", "r3"]
    assert [fault for fault in answer.faults if fault.path != "accuracy/notes.csv"] == []
    verified = verify(open_store(root).backend, today=TODAY)
    assert (verified.exit_code, verified.runs) == (0, 3), verified.text


def test_verify_says_what_it_found_and_what_to_do(tmp_path: Path) -> None:
    root = filled(tmp_path / "s")
    assert verify(open_store(root).backend, today=TODAY).text == (
        f"store {root} is whole: 3 runs, 12 rows in 9 files, 0 bundles"
    )
    _same_size(root)
    _unfinished(root)
    said = verify(open_store(root).backend, today=date(2200, 1, 1))
    assert [(remark.severity, remark.path) for remark in said.remarks] == [
        (Severity.DAMAGED, ACCURACY),
        (Severity.LEFTOVER, f"accuracy/{DAY}/r4.parquet"),
    ]
    assert "is damaged in 1 place" in said.text
    assert "restore it from a copy" in said.text
    assert "`opsdebug baselines compact` removes it" in said.text


def packed(root: Path) -> tuple[Path, str]:
    """The store with its runs in one pack, and the pack's name."""
    compact(open_store(root).backend, today=TODAY, entropy="e", rules=CompactionRules(fewest=2))
    (name,) = take_inventory(root).contents.heads
    return root, name


def test_a_pack_is_read_and_verified_as_the_runs_it_holds(tmp_path: Path) -> None:
    root, _ = packed(filled(tmp_path / "s"))
    answer = query(root, "select run_id from accuracy order by 1")
    assert [row[0] for row in answer.rows] == ["r1", "r1", "r2", "r2", "r3", "r3"]
    assert answer.faults == ()
    assert verify(open_store(root).backend, today=TODAY).exit_code == 0


def test_a_damaged_pack_is_named(tmp_path: Path) -> None:
    root, name = packed(filled(tmp_path / "s"))
    flipped(root / f"accuracy/date=2026-11-01/{name}.parquet", 200)
    open_store(root).append(run_document("add:pass", "r4"))
    answer = query(root, "select run_id from accuracy")
    assert answer.rows == (("r4",),)
    assert [fault.path for fault in answer.faults] == [f"accuracy/date=2026-11-01/{name}.parquet"]


def hostile_pack(root: Path, rows_of: str, *, head: str = "r5", recorded: int | None = None) -> None:
    """A pack that agrees with itself, made by hand: its head names run `head`, its rows are of `rows_of`."""
    row = pq.ParquetFile(root / RUNS).read().to_pylist()[0]
    cases = pq.ParquetFile(root / ACCURACY).read().to_pylist()
    data = encode_rows(accuracy.TABLE, [{**case, "run_id": rows_of} for case in cases])
    facts = facts_of(accuracy.TABLE, data, len(cases))
    made = PackHead(name="pack-x", runs=frozenset([head]), replaces=frozenset(), files=(facts,))
    claims = [{"table": "accuracy", "sha256": "", "size_bytes": 0, "rows": recorded or len(cases)}]
    ids = pa.Table.from_pylist([{**row, "id": "r5", "files": claims}], schema=runs.TABLE.schema)
    for file in (
        file_of(accuracy.TABLE, "2026-11-01", "pack-x", data),
        file_of(runs.TABLE, "2026-11-01", "pack-x", encode_table(runs.TABLE, ids, head_metadata(made))),
    ):
        (root / file.path).parent.mkdir(exist_ok=True)
        (root / file.path).write_bytes(file.data)


def test_a_pack_that_agrees_with_its_head_counts(tmp_path: Path) -> None:
    root = filled(tmp_path / "s")
    hostile_pack(root, "r5")
    answer = query(root, "select run_id from accuracy order by 1")
    assert [row[0] for row in answer.rows] == ["r1", "r1", "r2", "r2", "r3", "r3", "r5", "r5"]
    assert answer.faults == ()
    assert verify(open_store(root).backend, today=TODAY).exit_code == 0


def test_a_pack_with_rows_of_a_run_that_it_does_not_hold_is_found(tmp_path: Path) -> None:
    # NOTE: by `verify` alone: a query trusts whoever recorded the hash, for to look at every row takes too long.
    root = filled(tmp_path / "s")
    hostile_pack(root, "r1")
    (fault,) = store_rows(root, frozenset({"runs", "accuracy"}), thorough=True).faults
    assert verify(open_store(root).backend, today=TODAY).exit_code == 1
    assert (fault.path, fault.found) == (
        "accuracy/date=2026-11-01/pack-x.parquet",
        "holds rows of run `r1`; wanted those of `r5`",
    )


def test_a_pack_whose_runs_are_not_those_of_its_head_is_left_out(tmp_path: Path) -> None:
    root = filled(tmp_path / "s")
    hostile_pack(root, "r6", head="r6")
    answer = query(root, "select id from runs order by 1")
    assert answer.rows == (("r1",), ("r2",), ("r3",))
    assert [fault.path for fault in answer.faults] == ["runs/date=2026-11-01/pack-x.parquet"]


def test_a_row_that_compaction_lost_is_told(tmp_path: Path) -> None:
    root = filled(tmp_path / "s")
    hostile_pack(root, "r5", recorded=3)
    (remark,) = verify(open_store(root).backend, today=TODAY).remarks
    assert (remark.severity, remark.found) == (Severity.DAMAGED, "holds 2 rows of run `r5`; it recorded 3")


def test_bundles_are_hashed_and_those_that_rows_name_are_there(tmp_path: Path) -> None:
    document = run_document("add:fail/f1", "r1")
    sha256 = open_store(tmp_path / "s").put_bundle(b"a bundle")
    (seen,) = document.observations
    open_store(tmp_path / "s").append(replace(document, observations=(replace(seen, bundle=sha256),)))
    backend = open_store(tmp_path / "s").backend
    assert verify(backend, today=TODAY).exit_code == 0
    (path,) = tmp_path.glob("s/bundles/*/*.opsbundle")
    path.write_bytes(b"another")
    (damaged,) = verify(backend, today=TODAY).remarks
    assert damaged.path.endswith(f"{sha256}.opsbundle")
    path.unlink()
    (lacking,) = verify(backend, today=TODAY).remarks
    assert lacking.found == f"names bundle `{sha256}`, which is not in the store"


@dataclass
class Group:
    """A row group as a footer promises it."""

    num_rows: int = 5
    total_byte_size: int = 100


@dataclass
class Footer:
    """A footer that nobody could write."""

    groups: tuple[Group, ...] = (Group(),)
    num_rows: int = 5
    serialized_size: int = 50

    @property
    def num_row_groups(self) -> int:
        return len(self.groups)

    def row_group(self, number: int) -> Group:
        return self.groups[number]


@pytest.mark.parametrize(
    ("footer", "fault"),
    [
        (Footer(), None),
        (Footer(groups=(Group(total_byte_size=MOST_GROUP_BYTES),)), None),
        (Footer(groups=(Group(total_byte_size=MOST_GROUP_BYTES + 1),)), "promises a row group of 2,147,483,649 bytes"),
        (Footer(groups=(Group(total_byte_size=-1),)), "promises a row group of -1 bytes"),
        (Footer(groups=(Group(num_rows=MOST_GROUP_ROWS),), num_rows=MOST_GROUP_ROWS), None),
        (Footer(groups=(Group(num_rows=-5), Group(num_rows=10))), "promises a row group of -5 rows"),
        (Footer(num_rows=6), "promises 6 rows, and 5 in its row groups"),
        (Footer(groups=()), "promises 0 row groups"),
        (Footer(groups=(Group(),) * (MOST_GROUPS + 1)), "promises 32,769 row groups"),
        (Footer(serialized_size=1000), "promises a footer of 1,000 bytes in a file of 1,000"),
    ],
)
def test_a_footer_that_promises_too_much_is_not_followed(footer: Footer, fault: str | None) -> None:
    said = footer_fault(footer, 1000)
    assert said == fault if fault is None else said.startswith(fault)


def test_a_column_that_is_there_twice_is_a_fault() -> None:
    doubled = pa.schema([*accuracy.TABLE.schema, pa.field("kind", pa.string())])
    assert schema_fault(accuracy.TABLE, accuracy.TABLE.schema) is None
    assert schema_fault(accuracy.TABLE, doubled) == "has column `kind` 2 times"


OUTSIDE = """
import os, sys
from pathlib import Path
root, outside = Path(sys.argv[1]).resolve(), []
from opsdebug_ci.store.sql.query import query
import opsdebug_ci.store.files.recall, encodings.idna, pyarrow.vendored.version
query(root, "select * from accuracy")
watched = []
EVENTS = ("open", "os.listdir", "os.scandir", "subprocess.Popen", "socket.connect", "os.rename", "os.remove")
def hook(event, args):
    if event in EVENTS and watched:
        outside.append((event, str(args[0])))
sys.addaudithook(hook)
watched.append(True)
for sql in ("select * from accuracy", "select * from runs", "select * from failures",
            "select * from failure_history", "select * from read_text('/etc/passwd')"):
    try:
        query(root, sql)
    except Exception as error:
        assert "read_text" in sql, error
for path in sys.argv[2:]:
    open(path).close()
watched.clear()
for event, path in outside:
    inside = Path(os.path.realpath(path)).is_relative_to(root) or path.isdigit()
    if not inside and not path.startswith((sys.prefix, sys.base_prefix, "/proc/self", "/sys/fs/cgroup")):
        print(event, path)
print("asked", len(outside) > 20)
"""


def told_of(root: Path, *opened: str) -> str:
    """What Python opened outside the store while it was asked, and these files beside."""
    command = [sys.executable, "-c", OUTSIDE, str(root), *opened]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_nothing_outside_the_store_is_opened(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / DAY).mkdir(parents=True)
    hostile = "x'); create view runs as select * from read_csv('/etc/passwd'); --"
    open_store(tmp_path / "s").append(
        run_document("read_csv('/etc/passwd'):pass /etc/passwd:fail/f1", "r0", branch=hostile, commit="/etc/passwd")
    )
    root = filled(tmp_path / "s")
    _more_columns(root)
    for name in ("timings", "sweeps"):
        (outside / DAY / "r1.parquet").write_bytes((root / ACCURACY).read_bytes())
        (root / name).symlink_to(outside)
    (root / "failures" / "date=2026-11-27").symlink_to(outside / DAY)
    # The last file is opened by the test, to see that it would be told.
    assert told_of(root, "/etc/hosts") == "open /etc/hosts\nasked True\n"
    assert query(root, "select branch from runs where id = 'r0'").rows == ((hostile,),)
    assert [fault.path for fault in query(root, "select * from timings").faults] == ["timings"]
