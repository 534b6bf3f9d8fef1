"""Facts of a plan: equal for the parts of one whole, and for nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opsdebug_ci.model import Gate, Revision, Stage
from opsdebug_ci.pipeline.planned import plan_facts
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.plan import Shard

CODE = Revision(commit="c" * 40, tree="e" * 40)
SMOKE = Selection(stage=Stage.SMOKE)


def plan(selection=SMOKE, gate=Gate.NEW, revision=CODE, whole=("a", "b", "c"), mine=3):
    return plan_facts(selection, gate, revision, whole, mine=mine)


def test_parts_of_a_whole_differ_only_in_how_much_is_theirs() -> None:
    parts = [plan(replace(SMOKE, shard=Shard(index=index, count=2)), mine=mine) for index, mine in ((1, 2), (2, 1))]
    assert [(part.cases, part.mine, part.gate) for part in parts] == [(3, 2, Gate.NEW), (3, 1, Gate.NEW)]
    assert parts[0] == replace(parts[1], mine=2)


def test_a_commit_with_the_same_files_is_the_same_plan() -> None:
    assert plan(revision=replace(CODE, commit="d" * 40)) == plan()


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"whole": ("a", "b")}, id="a case less"),
        pytest.param({"whole": ("a", "c", "b")}, id="another order"),
        pytest.param({"revision": replace(CODE, tree="f" * 40)}, id="other files"),
        pytest.param({"revision": Revision(commit="f" * 40)}, id="another commit, whose files are not known"),
        pytest.param({"gate": Gate.NEVER}, id="another gate"),
        pytest.param({"selection": Selection(stage=Stage.FULL)}, id="another stage"),
        pytest.param({"selection": replace(SMOKE, patterns=("gelu",))}, id="other operators"),
    ],
)
def test_anything_else_is_another_plan(other) -> None:
    assert plan(**other).id != plan().id


def test_cases_picked_by_hand_are_no_part_of_a_whole() -> None:
    assert plan(Selection(stage=Stage.RUN)) is None
