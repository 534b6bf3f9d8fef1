"""Few files instead of many: no answer changes, nothing that is not understood is touched, nobody is in the way."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from branch_remotes import Forge
from object_servers import Storage
from store_documents import CALIBRATION, full_document, run_document
from store_packs import (
    LATER,
    TODAY,
    TWO,
    Places,
    answers,
    both,
    documents,
    filled,
    packed,
    recorded_anew,
    rewritten,
    single,
    states,
    tables_of,
    visible,
    with_bundle,
)

from opsdebug_ci.errors import StoreUnreachableError
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.files.inventory import take_inventory
from opsdebug_ci.store.files.packing import Selected, pack
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact, files_of_sources
from opsdebug_ci.store.upkeep.verification import verify


@pytest.mark.parametrize("kind", ["directory", "branch", "bucket"])
def test_no_answer_changes_and_few_files_are_left(kind: str, tmp_path: Path, s3: Storage) -> None:
    backend = Places(directory=tmp_path, storage=s3).backend(kind)
    runs = documents("10-01 10-02 11-01 11-02 11-03", "add:pass gelu:fail/f1 mul:skipped")
    with_one, bundle = with_bundle(run_document("add:pass gelu:fail/f1", "named"), "b1", "gelu")
    store = filled(backend, runs)
    store.append(full_document(), [CALIBRATION])
    store.append(with_one, bundles=[bundle])
    before, damage = answers(store.mirror().root), verify(backend, today=TODAY).damage
    done = packed(backend)
    root = store.mirror().root
    assert (done.packs, done.runs, done.faults) == (2, 7, ())
    assert answers(root) == before
    assert [store.load(run.run.id) for run in (*runs, with_one, full_document())] == [*runs, with_one, full_document()]
    assert store.stored("r-full").calibrations == (CALIBRATION,)
    assert {path.rpartition("/")[2] for path in tables_of(root)} == {
        "pack-20261130-aa-0000.parquet",
        "pack-20261130-aa-0001.parquet",
    }
    assert (len(tables_of(root)), done.files_after) == (11, 11)
    assert done.files_before == done.removed
    checked = verify(backend, today=TODAY)
    assert damage == checked.damage == len(checked.remarks) == 1  # the full document names a bundle that nobody has
    again = packed(backend, "bb")
    assert (again.packs, again.removed, again.files_before, again.files_after) == (0, 0, 11, 11)


def test_a_pack_grows_month_by_month_until_it_is_large(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02"))
    packed(store.backend, "aa")
    store.append_all([run_document("add:pass", f"later{number}") for number in range(2)])
    before = visible(tmp_path)
    assert packed(store.backend, "bb").runs == 4
    assert visible(tmp_path) == before
    [root] = [path for path in tables_of(tmp_path) if path.startswith("runs/")]
    head = take_inventory(tmp_path).contents.heads["pack-20261130-bb-0000"]
    assert root == "runs/date=2026-11-01/pack-20261130-bb-0000.parquet"
    assert (sorted(head.runs), head.replaces) == (
        ["later0", "later1", "r00", "r01"],
        {"pack-20261130-aa-0000"},
    )
    store.append_all([run_document("add:pass", f"last{number}") for number in range(2)])
    weights = Counter({"last0.parquet": 0, "last1.parquet": 0})
    for entry in store.backend.entries():
        weights[entry.path.rpartition("/")[2]] += entry.size_bytes
    # both runs fit into one pack; the pack that is there is larger than half of that
    small = CompactionRules(fewest=2, most_bytes=weights["last0.parquet"] + weights["last1.parquet"] + 1000)
    assert 2 * weights["pack-20261130-bb-0000.parquet"] > small.most_bytes
    assert compact(store.backend, today=TODAY, entropy="cc", rules=small).runs == 2
    assert sorted(take_inventory(tmp_path).contents.heads) == ["pack-20261130-bb-0000", "pack-20261130-cc-0000"]


def test_packs_are_no_larger_than_asked(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents(" ".join(["11-01"] * 6)))
    before = visible(tmp_path)
    sizes = {entry.path.rpartition("/")[2]: 0 for entry in store.backend.entries()}
    for entry in store.backend.entries():
        sizes[entry.path.rpartition("/")[2]] += entry.size_bytes
    two = CompactionRules(fewest=2, most_bytes=2 * sizes["r00.parquet"] + 1000)
    done = compact(store.backend, today=TODAY, entropy="aa", rules=two)
    assert (done.packs, done.runs) == (3, 6)
    assert visible(tmp_path) == before


def test_months_with_few_runs_are_left_alone(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("10-01 11-01 11-02"))
    done = compact(store.backend, today=TODAY, entropy="aa", rules=CompactionRules(fewest=3))
    assert (done.packs, done.removed, len(tables_of(tmp_path))) == (0, 0, 9)


def test_lower_attempts_are_packed_and_stay_out_of_sight(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for attempt in (1, 2):
        store.append(run_document("add:pass", f"try{attempt}", key="o/r/1/test/smoke", attempt=attempt))
    assert packed(store.backend).runs == 2
    assert query(tmp_path, "select id from runs").rows == (("try2",),)
    assert query(tmp_path, "select id from runs_files order by id").rows == (("try1",), ("try2",))


def test_acceptances_stay_as_they_are(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02"))
    store.accept(
        Acceptance(
            id="r00",  # which is that of a run, too
            fingerprint="f1",
            commit="",
            accepted_by="somebody",
            accepted_at="2026-11-29T10:00:00+00:00",
            reason="known",
        )
    )
    before, data = visible(tmp_path), single(tmp_path, "acceptances", "r00").read_bytes()
    assert packed(store.backend).runs == 2
    assert single(tmp_path, "acceptances", "r00").read_bytes() == data
    assert visible(tmp_path) == before


def test_a_store_of_the_first_version_is_packed_and_becomes_one_of_ours(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent / "versions" / "1" / "store", tmp_path / "s")
    store = open_store(tmp_path / "s")
    before = answers(tmp_path / "s")
    assert '"format_version": 1' in (tmp_path / "s" / "opsdebug-store.json").read_text()
    assert (packed(store.backend).runs, packed(store.backend, "bb").runs) == (2, 0)
    assert answers(tmp_path / "s") == before
    assert '"format_version": 2' in (tmp_path / "s" / "opsdebug-store.json").read_text()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda root: cut(single(root, "accuracy", "r01")), "accuracy/date=2026-11-02/r01.parquet"),
    "flipped": (lambda root: flip(single(root, "failures", "r01")), "failures/date=2026-11-02/r01.parquet"),
    "gone": (lambda root: single(root, "accuracy", "r01").unlink(), "runs/date=2026-11-02/r01.parquet"),
    "of another run": (
        lambda root: shutil.copy(single(root, "runs", "r02"), single(root, "runs", "r01")),
        "runs/date=2026-11-02/r01.parquet",
    ),
    "unrecorded": (
        lambda root: shutil.copy(single(root, "accuracy", "r01"), placed(root, "timings", "2026-11-02")),
        "timings/date=2026-11-02/r01.parquet",
    ),
    "misplaced": (
        lambda root: single(root, "accuracy", "r01").rename(placed(root, "accuracy", "2026-11-03")),
        "accuracy/date=2026-11-03/r01.parquet",
    ),
    "there twice": (
        lambda root: shutil.copy(single(root, "runs", "r01"), placed(root, "runs", "2026-11-03")),
        "runs/date=2026-11-03/r01.parquet",
    ),
}


def placed(root: Path, table: str, day: str) -> Path:
    (root / table / f"date={day}").mkdir(parents=True, exist_ok=True)
    return root / table / f"date={day}" / "r01.parquet"


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_run_that_is_not_whole_stays_as_it_is_and_is_told(damage: str, tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02 11-03"))
    harm, path = DAMAGE[damage]
    harm(tmp_path)
    of_it = {path: (tmp_path / path).read_bytes() for path in tables_of(tmp_path) if path.endswith("r01.parquet")}
    before = visible(tmp_path)
    done = packed(store.backend)
    assert (done.runs, [fault.path for fault in done.faults]) == (2, [path])
    assert {path: (tmp_path / path).read_bytes() for path in of_it} == of_it
    assert visible(tmp_path) == before
    assert (packed(store.backend, "bb").packs, packed(store.backend, "cc", LATER).packs) == (0, 0)
    assert {path: (tmp_path / path).read_bytes() for path in of_it} == of_it


def test_a_month_of_whole_runs_has_nothing_to_tell(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02 11-03"))
    done = packed(store.backend)
    assert (done.runs, done.faults) == (3, ())


def newer_column(root: Path) -> None:
    rewritten(single(root, "accuracy", "r01"), {"future": pa.array([1, 2])})
    recorded_anew(root, "r01", "accuracy")


def newer_member(root: Path) -> None:
    finding = pa.array([[{"cause": "unknown", "confidence": 0.5, "future": 1}]] * 2)
    path = single(root, "accuracy", "r01")
    rows = (
        pq.ParquetFile(path)
        .read()
        .replace_schema_metadata()
        .drop_columns(["findings"])
        .append_column("findings", finding)
    )
    pq.write_table(rows, path)
    recorded_anew(root, "r01", "accuracy")


def newer_table(root: Path) -> None:
    (root / "future" / "date=2026-11-02").mkdir(parents=True)
    shutil.copy(single(root, "accuracy", "r01"), root / "future" / "date=2026-11-02" / "r01.parquet")
    recorded_anew(root, "r01", "future")


NEWER = {
    newer_column: "accuracy/date=2026-11-02/r01.parquet has `future`, which this program does not know",
    newer_member: "accuracy/date=2026-11-02/r01.parquet has `findings.future`, which this program does not know",
    newer_table: "future/date=2026-11-02/r01.parquet is of a table that this program does not know",
}


@pytest.mark.parametrize("newer", NEWER)
def test_what_only_a_newer_program_knows_is_not_lost(newer: Callable[[Path], None], tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02 11-03"))
    newer(tmp_path)
    of_it = {path: (tmp_path / path).read_bytes() for path in tables_of(tmp_path) if path.endswith("r01.parquet")}
    before = visible(tmp_path)
    done = packed(store.backend)
    assert (done.runs, [f"{fault.path} {fault.found}" for fault in done.faults]) == (2, [NEWER[newer]])
    assert {path: (tmp_path / path).read_bytes() for path in of_it} == of_it
    assert visible(tmp_path) == before


def test_tables_of_a_newer_program_are_never_removed(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02"))
    own = tmp_path / "future" / "date=2026-11-02" / "x.parquet"
    own.parent.mkdir(parents=True)
    shutil.copy(single(tmp_path, "runs", "r00"), own)
    assert (packed(store.backend).runs, packed(store.backend, "bb", LATER).removed) == (2, 0)
    assert own.exists()


def test_what_is_being_written_is_not_taken_for_abandoned(tmp_path: Path) -> None:
    """A run of long ago that is sent here now has its directory's day long behind it."""
    store = filled(open_store(tmp_path).backend, documents("01-10 01-11"))
    single(tmp_path, "runs", "r00").unlink()
    assert packed(store.backend).removed == 0
    assert single(tmp_path, "accuracy", "r00").exists()
    assert packed(store.backend, "bb", LATER).removed == 2
    assert [path for path in tables_of(tmp_path) if "r00" in path] == []


def test_a_pack_that_does_not_say_what_it_holds_is_kept(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("01-10 01-11"))
    packed(store.backend)
    whole = tables_of(tmp_path)
    cut(tmp_path / "runs" / "date=2026-01-01" / "pack-20261130-aa-0000.parquet")
    done = packed(store.backend, "bb", LATER)
    assert (done.removed, [fault.path for fault in done.faults]) == (
        0,
        ["runs/date=2026-01-01/pack-20261130-aa-0000.parquet"],
    )
    assert tables_of(tmp_path) == whole


def test_killed_at_every_step_it_shows_the_same(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02"))
    packed(store.backend, "aa")
    store.append_all([run_document("add:pass gelu:fail/f2", f"s{number}") for number in range(2)])
    before = visible(tmp_path)
    inventory = take_inventory(tmp_path)
    sources = frozenset({"pack-20261130-aa-0000", "s0", "s1"})
    made = pack(inventory, Selected(name="pack-20261130-bb-0000", day="2026-11-01", sources=sources))
    removed = list(files_of_sources(inventory.contents, made.sources))
    seen = []
    for step in states(tmp_path, {file.path: file.data for file in made.files}, removed):
        seen.append(step)
        assert visible(tmp_path) == before, step
    assert len(seen) == 12
    assert packed(store.backend, "cc").packs == 0


@pytest.mark.parametrize("kept", [2, 3, 7, 10])
def test_what_was_left_at_any_step_is_cleared_away(kept: int, tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02"))
    packed(store.backend, "aa")
    store.append_all([run_document("add:pass gelu:fail/f2", f"s{number}") for number in range(2)])
    before, inventory = visible(tmp_path), take_inventory(tmp_path)
    sources = frozenset({"pack-20261130-aa-0000", "s0", "s1"})
    made = pack(inventory, Selected(name="pack-20261130-bb-0000", day="2026-11-01", sources=sources))
    removed = list(files_of_sources(inventory.contents, made.sources))
    for _, step in zip(range(kept), states(tmp_path, {f.path: f.data for f in made.files}, removed), strict=False):
        assert step
    packed(store.backend, "cc")
    packed(store.backend, "dd", LATER)
    assert visible(tmp_path) == before
    assert len(tables_of(tmp_path)) == 3


def test_two_compactions_at_once_double_nothing(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("11-01 11-02 11-03"))
    before = visible(tmp_path)
    both(tmp_path)
    assert visible(tmp_path) == before
    assert packed(store.backend, "cc").packs == 0
    assert visible(tmp_path) == before
    store.append_all([run_document("add:pass", f"s{number}") for number in range(2)])
    before = visible(tmp_path)
    assert packed(store.backend, "dd").runs == 5
    assert (visible(tmp_path), len(tables_of(tmp_path))) == (before, 3)


def test_no_pack_relies_on_another_one_for_its_rows(tmp_path: Path) -> None:
    """Packed anew one by one, each by somebody who has not seen the other's work, neither of two packs loses a run."""
    filled(open_store(tmp_path).backend, documents("11-01 11-02 11-03"))
    before = visible(tmp_path)
    both(tmp_path)
    inventory = take_inventory(tmp_path)
    older, newer = sorted(inventory.contents.heads)
    for source, name in ((newer, "pack-20261130-cc-0000"), (older, "pack-20261130-dd-0000")):
        made = pack(inventory, Selected(name=name, day="2026-11-01", sources=frozenset({source})))
        removed = [path for path in tables_of(tmp_path) if source in path or "/r0" in path]
        assert list(states(tmp_path, {file.path: file.data for file in made.files}, removed))
        assert visible(tmp_path) == before


def test_a_run_that_is_added_again_after_it_was_packed_is_not_doubled(tmp_path: Path) -> None:
    runs = documents("11-01 11-02")
    store = filled(open_store(tmp_path).backend, runs)
    before = visible(tmp_path)
    packed(store.backend)
    store.append(runs[0])
    assert visible(tmp_path) == before
    assert packed(store.backend, "bb").removed == 3
    assert visible(tmp_path) == before


def test_who_compacts_hears_of_every_pack(tmp_path: Path) -> None:
    store = filled(open_store(tmp_path).backend, documents("10-01 10-02 11-01 11-02"))
    heard: list[tuple[str, int, int]] = []
    compact(
        store.backend,
        today=TODAY + timedelta(days=1),
        entropy="aa",
        rules=TWO,
        told=lambda *said: heard.append(said),
    )
    assert heard == [("packs made", 0, 2), ("packs made", 1, 2), ("packs made", 2, 2)]


def test_a_pack_that_is_damaged_takes_nothing_with_it(tmp_path: Path) -> None:
    """Its sources are still there, because whoever made it was killed: they are the only good copy now."""
    runs = documents("11-01 11-02 11-03")
    store = filled(open_store(tmp_path).backend, runs)
    packed(store.backend)
    store.append_all(runs)
    [pack_file] = (tmp_path / "accuracy").glob("date=*/pack-*.parquet")
    data = pack_file.read_bytes()
    pack_file.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    found = packed(store.backend, "bb")
    assert str(pack_file.relative_to(tmp_path)) in [fault.path for fault in found.faults]
    assert [single(tmp_path, "accuracy", f"r0{number}").is_file() for number in range(3)] == [True] * 3
    pack_file.write_bytes(data)
    assert packed(store.backend, "cc").removed == 6 + 3
    assert {row[0] for row in visible(tmp_path)} == {"r00", "r01", "r02"}


def test_nothing_is_chosen_by_a_copy_of_yesterday(tmp_path: Path) -> None:
    forge = Forge(tmp_path)
    store = filled(forge.backend(), documents("11-01 11-02"))
    store.mirror()
    forge.path.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreUnreachableError, match=r"answering from the copy of .*; nothing was changed"):
        packed(store.backend)
