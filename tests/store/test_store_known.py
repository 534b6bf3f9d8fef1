"""Failures already recorded at a baseline commit."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_documents import run_document

from opsdebug_ci.model import KnownFailures, Stage
from opsdebug_ci.store.directory import DirectoryStore
from opsdebug_ci.store.known import known_failures


def history(store: Path, *runs: str, **facts: object) -> None:
    """Store runs written `commit | cases`."""
    for number, line in enumerate(runs):
        commit, _, cases = line.partition(" | ")
        DirectoryStore(store).append(run_document(cases, f"r{number}", **{"commit": commit, **facts}))


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
    assert known_failures(tmp_path, "c3", ("c2", "c1")) == expected


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
    assert known_failures(tmp_path, "c3", ()).commit == commit


def test_a_replaced_attempt_is_no_record(tmp_path: Path) -> None:
    history(tmp_path, "c3 | add:fail/f1", key="k", attempt=1)
    DirectoryStore(tmp_path).append(run_document("add:pass", "again", commit="c3", key="k", attempt=2))
    assert known_failures(tmp_path, "c3", ()) == known("c3")


def test_without_a_store_or_a_commit_nothing_is_known(tmp_path: Path) -> None:
    assert known_failures(tmp_path / "s", "c3", ("c2",)) == known(None)
    history(tmp_path, " | add:fail/f1")
    assert known_failures(tmp_path, "", ()) == known(None)
