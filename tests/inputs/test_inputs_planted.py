"""From a plain declaration smoke makes cases in which each planted defect shows, and its correct twin always passes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from inputs_planted import PAIRS, Pair

from opsdebug_ci import Operator
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Case, Family, Judgement, OperatorDescription, ReferenceKind, Stage, Verdict
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.operators import describe, discover
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.stages import cases
from opsdebug_ci.worker.case_run import Witness, run_case

BY_NAME = {pair.name: pair for pair in PAIRS}

SHOWN_BY: dict[str, str] = {
    "eps": "small near_constant",
    "ddof": "large small",
    "one_pass": "near_constant shifted",
    "narrow_square": "large",
    "nan": "specials",
    "zero": "signed_zeros",
    "hidden_rows": "special_rows",
    "blocks": "masked",
    "finite_start": "levels",
    "maximum_from_zero": "levels",
    "mask": "large index_coded",
    "scale": "edges",
    "tie": "ties",
    "last_of_maximum": "edges index_coded",
    "accumulator": "uniform",
    "tf32": "uniform",
    "remainder": "ties large",
    "division": "thresholds large",
    "saturation": "large",
    "rounding": "ties",
    "quantised": "halves",
    "quantised_rows": "halves",
    "tail_branch": "thresholds",
    "branch": "thresholds",
    "clipped": "large",
    "maximum_of_all": "levels large",
    "zero_rows": "signed_zeros",
    "few_scores": "masked",
    "near_ties": "near_constant",
    "pages": "edges",
    "last_octave": "thresholds",
}
"""Families that show a defect at the operator's own sizes. A dropped tail, a narrow index and a layout show by sizes
and layouts, and a broadcast row in nearly every case."""


@cache
def descriptions() -> dict[str, OperatorDescription]:
    here = Path(__file__).parent
    return {found.name: found for found in describe(discover(("inputs_planted.py",), here), here).operators}


def smoke(operator: Operator) -> tuple[Case, ...]:
    return cases(descriptions()[operator.name], Stage.SMOKE, Axes(), tuple(ReferenceKind), ("cpu",))


def judged(operator: Operator, planned: tuple[Case, ...], witness: Witness | None = None) -> Iterator[Judgement]:
    for case in planned:
        yield judge(case, run_case(operator, RunCase(case=case), lambda breadcrumb: None, witness), operator.contract)


def fails(operator: Operator, planned: tuple[Case, ...]) -> bool:
    """Whether any case fails: with a witness, so that nobody takes seconds to find out why."""
    unmoved = judged(operator, planned, lambda arguments, outputs: None)
    return any(judgement.verdict is Verdict.FAIL for judgement in unmoved)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_correct_twin_passes_in_every_smoke_case(pair: Pair) -> None:
    found = [(judgement.case.name, judgement.verdict) for judgement in judged(pair.right, smoke(pair.right))]
    assert [item for item in found if item[1] not in (Verdict.PASS, Verdict.SKIPPED)] == []
    assert sum(verdict is Verdict.PASS for _, verdict in found) >= 0.9 * len(found)


@pytest.mark.parametrize(("name", "family"), [(n, f) for n, fs in SHOWN_BY.items() for f in fs.split()])
def test_the_families_made_for_a_defect_show_it_at_the_operators_own_sizes(name: str, family: str) -> None:
    operator = BY_NAME[name].wrong
    planned = tuple(c for c in smoke(operator) if c.inputs is Family(family) and c.dims == operator.dims)
    assert fails(operator, planned)


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - set(SHOWN_BY)))
def test_a_defect_of_place_shows_in_some_smoke_case(name: str) -> None:
    assert fails(BY_NAME[name].wrong, smoke(BY_NAME[name].wrong))


def test_a_contract_that_ignores_nan_is_fed_none() -> None:
    non_finite = {Family.SPECIALS, Family.SPECIAL_ROWS, Family.MASKED}
    assert non_finite & {case.inputs for case in smoke(BY_NAME["tie"].wrong)} == set()
    assert non_finite <= {case.inputs for case in smoke(BY_NAME["blocks"].wrong)}
