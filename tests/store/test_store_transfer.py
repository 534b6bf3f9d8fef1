"""Runs brought from one store into another: what goes over, what does not, and who is not believed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from branch_remotes import Forge
from store_documents import CALIBRATION, run_document
from store_packs import TODAY, packed, recorded_anew, sha256_of, single, visible, with_bundle

from opsdebug_ci.errors import StoreError
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.upkeep.transfer import ABSENT, TOO_LARGE, Transfer, transfer
from opsdebug_ci.store.upkeep.verification import verify


@pytest.fixture
def source(tmp_path: Path) -> BaselineStore:
    """A store with two runs, one of which names a bundle."""
    store = open_store(tmp_path / "source")
    store.append(run_document("add:pass", "first", day="2026-11-28"))
    run, data = with_bundle(run_document("add:pass gelu:fail/f1", "second"), "second", "gelu")
    store.append(run, [CALIBRATION], bundles=[data])
    return store


@pytest.fixture
def target(tmp_path: Path) -> BaselineStore:
    return open_store(tmp_path / "target")


def test_runs_go_over_whole_with_their_bundles(source: BaselineStore, target: BaselineStore, tmp_path: Path) -> None:
    assert transfer(source, target) == Transfer(runs=2, known=0, unmerged=0, bundles=1, faults=())
    assert [target.stored(run) for run in ("first", "second")] == [source.stored(run) for run in ("first", "second")]
    assert target.bundles() == (sha256_of("second"),)
    assert verify(target.backend, today=TODAY).remarks == ()
    assert transfer(source, target) == Transfer(runs=0, known=2, unmerged=0, bundles=0, faults=())
    target.append(run_document("add:pass", "its-own"))
    assert transfer(target, source).runs == 1
    assert visible(tmp_path / "source") == visible(tmp_path / "target")


def test_packed_runs_go_over_and_are_known_there(source: BaselineStore, target: BaselineStore, tmp_path: Path) -> None:
    before = visible(tmp_path / "source")
    packed(source.backend)
    assert transfer(source, target).runs == 2
    assert visible(tmp_path / "target") == before
    packed(target.backend)
    assert transfer(source, target).known == 2


def test_a_run_that_is_there_with_other_rows_stays(source: BaselineStore, target: BaselineStore) -> None:
    target.append(run_document("mul:pass mul:pass", "first"))
    assert transfer(source, target).runs == 1
    assert target.load("first") == run_document("mul:pass mul:pass", "first")


@pytest.mark.parametrize(
    "facts",
    [{"event": "pull_request", "pull_request": 7}, {"event": "pull_request_target"}, {"event": "merge_group"}],
)
def test_runs_that_are_not_merged_stay_where_they_are(
    facts: dict[str, object], source: BaselineStore, target: BaselineStore
) -> None:
    source.append(run_document("add:pass", "change", **facts))
    found = transfer(source, target)
    assert (found.runs, found.unmerged) == (2, 1)
    with pytest.raises(StoreError, match="no run `change`"):
        target.load("change")


def test_acceptances_are_not_sent(source: BaselineStore, target: BaselineStore, tmp_path: Path) -> None:
    source.accept(
        Acceptance(
            id="a1",
            fingerprint="f1",
            commit="",
            accepted_by="somebody",
            accepted_at="2026-11-29T10:00:00+00:00",
            reason="known",
        )
    )
    assert transfer(source, target).runs == 2
    assert not (tmp_path / "target" / "acceptances").exists()


def lacking(root: Path) -> None:
    single(root, "accuracy", "second").unlink()


def cut(root: Path) -> None:
    path = single(root, "accuracy", "second")
    path.write_bytes(path.read_bytes()[:-1])


def linked(root: Path) -> None:
    path = single(root, "accuracy", "second")
    path.rename(root.parent / "elsewhere")
    path.symlink_to(root.parent / "elsewhere")


def newer(root: Path) -> None:
    path = single(root, "accuracy", "second")
    rows = pq.ParquetFile(path).read().replace_schema_metadata()
    pq.write_table(rows.append_column("future", pa.array([1, 2])), path)
    recorded_anew(root, "second", "accuracy")


def impossible(root: Path) -> None:
    path = single(root, "accuracy", "second")
    rows = pq.ParquetFile(path).read().replace_schema_metadata()
    place = rows.schema.get_field_index("verdict")
    pq.write_table(rows.set_column(place, "verdict", pa.array(["splendid"] * 2)), path)
    recorded_anew(root, "second", "accuracy")


def timeless(root: Path) -> None:
    path = single(root, "runs", "second")
    rows = pq.ParquetFile(path).read().replace_schema_metadata()
    place = rows.schema.get_field_index("started_at_text")
    pq.write_table(rows.set_column(place, "started_at_text", pa.array(["0001-01-01T00:00:00+14:00"])), path)


@pytest.mark.parametrize("harm", [lacking, cut, linked, newer, impossible, timeless])
def test_a_run_that_is_not_whole_is_left_out_and_told(
    harm: Callable[[Path], None], source: BaselineStore, target: BaselineStore, tmp_path: Path
) -> None:
    harm(tmp_path / "source")
    found = transfer(source, target)
    assert (found.runs, found.known, found.unmerged) == (1, 0, 0)
    assert any("second" in fault.path for fault in found.faults)
    assert {row[0] for row in visible(tmp_path / "target")} == {"first"}
    assert verify(target.backend, today=TODAY).remarks == ()


def test_links_and_strange_names_lead_nowhere(source: BaselineStore, target: BaselineStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (tmp_path / "source" / "bundles" / "ab").mkdir(parents=True)
    (tmp_path / "source" / "bundles" / "ab" / f"{'ab' * 32}.opsbundle").symlink_to(secret)
    (tmp_path / "source" / "runs" / "date=2026-11-30").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "source" / "pipe")
    run = run_document("gelu:fail/f1", "third")
    source.append(replace(run, observations=(replace(run.observations[0], bundle="ab" * 32),)))
    found = transfer(source, target)
    assert found.runs == 3
    assert target.bundles() == (sha256_of("second"),)
    assert not [path for path in (tmp_path / "target").rglob("*") if path.is_file() and path.read_bytes() == b"secret"]


def test_a_damaged_bundle_is_left_out_and_its_row_says_so(
    source: BaselineStore, target: BaselineStore, tmp_path: Path
) -> None:
    sha256 = sha256_of("second")
    (tmp_path / "source" / "bundles" / sha256[:2] / f"{sha256}.opsbundle").write_bytes(b"damaged")
    found = transfer(source, target)
    assert (found.runs, found.bundles, len(found.faults)) == (2, 0, 1)
    assert target.stored("second").bundles_elsewhere[sha256].startswith("it was damaged in the store")
    assert verify(target.backend, today=TODAY).damage == 0


def test_a_bundle_that_a_branch_does_not_take_is_told_where_it_is(source: BaselineStore, tmp_path: Path) -> None:
    run, data = with_bundle(run_document("gelu:fail/f1", "large"), "x" * 200_000)
    source.append(run, bundles=[data])
    (tmp_path / "forge").mkdir()
    target = BaselineStore(Forge(tmp_path / "forge").backend())
    found = transfer(source, target)
    assert (found.runs, found.faults, target.bundles()) == (3, (), (sha256_of("second"),))
    assert target.stored("large").bundles_elsewhere == {sha256_of("x" * 200_000): TOO_LARGE}


def test_what_is_no_store_is_refused(target: BaselineStore, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(StoreError, match="nothing was stored in this directory yet"):
        transfer(open_store(tmp_path / "nothing"), target)


def test_who_sends_hears_of_every_run(source: BaselineStore, target: BaselineStore) -> None:
    heard: list[tuple[str, int, int]] = []
    transfer(source, target, lambda *said: heard.append(said))
    assert heard == [("runs sent", 1, 2), ("runs sent", 2, 2)]


def test_bundles_that_are_not_there_are_counted_and_no_damage_of_the_target(
    source: BaselineStore, target: BaselineStore, tmp_path: Path
) -> None:
    [bundle] = (tmp_path / "source" / "bundles").glob("*/*.opsbundle")
    bundle.unlink()
    assert transfer(source, target) == Transfer(runs=2, known=0, unmerged=0, bundles=0, absent=1, faults=())
    assert target.stored("second").bundles_elsewhere == {sha256_of("second"): ABSENT}
    assert verify(target.backend, today=TODAY).remarks == ()
