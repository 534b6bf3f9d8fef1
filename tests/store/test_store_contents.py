"""Which files of a store count, as a theory: whoever adds, packs, prunes or dies, at whichever step, every run that was
added is seen once, and none that was pruned comes back.

The states are sets of paths and heads; no disk is needed. Truth is a set of run ids.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from store_documents import run_document

from opsdebug_ci.store.files.contents import Contents, PackHead, packs_among, read_contents
from opsdebug_ci.store.files.inventory import take_inventory
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact

DAY, MONTH = "date=2026-11-29", "date=2026-11-01"


def path(table: str, name: str) -> str:
    return f"{table}/{MONTH if name.startswith('pack-') else DAY}/{name}.parquet"


@dataclass
class Place:
    """A store: paths, the heads of its packs, and the runs in each file."""

    paths: set[str] = field(default_factory=set)
    heads: dict[str, PackHead] = field(default_factory=dict)

    def contents(self) -> Contents:
        return read_contents(sorted(self.paths), [self.heads[found.name] for found in packs_among(self.paths)])

    def rows(self, table: str) -> Counter[str]:
        """How often each run is seen in a table, as a reader counts: by the files that are live, less `without`."""
        contents, seen = self.contents(), Counter[str]()
        for live in contents.live.get(table, ()):
            name = live.path.name
            seen.update((self.heads[name].runs if name in self.heads else {name}) - live.without)
        return seen


Step = tuple[str, str]
"""What is done (`add`, `remove`) with which path."""


class AnyOrder(RuleBasedStateMachine):
    """Writers, compactors and pruners, each of which does one step at a time or dies."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Place()
        self.acknowledged: set[str] = set()
        self.pruned: set[str] = set()
        self.gone: set[str] = set()
        self.pruning: frozenset[str] | None = None
        self.workers: list[list[Step]] = []
        self.number = 0

    def _name(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number:04d}"

    @rule()
    def a_writer_comes(self) -> None:
        run_id = self._name("r")
        self.workers.append([("add", path("accuracy", run_id)), ("add", path("runs", run_id))])

    @rule(data=st.data())
    def a_compactor_comes(self, data: st.DataObject) -> None:
        contents = self.place.contents()
        names = sorted({*contents.singles, *contents.heads})
        if names:
            chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True), label="sources")
            self.pruning = None
            self.workers.append(self._packing(contents, chosen, frozenset()))

    @precondition(lambda self: not self.workers)
    @rule(data=st.data())
    def a_pruner_comes(self, data: st.DataObject) -> None:
        """One at a time: a compaction that read a run before it was pruned would bring it back, and may."""
        contents = self.place.contents()
        if contents.run_ids:
            chosen = data.draw(
                st.lists(st.sampled_from(sorted(contents.run_ids)), min_size=1, unique=True), label="runs"
            )
            gone = frozenset(chosen)
            sources = [head.name for head in contents.heads.values() if head.runs & gone]
            sources += [run_id for run_id in contents.singles if run_id in gone]
            leftovers = [("remove", one) for one in contents.superseded]
            self.workers.append(leftovers + self._packing(contents, sources, gone))
            self.pruned |= gone
            self.pruning = gone

    def _packing(self, contents: Contents, sources: list[str], without: frozenset[str]) -> list[Step]:
        stood_for = [contents.heads[name] for name in sources if name in contents.heads]
        runs = frozenset(name for name in sources if name in contents.singles).union(*(p.runs for p in stood_for))
        steps: list[Step] = []
        packs = {head.name for head in stood_for}
        if runs - without:
            name = self._name("pack-")
            replaces = frozenset(packs).union(*(head.replaces for head in stood_for))
            self.place.heads[name] = PackHead(name=name, runs=runs - without, replaces=replaces, files=())
            steps += [("add", path("accuracy", name)), ("add", path("runs", name))]
        gone = [live.path for files in contents.live.values() for live in files if live.path.name in sources]
        ordered = sorted(gone, key=lambda one: (one.table != "runs", str(one)))
        return steps + [("remove", str(one)) for one in ordered]

    @precondition(lambda self: bool(self.workers))
    @rule(data=st.data())
    def somebody_does_a_step(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from(self.workers), label="worker")
        doing, where = worker.pop(0)
        if doing == "add":
            self.place.paths.add(where)
            name = where.rpartition("/")[2].removesuffix(".parquet")
            if where.startswith("runs/") and not name.startswith("pack-"):
                self.acknowledged.add(name)
        else:
            self.place.paths.discard(where)
        self.workers = [left for left in self.workers if left]
        if self.pruning is not None and not self.workers:
            self.gone |= self.pruning

    @precondition(lambda self: bool(self.workers))
    @rule(data=st.data())
    def somebody_dies(self, data: st.DataObject) -> None:
        self.pruning = None
        self.workers.remove(data.draw(st.sampled_from(self.workers), label="worker"))

    @rule()
    def a_compactor_removes_what_is_left(self) -> None:
        self.place.paths -= set(self.place.contents().superseded)

    @invariant()
    def every_run_is_seen_once(self) -> None:
        for table in ("runs", "accuracy"):
            seen = self.place.rows(table)
            assert {run: times for run, times in seen.items() if times > 1} == {}
            assert self.acknowledged - self.pruned <= set(seen) <= self.acknowledged
            assert self.gone & set(seen) == set()
        assert self.place.contents().run_ids == set(self.place.rows("runs"))

    @invariant()
    def every_path_is_accounted_for(self) -> None:
        contents = self.place.contents()
        live = [str(one.path) for files in contents.live.values() for one in files]
        assert sorted([*live, *contents.superseded, *contents.unfinished]) == sorted(self.place.paths)


class RemovesFirst(AnyOrder):
    """The defect that packs are there to avoid."""

    def _packing(self, contents: Contents, sources: list[str], without: frozenset[str]) -> list[Step]:
        return sorted(super()._packing(contents, sources, without), key=lambda step: step[0] == "add")


class MakesVisibleFirst(AnyOrder):
    """A pack whose `runs` file is added before its rows."""

    def _packing(self, contents: Contents, sources: list[str], without: frozenset[str]) -> list[Step]:
        steps = super()._packing(contents, sources, without)
        added = [step for step in steps if step[0] == "add"]
        return [*reversed(added), *steps[len(added) :]]


LENGTH = settings(max_examples=40, stateful_step_count=40, deadline=None)
AnyOrder.TestCase.settings = LENGTH
TestAnyOrder = AnyOrder.TestCase


@pytest.mark.parametrize("defect", [RemovesFirst, MakesVisibleFirst])
def test_the_theory_would_see_a_defect(defect: type[AnyOrder]) -> None:
    searching = settings(LENGTH, max_examples=300, database=None, phases=[Phase.generate], print_blob=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(defect, settings=searching)


def head(name: str, runs: str, replaces: str = "") -> PackHead:
    return PackHead(name=name, runs=frozenset(runs.split()), replaces=frozenset(replaces.split()), files=())


def place(names: str, *heads: PackHead) -> Place:
    """A store with both files of each of these runs and packs."""
    paths = {path(table, name) for name in names.split() for table in ("runs", "accuracy")}
    return Place(paths=paths, heads={one.name: one for one in heads})


@pytest.mark.parametrize(
    ("there", "seen"),
    [
        pytest.param(place("r1 r2"), "r1 r2", id="single files"),
        pytest.param(place("r1 r2 pack-a", head("pack-a", "r1 r2")), "r1 r2", id="a compactor died before removing"),
        pytest.param(place("r1 pack-a", head("pack-a", "r1 r2")), "r1 r2", id="or in the middle of it"),
        pytest.param(
            place("pack-a pack-b", head("pack-a", "r1 r2"), head("pack-b", "r2 r3")),
            "r1 r2 r3",
            id="two packs share a run",
        ),
        pytest.param(
            place("pack-a pack-b", head("pack-a", "r1 r2"), head("pack-b", "r2", "pack-a")),
            "r2",
            id="a pack stands for one",
        ),
        pytest.param(place("r1 pack-b", head("pack-b", "r2", "pack-a")), "r1 r2", id="which is gone"),
        pytest.param(
            place("r1 pack-a", head("pack-a", "r2")),
            "r1 r2",
            id="a run that was pruned comes back with its leftovers: whoever prunes removes those first",
        ),
    ],
)
def test_who_is_seen(there: Place, seen: str) -> None:
    assert there.rows("runs") == there.rows("accuracy") == Counter(seen.split())


RUNS = 9
"""Runs that are added while they are read: enough for a pack of packs."""


def add_and_compact(root: str, added: Synchronized[int]) -> None:
    """A process that adds runs, and packs all there are after every third."""
    store = open_store(root)
    for number in range(RUNS):
        store.append(run_document("add:pass gelu:fail/f1", f"r{number:04d}", commit=f"c{number}"))
        added.value = number + 1
        if number % 3 == 2:
            compact(store.backend, today=date(2026, 11, 30), entropy=f"e{number:04d}", rules=CompactionRules(fewest=2))


def test_a_reader_sees_every_run_once_while_others_add_and_compact(tmp_path: Path) -> None:
    root, context = str(tmp_path / "s"), multiprocessing.get_context("spawn")
    open_store(root).append(run_document("add:pass gelu:fail/f1", "r-first"))
    added = context.Value("i", 0)
    process = context.Process(target=add_and_compact, args=(root, added))
    process.start()
    answers = 0
    while process.is_alive():
        before = added.value
        found = query(root, "select count(*), count(distinct run_id) from accuracy")
        assert found.faults == ()
        ((rows, runs),) = found.rows
        assert rows == 2 * runs
        assert before + 1 <= runs <= RUNS + 1
        answers += 1
    process.join()
    assert process.exitcode == 0
    assert answers > 0
    assert query(root, "select count(*), count(distinct run_id) from accuracy").rows == ((2 * RUNS + 2, RUNS + 1),)
    assert len(take_inventory(Path(root)).contents.heads) == 1
