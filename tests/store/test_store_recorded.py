"""Recorded commits of a line, and the SQL function that finds the nearest one, against a plain walk over histories."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from store_documents import run_document

from opsdebug_ci.model import RunDocument, Stage
from opsdebug_ci.model.baseline import Ancestor, Recorded
from opsdebug_ci.plan.baseline_commit import nearest_record
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.memory.known import known_failures
from opsdebug_ci.store.memory.recorded import recorded
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.macros import BASELINE_FOR
from opsdebug_ci.store.tables import runs

HISTORIES, COMMITS = 12, 9
"""Histories that share a store and nothing else, and the length of each."""

NOT_COUNTING: tuple[Mapping[str, object], ...] = (
    {"dirty": True},
    {"event": "pull_request", "pull_request": 7},
    {"event": "pull_request_target"},
    {"event": "merge_group"},
    {"pull_request": 7},
    {"stage": Stage.RUN},
    {"stage": Stage.REPLAY},
)
"""What makes a run no record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A run that was stored."""

    commit: str
    """Its commit."""

    counts: bool
    """It is a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Commits on one line, and islands with the files of one of them, as rewriting history leaves them."""

    line: tuple[Ancestor, ...]
    """Newest first."""

    islands: tuple[Ancestor, ...]
    """Commits that no ref leads to any more."""

    runs: tuple[Stored, ...]
    """Oldest first."""

    def trees(self) -> dict[str, str]:
        """Tree of each commit."""
        return {at.commit: at.tree for at in (*self.line, *self.islands)}

    def expected(self, position: int, *, known_trees: bool) -> tuple[str, int, bool] | None:
        """Record in front of the commit at `position`, steps from it, and whether only the files are the same.

        `known_trees`: the files of an ancestor are known without a run of it, as git knows them.
        """
        asked, trees = self.line[position].commit, self.trees()
        records = [run.commit for run in self.runs if run.counts and run.commit != asked]
        seen = {run.commit for run in self.runs}
        for steps, ancestor in enumerate(self.line[position + 1 :], 1):
            if ancestor.commit in records:
                return ancestor.commit, steps, False
            if known_trees or ancestor.commit in seen:
                alike = [commit for commit in records if trees[commit] == ancestor.tree]
                if alike:
                    return alike[-1], steps, True
        return None


def history(number: int, draw: random.Random) -> History:
    """Few trees, so that reverts and rewritten commits happen; about half of the commits recorded."""
    commits = [Ancestor(commit=f"{number:02}c{k}", tree=f"{number:02}t{draw.randrange(5)}") for k in range(COMMITS)]
    islands = [Ancestor(commit=f"{number:02}i{k}", tree=f"{number:02}t{draw.randrange(7)}") for k in range(3)]
    stored = [at.commit for at in (*commits, *islands) for _ in range(draw.choice((0, 0, 1, 1, 2)))]
    draw.shuffle(stored)
    runs = tuple(Stored(commit=commit, counts=draw.random() < 0.6) for commit in stored)
    return History(line=tuple(reversed(commits)), islands=tuple(islands), runs=runs)


@pytest.fixture(scope="module")
def told() -> tuple[tuple[History, ...], tuple[RunDocument, ...]]:
    """Random histories, and their runs."""
    draw, documents = random.Random(20261130), []
    histories = tuple(history(each, draw) for each in range(HISTORIES))
    for each in histories:
        lines = {at.commit: [older.commit for older in each.line[k + 1 :]] for k, at in enumerate(each.line)}
        for run in each.runs:
            facts = {
                "commit": run.commit,
                "tree": each.trees()[run.commit],
                "ancestors": tuple(lines.get(run.commit, ())),
                "event": "push",
                **({} if run.counts else draw.choice(NOT_COUNTING)),
            }
            documents.append(run_document("add:pass", f"r{len(documents):04}", **facts))
    return histories, tuple(documents)


def kind(found: tuple[str, int, bool] | None) -> object:
    """What an answer is an example of."""
    return None if found is None else (min(found[1], 2), found[2])


KINDS = {None, (1, False), (2, False), (1, True), (2, True)}
"""All there are: none; the first ancestor or an older one; itself or another commit with its files."""


def test_the_nearest_record_is_that_of_a_walk(
    told: tuple[tuple[History, ...], tuple[RunDocument, ...]], tmp_path: Path
) -> None:
    histories, documents = told[0][:3], told[1]
    commits = {run.commit for each in histories for run in each.runs}
    for document in documents:
        if document.run.commit in commits:
            open_store(tmp_path).append(document)
    rows = recorded(tmp_path, [at for each in histories for at in each.line])
    kinds = set()
    for each in histories:
        for position, asked in enumerate(each.line):
            found = nearest_record(each.line[position + 1 :], [row for row in rows if row.commit != asked.commit])
            got = None if found is None else (found.commit, found.distance + 1, found.same_files)
            assert got == each.expected(position, known_trees=True), asked.commit
            kinds.add(kind(got))
    assert kinds == KINDS


def test_sql_finds_the_same_for_every_commit_that_has_a_run(
    told: tuple[tuple[History, ...], tuple[RunDocument, ...]],
) -> None:
    histories, documents = told
    rows = [row for document in documents for row in runs.TABLE.rows(StoredRun(document=document))]
    kinds = set()
    with duckdb.connect(":memory:") as connection:
        connection.register("stored", pa.Table.from_pylist(rows, schema=runs.TABLE.schema))
        connection.execute("create table runs as from stored")
        connection.execute(BASELINE_FOR.statement)
        for each in histories:
            seen = {run.commit for run in each.runs}
            for position in (k for k in range(COMMITS) if each.line[k].commit in seen):
                asked = each.line[position].commit
                sql = 'select "commit", distance, same_files from baseline_for(?)'
                got = connection.execute(sql, [asked]).fetchone()
                assert got == each.expected(position, known_trees=False), asked
                kinds.add(kind(got))
    assert kinds == KINDS


@pytest.mark.parametrize("facts", NOT_COUNTING)
def test_runs_of_changes_of_dirty_trees_and_by_hand_are_no_record(tmp_path: Path, facts: dict[str, object]) -> None:
    line = (Ancestor(commit="c1", tree="t1"),)
    same = {"commit": "c1", "tree": "t1"}
    open_store(tmp_path).append(run_document("add:fail/f1", "r1", **{**same, **facts}))
    assert recorded(tmp_path, line) == ()
    assert known_failures(tmp_path, ("c1",)).commit is None
    open_store(tmp_path).append(run_document("add:fail/f1", "r2", **same, event="push"))
    assert recorded(tmp_path, line) == (Recorded(commit="c1", tree="t1"),)
    assert known_failures(tmp_path, ("c1",)).commit == "c1"
    assert recorded(tmp_path, line, but="c1") == ()


def test_without_a_store_or_a_line_nothing_is_recorded(tmp_path: Path) -> None:
    assert recorded(tmp_path / "none", (Ancestor(commit="c1", tree="t1"),)) == ()
    open_store(tmp_path).append(run_document("add:pass", commit="", tree=""))
    assert recorded(tmp_path, ()) == ()
    assert recorded(tmp_path, (Ancestor(commit="c1", tree=""),)) == ()


def test_a_run_stored_under_another_commit_does_not_lend_its_files(tmp_path: Path) -> None:
    """Its tree is that of what was checked out."""
    plain = run_document("add:pass", "r1", commit="checked-out", tree="t1")
    open_store(tmp_path).append(replace(plain, run=replace(plain.run, commit="c1")))
    assert recorded(tmp_path, (Ancestor(commit="c2", tree="t1"),)) == ()
    assert recorded(tmp_path, (Ancestor(commit="c1", tree="t2"),)) == (Recorded(commit="c1", tree=""),)
