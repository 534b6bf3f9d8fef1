"""Planted defects of the catalogue fail somewhere, and their correct twins pass everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from worker_notation import judged

import opsdebug_ci
from opsdebug_ci.catalogue.planted import PLANTED, UNAVAILABLE, Planted
from opsdebug_ci.catalogue.planted.value import plant
from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model import Cause, Judgement, OperatorDescription, ReferenceKind, Stage, Verdict
from opsdebug_ci.model.planted import DEFECTS
from opsdebug_ci.operators import Operator, describe, discover
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.stages import cases

ROOT = Path(opsdebug_ci.__file__).parents[1]
BUDGET = 8
"""Cases per correct twin, so that the whole table stays quick; the smoke stage runs nine times as many."""


@cache
def descriptions(side: str) -> dict[str, OperatorDescription]:
    discovery = discover((f"opsdebug_ci.catalogue.planted.{side}",), ROOT)
    return {description.name: description for description in describe(discovery, ROOT).operators}


def outcomes(operator: Operator, side: str, budget: int | None) -> Iterator[Judgement]:
    for case in cases(
        descriptions(side)[operator.name], Stage.SMOKE, Axes(), tuple(ReferenceKind), ("cpu",), budget=budget
    ):
        yield judged(operator, case)


DEADLY = (Cause.CRASH_SEGFAULT, Cause.HANG)
"""Defects whose wrong operator ends this process, or never comes back; a run of the whole program tests them."""

SAMPLE = [planted for planted in PLANTED if planted.defect.cause not in DEADLY][::7]
"""Some of every kind; the self-test, which CI runs after the tests, runs all of them."""


@pytest.mark.slow
@pytest.mark.parametrize("planted", SAMPLE, ids=lambda planted: planted.name)
def test_a_defect_fails_and_its_twin_passes(planted: Planted) -> None:
    wrong = outcomes(planted.wrong, "wrong", None)
    assert any(judgement.verdict is Verdict.FAIL for judgement in wrong), planted.defect.wrong
    right = list(outcomes(planted.right, "right", BUDGET))
    blamed = [(j.case.name, j.verdict, j.findings) for j in right if j.verdict not in (Verdict.PASS, Verdict.SKIPPED)]
    assert blamed == []
    assert Verdict.PASS in {judgement.verdict for judgement in right}


def test_every_defect_has_both_sides_described() -> None:
    for side in ("wrong", "right"):
        found = discover((f"opsdebug_ci.catalogue.planted.{side}",), ROOT)
        assert found.faults == ()
        assert [item.operator.name for item in found.found] == [f"{side}_{planted.name}" for planted in PLANTED]
    assert len(PLANTED) >= 40


def test_every_registered_defect_is_planted_or_says_why_not() -> None:
    names = [defect.name for defect in DEFECTS]
    assert len(set(names)) == len(names)
    assert {planted.name for planted in PLANTED} | set(UNAVAILABLE) == set(names)
    assert {planted.name for planted in PLANTED} & set(UNAVAILABLE) == set()


def test_every_cause_that_can_be_told_is_planted() -> None:
    assert set(Cause) - {defect.cause for defect in DEFECTS} == {Cause.PERF_CLIFF, Cause.UNKNOWN}


def test_a_defect_that_is_not_registered_cannot_be_planted() -> None:
    with pytest.raises(DeclarationError, match="`name` is `unheard_of`; wanted a registered defect"):
        plant(PLANTED[0].right, "unheard_of", wrong=print, right=print)


@pytest.mark.parametrize("planted", [p for p in PLANTED if p.defect.cause in DEADLY], ids=lambda planted: planted.name)
def test_the_right_twin_of_a_deadly_operator_passes(planted: Planted) -> None:
    right = list(outcomes(planted.right, "right", BUDGET))
    assert {judgement.verdict for judgement in right} <= {Verdict.PASS, Verdict.SKIPPED}
