"""Every rule of the semantic-variant library and every probe explains its planted failure, and nothing else."""

from __future__ import annotations

import itertools

import pytest
import torch
from planted_failures import PLANTED, PlantedFailure

from opsdebug_ci.catalogue.planted import wrong
from opsdebug_ci.model import Case, Cause, Family, Layout
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.numerics.variants import ARGUMENT_RULES, CALL_RULES, inner_steps
from opsdebug_ci.operators import Operator
from opsdebug_ci.worker.case_run import run_case
from opsdebug_ci.worker.probes import PROBES

APART = {"fitted_constant", "fitted_limit", "fitted_table"}
"""Rules that are no probe and no alternative."""

NAMES = [planted.name for planted in PLANTED]


def test_every_rule_and_probe_has_a_planted_failure() -> None:
    planted = {failure.rule for failure in PLANTED}
    rules = {rule.__name__ for rule in (*CALL_RULES, inner_steps, *ARGUMENT_RULES, *PROBES)} | APART
    assert planted == rules


@pytest.mark.parametrize("planted", PLANTED, ids=NAMES)
def test_a_planted_failure_is_explained(planted: PlantedFailure) -> None:
    clues = planted.clues()
    probes = {probe.__name__ for probe in PROBES} | APART
    wanted = planted.rule if planted.rule in probes else "altered_reference"
    said = [clue for clue in clues if clue.rule == wanted and clue.cause is planted.cause]
    assert said, [(clue.rule, clue.cause, clue.statement) for clue in clues]
    assert said[0].confidence >= 0.7  # less where all bad elements hold one value
    assert planted.says in said[0].statement
    assert len({(clue.rule, clue.cause, clue.statement) for clue in clues}) == len(clues), "told twice"


@pytest.mark.parametrize("planted", PLANTED, ids=NAMES)
def test_its_clean_twin_gives_no_clue(planted: PlantedFailure) -> None:
    observation = planted.observe(planted.right)
    assert [output.rejected for output in observation.outputs] == [0]
    assert observation.clues == ()


def test_no_influence_is_read_through_a_reference_that_rounds() -> None:
    """The only bad element lies where the two round to two sides: moved, its own entry changes one of them alone."""
    operator = next(each for each in wrong.OPERATORS if each.name == "wrong_half_up")
    case = Case(
        operator=operator.name,
        dims=operator.dims,
        dtype="bfloat16",
        layout=Layout.CONTIGUOUS,
        inputs=Family.NORMAL,
        seed=0,
    )
    observation = run_case(operator, RunCase(case=case), lambda crumb: None)
    assert [output.rejected for output in observation.outputs] == [1]
    assert {clue.cause for clue in observation.clues} <= {Cause.WRONG_ROUNDING}


def test_a_view_is_not_blamed_for_what_happens_once() -> None:
    """Wrong in the launch that is compared, which met a view; right in every later one, on copies as on the view."""
    launches = itertools.count()
    operator = Operator(
        "once",
        lambda x: x * 2 + (next(launches) == 1),
        lambda seed, dims, dtype: [torch.arange(40.0).reshape(20, 2)[:, 0]],
        {"torch": lambda x: x * 2},
        contract=Contract(deterministic=False),
        dims={"N": 20},
    )
    case = Case(operator="once", dims=operator.dims, dtype="float32", layout=Layout.OWN, inputs=Family.OWN, seed=0)
    observation = run_case(operator, RunCase(case=case), lambda crumb: None)
    assert [output.rejected for output in observation.outputs] == [20]
    assert Cause.STRIDE_VIEW not in {clue.cause for clue in observation.clues}
