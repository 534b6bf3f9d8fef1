"""Failures already recorded at a baseline commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from store_documents import run_document

from opsdebug_ci.model import Blame, Cause, Finding, Group, KnownFailures, OlderFailure, Stage
from opsdebug_ci.store.memory.known import known_failures
from opsdebug_ci.store.places.backends import open_store


def history(store: Path, *runs: str, **facts: object) -> None:
    """Store runs written `commit | cases`."""
    for number, line in enumerate(runs):
        commit, _, cases = line.partition(" | ")
        open_store(store).append(run_document(cases, f"r{number}", **{"commit": commit, **facts}))


def known(commit: str | None, *fingerprints: str, cases: str = "") -> KnownFailures:
    return KnownFailures(commit=commit, fingerprints=frozenset(fingerprints), cases=frozenset(cases.split()))


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(["c3 | add:fail/f1 gelu:pass"], known("c3", "f1", cases="add-0"), id="the commit itself"),
        pytest.param(["c2 | add:fail/f1"], known("c2", "f1", cases="add-0"), id="its nearest recorded ancestor"),
        pytest.param(["c1 | add:fail/f1", "c2 | add:pass"], known("c2"), id="repaired since"),
        pytest.param(
            ["c3 | add:fail/f1", "c3 | add:fail/f2"],
            known("c3", "f1", "f2", cases="add-0"),
            id="two runs of one commit",
        ),
        pytest.param(
            ["c1 | add:fail/f1 gelu:fail/f2", "c3 | mul:pass gelu:pass"],
            known("c3", "f1", cases="add-0"),
            id="a run of some operators only",
        ),
        pytest.param(
            ["c1 | add:fail/f1", "c3 | add:skipped"],
            known("c1", "f1", cases="add-0"),
            id="a skipped case records nothing",
        ),
        pytest.param(
            ["c1 | add:pass add:crash/f1 add:timeout/f1", "c3 | add:pass add:pass"],
            known("c3", cases="add-2"),
            id="a case is known where it ran last, also by a longer stage",
        ),
        pytest.param(
            ["c3 | add:fail/f1 add:error add:inconclusive add:pass"],
            known("c3", "f1", cases="add-0"),
            id="what did not fail is no failure",
        ),
        pytest.param(["c9 | add:fail/f1"], known(None), id="another line of history"),
        pytest.param(["c3 | add:fail"], known("c3", cases="add-0"), id="a failure without a fingerprint is always new"),
    ],
)
def test_each_operator_is_known_at_its_nearest_record(tmp_path: Path, runs: list[str], expected: KnownFailures) -> None:
    history(tmp_path, *runs)
    assert found(tmp_path, "c3", "c2", "c1") == expected


@pytest.mark.parametrize(
    ("facts", "commit"),
    [
        ({"stage": Stage.SMOKE}, "c3"),
        ({"stage": Stage.FULL}, "c3"),
        ({"stage": Stage.RUN}, None),
        ({"stage": Stage.REPLAY}, None),
        ({"dirty": True}, None),
    ],
)
def test_only_a_stage_on_an_unmodified_tree_is_a_record(
    tmp_path: Path, facts: dict[str, object], commit: str | None
) -> None:
    history(tmp_path, "c3 | add:fail/f1", **facts)
    assert known_failures(tmp_path, ("c3",)).commit == commit


def test_a_replaced_attempt_is_no_record(tmp_path: Path) -> None:
    history(tmp_path, "c3 | add:fail/f1", key="k", attempt=1)
    open_store(tmp_path).append(run_document("add:pass", "again", commit="c3", key="k", attempt=2))
    assert found(tmp_path, "c3") == known("c3")


def test_without_a_store_or_a_commit_nothing_is_known(tmp_path: Path) -> None:
    assert found(tmp_path / "s", "c3", "c2") == known(None)
    history(tmp_path, " | add:fail/f1")
    assert found(tmp_path) == known(None)


def found(store: Path, *line: str) -> KnownFailures:
    """What is known at a line of commits, but for the commit each failure was recorded at."""
    return replace(known_failures(store, line), since={})


@pytest.mark.parametrize(
    ("runs", "since"),
    [
        pytest.param(["c2 | add:fail/f1"], {"f1": "c2", "add-0": "c2"}, id="once"),
        pytest.param(
            ["c1 | add:fail/f1 gelu:fail/f2", "c2 | add:fail/f1", "c3 | mul:pass gelu:pass"],
            {"f1": "c1", "add-0": "c1"},
            id="each time its operator ran",
        ),
        pytest.param(
            ["c1 | add:fail/f1", "c2 | add:pass", "c3 | add:fail/f1"], {"f1": "c3", "add-0": "c3"}, id="again"
        ),
        pytest.param(
            ["c1 | add:fail/f2", "c2 | add:fail/f1", "c3 | add:fail/f1"],
            {"f1": "c2", "add-0": "c1"},
            id="of another cause before",
        ),
        pytest.param(
            ["c1 | add:pass add:fail/f1", "c2 | add:fail/f1", "c3 | add:pass add:fail/f1"],
            {"f1": "c1", "add-1": "c1"},
            id="in another case between",
        ),
        pytest.param(
            ["c1 | add:fail/f1", "c2 | add:skipped", "c3 | add:fail/f1"], {"f1": "c1", "add-0": "c1"}, id="skipped"
        ),
        pytest.param(
            ["c2 | add:fail/f1", "c2 | add:fail/f2", "c3 | add:fail/f1"],
            {"f1": "c2", "add-0": "c2"},
            id="in one of two runs",
        ),
        pytest.param(["c3 | add:pass"], {}, id="never"),
    ],
)
def test_a_failure_is_known_since_every_record_shows_it(tmp_path: Path, runs: list[str], since: dict[str, str]) -> None:
    history(tmp_path, *runs)
    assert known_failures(tmp_path, ("c3", "c2", "c1")).since == since


def record(store: Path, fingerprint: str, cause: Cause, members: tuple[str, ...] = ()) -> None:
    """A run of commit c3 with one failure, of a named cause and grouped."""
    plain = run_document(f"add:fail/{fingerprint}", commit="c3")
    named = Finding(cause=cause, confidence=0.9, blame=Blame.OPERATOR, statement="so", evidence={}, next="again")
    alone = Group(
        fingerprint=fingerprint, cause=cause, operator="add", count=1, cases=("add-0",), statement="so", members=members
    )
    grouped = replace(plain.summary, groups=(alone,))
    seen = (replace(plain.observations[0], findings=(named,)),)
    open_store(store).append(replace(plain, observations=seen, summary=grouped))


@pytest.mark.parametrize(
    ("fingerprint", "older"),
    [
        ("v1:0123456789abcdef", frozenset({OlderFailure(case="add-0", cause="tail_mask")})),
        ("v2:0123456789abcdef", frozenset()),
    ],
)
def test_fingerprints_of_older_versions_are_told_by_their_cases(
    tmp_path: Path, fingerprint: str, older: frozenset[OlderFailure]
) -> None:
    record(tmp_path, fingerprint, Cause.TAIL_MASK)
    found = known_failures(tmp_path, ("c3",))
    assert (found.fingerprints, found.cases, found.older) == (frozenset({fingerprint}), frozenset({"add-0"}), older)


def test_members_of_a_group_are_recorded_with_it(tmp_path: Path) -> None:
    record(tmp_path, "v2:lead", Cause.OOB_WRITE, members=("v2:lead", "v2:child"))
    assert known_failures(tmp_path, ("c3",)).fingerprints == {"v2:lead", "v2:child"}


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    history(tmp_path, "c1 | add:fail/f1", "c3 | add:pass gelu:fail/f2")
    assert found(tmp_path, "c3", "c1") == known("c3", "f2", cases="gelu-1")
    (path,) = tmp_path.glob("accuracy/*/r1.parquet")
    path.write_bytes(b"damaged")
    expected = replace(known("c1", "f1", cases="add-0"), unread=(str(path.relative_to(tmp_path)),))
    assert found(tmp_path, "c3", "c1") == expected


def test_what_was_grouped_with_it_is_known_since_then_as_well(tmp_path: Path) -> None:
    record(tmp_path, "v2:aa", Cause.TAIL_MASK, members=("v2:aa", "v2:bb"))
    assert known_failures(tmp_path, ("c3",)).since == {"v2:aa": "c3", "v2:bb": "c3", "add-0": "c3"}
