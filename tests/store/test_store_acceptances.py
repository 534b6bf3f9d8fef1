"""Acceptances: what cannot be said, how they lie in a store, and which of them count at a moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_documents import run_document

from opsdebug_ci.errors import InternalError, StoreError
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.files.encoding import encode_acceptance, encode_rows, rows_of
from opsdebug_ci.store.memory.history import (
    acceptances_in_force,
    accepted_commits,
    accepted_fingerprints,
    every_acceptance,
    recorded_operators,
)
from opsdebug_ci.store.memory.series import accepted_levels
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.tables import acceptances

START = datetime(2026, 11, 1, tzinfo=timezone.utc)
PLAIN = Acceptance(
    id="a0",
    fingerprint="v2:f1",
    operator="add",
    commit="c" * 40,
    accepted_by="A. Person <a@example.org>",
    accepted_at=START.isoformat(),
    reason="as the paper has it",
)


def on(day: int) -> str:
    return (START + timedelta(days=day)).isoformat()


def history(words: str) -> tuple[Acceptance, ...]:
    """Acceptances from blank-separated words `day`, `day..last day`, or `day!` for a withdrawal; of one failure."""
    made = []
    for number, word in enumerate(words.split()):
        day, _, end = word.rstrip("!").partition("..")
        until = on(int(end)) if end else on(int(day)) if word.endswith("!") else None
        made.append(replace(PLAIN, id=f"a{number}", accepted_at=on(int(day)), until=until))
    return tuple(made)


def read_back(acceptance: Acceptance) -> Acceptance:
    rows = rows_of(acceptances.TABLE, pq.read_table(pa.BufferReader(encode_acceptance(acceptance).data)))
    (row,) = rows
    return acceptances.read_acceptance(row)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fingerprint": None, "operator": None}, "neither a fingerprint nor an operator"),
        ({"fingerprint": "", "operator": ""}, "neither a fingerprint nor an operator"),
        ({"reason": ""}, "who it is from, and why"),
        ({"accepted_by": ""}, "who it is from, and why"),
        ({"until": on(-1)}, "`until` 2026-10-31"),
        ({"accepted_at": "yesterday"}, "an ISO 8601 instant"),
        ({"accepted_at": "2026-11-01T00:00:00"}, "distance from UTC"),
        ({"until": "soon"}, "an ISO 8601 instant"),
    ],
)
def test_what_contradicts_itself_cannot_be_built(changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(InternalError, match=message):
        replace(PLAIN, **changes)


@pytest.mark.parametrize("name", ["", "../a", "pack-1", "a b", "a" * 101])
def test_an_id_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(InternalError, match="acceptance id is"):
        encode_acceptance(replace(PLAIN, id=name))


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(timezone.utc))


@given(TEXT, st.none() | TEXT, TEXT, TEXT, MOMENTS, st.none() | st.timedeltas(timedelta(0), timedelta(days=9999)))
def test_every_acceptance_survives(
    operator: str, fingerprint: str | None, who: str, reason: str, at: datetime, later: timedelta | None
) -> None:
    made = replace(
        PLAIN,
        operator=operator,
        fingerprint=fingerprint,
        accepted_by=who,
        reason=reason,
        accepted_at=at.isoformat(),
        until=None if later is None else (at + later).isoformat(),
    )
    assert read_back(made) == made


def test_each_is_a_file_of_its_own_that_counts_without_a_run(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.accept(PLAIN)
    store.accept(PLAIN)
    path = tmp_path / "acceptances" / "date=2026-11-01" / "a0.parquet"
    assert [file for file in tmp_path.rglob("*") if file.suffix == ".parquet"] == [path]
    assert acceptances_in_force(tmp_path, START) == (PLAIN,)
    assert accepted_fingerprints(tmp_path, START) == {"v2:f1"}


def test_another_with_the_same_id_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.accept(PLAIN)
    with pytest.raises(StoreError):
        store.accept(replace(PLAIN, reason="something else"))
    assert acceptances_in_force(tmp_path, START) == (PLAIN,)


@pytest.mark.parametrize(
    ("words", "day", "counting"),
    [
        ("", 5, None),
        ("1", 0, None),
        ("1", 1, "a0"),
        ("1..4", 3, "a0"),
        ("1..4", 4, None),
        ("1 2..4", 3, "a1"),
        ("1 2..4", 5, "a0"),
        ("1 3!", 2, "a0"),
        ("1 3!", 3, None),
        ("1 2..9 3!", 4, None),
        ("3! 1", 5, None),
        ("1 3! 4", 5, "a2"),
        ("1 3! 3", 5, None),
    ],
)
def test_the_newest_counts_that_has_neither_lapsed_nor_been_withdrawn(
    tmp_path: Path, words: str, day: int, counting: str | None
) -> None:
    store = open_store(tmp_path)
    for one in history(words):
        store.accept(one)
    assert [one.id for one in acceptances_in_force(tmp_path, START + timedelta(days=day))] == [counting] * bool(
        counting
    )


def test_failures_and_speed_are_accepted_and_withdrawn_apart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    speed = replace(PLAIN, fingerprint=None)
    store.accept(PLAIN)
    store.accept(replace(speed, id="a1"))
    store.accept(replace(speed, id="a2", operator="gelu", accepted_at=on(1)))
    now = START + timedelta(days=3)
    assert accepted_levels(tmp_path, now) == {"add": START, "gelu": START + timedelta(days=1)}
    store.accept(replace(speed, id="a3", accepted_at=on(2), until=on(2)))
    assert accepted_levels(tmp_path, now) == {"gelu": START + timedelta(days=1)}
    assert accepted_fingerprints(tmp_path, now) == {"v2:f1"}


def test_people_ask_for_what_counts_now(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append(run_document("add:pass gelu:fail"))
    store.accept(PLAIN)
    assert query(tmp_path, "select id, reason from accepted(now())").rows == (("a0", "as the paper has it"),)
    assert recorded_operators(tmp_path) == ("add", "gelu")


def test_without_a_store_nothing_is_known(tmp_path: Path) -> None:
    assert acceptances_in_force(tmp_path / "none", START) == ()
    assert recorded_operators(tmp_path / "none") == ()


def test_a_row_that_nobody_signed_does_not_stop_the_others(tmp_path: Path) -> None:
    open_store(tmp_path).accept(PLAIN)
    unsigned = {"id": "x", "fingerprint": "v2:f2", "accepted_at": START, "reason": "'; drop table runs; --"}
    path = tmp_path / "acceptances" / "date=2026-11-01" / "x.parquet"
    path.write_bytes(encode_rows(acceptances.TABLE, [unsigned]))
    assert acceptances_in_force(tmp_path, START) == (PLAIN,)


def test_acceptances_of_two_pull_requests_stand_side_by_side_and_move_no_level(tmp_path: Path) -> None:
    store = open_store(tmp_path / "baselines")
    speed = replace(PLAIN, fingerprint=None)
    first = replace(speed, id="a1", commit="1" * 40, accepted_at=on(1), pull_request=7)
    second = replace(speed, id="a2", commit="2" * 40, accepted_at=on(2), until=on(9), pull_request=8)
    store.accept(first, second)
    store.accept(first, second)
    root = store.mirror().root
    assert accepted_commits(root, START + timedelta(days=3)) == {"add": ("2" * 40, "1" * 40)}
    assert every_acceptance(root, START + timedelta(days=3)) == (first, second)
    assert acceptances_in_force(root, START + timedelta(days=3)) == (second,)
    assert accepted_levels(root, START + timedelta(days=3)) == {}
    store.accept(replace(speed, id="a3", accepted_at=on(2)))
    assert accepted_levels(root, START + timedelta(days=3)) == {"add": START + timedelta(days=2)}
    assert accepted_commits(root, START + timedelta(days=10)) == {"add": ("c" * 40, "1" * 40)}
    store.accept(replace(speed, id="a4", accepted_at=on(11), until=on(11)))
    assert accepted_commits(root, START + timedelta(days=12)) == {}


def test_what_older_programs_stored_was_accepted_by_hand(tmp_path: Path) -> None:
    store = open_store(tmp_path / "baselines")
    older = replace(acceptances.TABLE, columns=acceptances.TABLE.columns[:-1])
    row = dict(acceptances.row_of(replace(PLAIN, fingerprint=None)))
    del row["pull_request"]
    store.backend.add([replace(encode_acceptance(PLAIN), data=encode_rows(older, [row]))])
    root = store.mirror().root
    assert [one.pull_request for one in every_acceptance(root, START)] == [None]
    assert accepted_levels(root, START) == {"add": START}
