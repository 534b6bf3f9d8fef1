"""Which runs and bundles may go, and which stay whatever the limits say."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from store_documents import MACHINE, run_document
from store_packs import filled, sha256_of, single, with_bundle

from opsdebug_ci.model import Cause, Group, Stage
from opsdebug_ci.store.files.layout import read_bundle_path
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.upkeep.retention import Limits, Retention, StoredSize, beyond, retention

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)

DAY = timedelta(days=1)


def stored(notation: str) -> list[StoredSize]:
    """Runs `a`, `b`, ... from `age:size`, `*` behind those that are needed: `9d:100* 2d:50`."""
    found = []
    for name, word in zip("abcdefgh", notation.split(), strict=False):
        age, _, size = word.rstrip("*").partition(":")
        at = NOW - float(age[:-1]) * DAY
        found.append(StoredSize(run_id=name, started_at=at, size_bytes=int(size), needed=word.endswith("*")))
    return found


@pytest.mark.parametrize(
    ("notation", "limits", "gone", "needed"),
    [
        ("9d:1 2d:1", Limits(), "", ""),
        ("9d:1 2d:1", Limits(older_than=9 * DAY), "", ""),
        ("9.1d:1 2d:1", Limits(older_than=9 * DAY), "a", ""),
        ("9d:1* 8d:1 2d:1", Limits(older_than=3 * DAY), "b", "a"),
        ("9d:1 8d:1 2d:1", Limits(keep_runs=3), "", ""),
        ("9d:1 8d:1 2d:1", Limits(keep_runs=1), "ab", ""),
        ("9d:1* 8d:1 2d:1", Limits(keep_runs=1), "b", "a"),
        ("9d:10 8d:10 2d:10", Limits(most_bytes=30), "", ""),
        ("9d:10 8d:10 2d:10", Limits(most_bytes=29), "a", ""),
        ("9d:10 8d:10 2d:10", Limits(most_bytes=10), "ab", ""),
        ("9d:10* 8d:10 2d:10", Limits(most_bytes=20), "b", "a"),
        ("9d:10 8d:10* 2d:10*", Limits(most_bytes=0), "a", "bc"),
        ("9d:10 8d:10 2d:10", Limits(older_than=8.5 * DAY, keep_runs=2, most_bytes=15), "ab", ""),
        ("", Limits(keep_runs=1), "", ""),
    ],
)
def test_limits_let_the_oldest_go(notation: str, limits: Limits, gone: str, needed: str) -> None:
    assert beyond(stored(notation), limits, NOW) == Retention(runs=tuple(gone), needed=tuple(needed))


def test_what_lies_beside_the_runs_counts_for_the_size_and_stays() -> None:
    assert beyond(stored("9d:10 8d:10"), Limits(most_bytes=20), NOW, other_bytes=10).runs == ("a",)
    assert beyond(stored("9d:10 8d:10"), Limits(most_bytes=5), NOW, other_bytes=10).runs == ("a", "b")


def retained(root: Path, limits: Limits) -> Retention:
    sizes = {
        sha256: entry.size_bytes
        for entry in open_store(root).backend.entries()
        if (sha256 := read_bundle_path(entry.path)) is not None
    }
    return retention(root, limits, NOW, sizes)


def test_of_every_stage_and_machine_the_newest_stays(tmp_path: Path) -> None:
    other = replace(MACHINE, key="m2")
    filled(
        open_store(tmp_path).backend,
        [
            run_document("add:pass", "m2-smoke", day="2026-01-01", machine=other),
            run_document("add:pass", "m1-full", day="2026-01-02", stage=Stage.FULL),
            run_document("add:pass", "m1-smoke-old", day="2026-01-03"),
            run_document("add:pass", "m1-smoke", day="2026-01-04"),
        ],
    )
    found = retained(tmp_path, Limits(older_than=DAY))
    assert found == Retention(runs=("m1-smoke-old",), needed=("m2-smoke", "m1-full", "m1-smoke"))
    assert retained(tmp_path, Limits(keep_runs=4)) == Retention()


def test_a_lower_attempt_is_never_the_newest(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for attempt in (2, 1):
        store.append(run_document("add:pass", f"try{attempt}", day="2026-01-01", key="o/r/1/t/smoke", attempt=attempt))
    assert retained(tmp_path, Limits(older_than=DAY)) == Retention(runs=("try1",), needed=("try2",))


def test_an_open_cause_keeps_its_newest_run_and_bundle(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name, day, fingerprint in (("a-old", "01-01", "f1"), ("b-new", "01-02", "f1"), ("gone", "01-03", "f2")):
        operator = "gelu" if fingerprint == "f1" else "mul"
        run, data = with_bundle(run_document(f"{operator}:fail/{fingerprint}", name, day=f"2026-{day}"), name)
        store.append(run, bundles=[data])
    store.append(run_document("mul:pass", "healed", day="2026-01-04"))
    store.put_bundle(b"of nobody's run")
    found = retained(tmp_path, Limits(older_than=DAY))
    assert (found.runs, found.needed) == (("a-old", "gone"), ("b-new", "healed"))
    assert found.bundles == tuple(sorted([sha256_of("a-old"), sha256_of("gone")]))


def test_a_bundle_that_a_run_that_stays_names_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name, day in (("first", "01-01"), ("second", "01-02")):
        run, data = with_bundle(run_document("gelu:fail/f1", name, day=f"2026-{day}"), "the same")
        store.append(run, bundles=[data])
    store.append(run_document("gelu:pass", "healed", day="2026-01-03"))
    assert retained(tmp_path, Limits(keep_runs=2)) == Retention(runs=("first",))
    assert retained(tmp_path, Limits(keep_runs=1)) == Retention(
        runs=("first", "second"), bundles=(sha256_of("the same"),)
    )


def test_bundles_count_for_the_size_with_the_newest_run_that_names_them(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name, day in (("first", "01-01"), ("second", "01-02")):
        run, data = with_bundle(run_document("gelu:fail/f1", name, day=f"2026-{day}"), "x" * 10**6)
        store.append(run, bundles=[data])
    store.append(run_document("gelu:pass", "healed", day="2026-01-03"))
    assert retained(tmp_path, Limits(most_bytes=10 * 10**6)).runs == ("first", "second")
    assert retained(tmp_path, Limits(most_bytes=11 * 10**6)).runs == ()


def test_while_it_cannot_be_told_what_a_run_names_no_bundle_goes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name, day in (("first", "01-01"), ("second", "01-02")):
        run, data = with_bundle(run_document("gelu:fail/f1", name, day=f"2026-{day}"), "the same")
        store.append(run, bundles=[data])
    store.append(run_document("gelu:pass", "healed", day="2026-01-03"))
    single(tmp_path, "failures", "second").write_bytes(b"nothing")
    found = retained(tmp_path, Limits(keep_runs=2))
    assert (found.runs, found.bundles) == (("first",), ())
    assert [fault.path for fault in found.faults] == ["failures/date=2026-01-02/second.parquet"]


def test_groups_name_bundles_too(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    sha256 = store.put_bundle(b"of the smallest case")
    for name, day in (("first", "01-01"), ("second", "01-02")):
        run = run_document("gelu:fail/f1", name, day=f"2026-{day}")
        group = Group(
            fingerprint="f1",
            cause=Cause.UNKNOWN,
            operator="gelu",
            count=1,
            cases=("gelu-0",),
            statement="wrong",
            bundle=sha256,
        )
        store.append(replace(run, summary=replace(run.summary, groups=(group,))))
    assert retained(tmp_path, Limits(keep_runs=1)) == Retention(runs=("first",))
    store.append(run_document("gelu:pass", "healed", day="2026-01-03"))
    assert retained(tmp_path, Limits(keep_runs=1)) == Retention(runs=("first", "second"), bundles=(sha256,))
