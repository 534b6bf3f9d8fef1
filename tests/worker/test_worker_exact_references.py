"""Open kinds whose reference is one call that rounds nothing: the sign of zero counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from opsdebug_ci import Contract, Operator
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Case, Cause, Family, Judgement, Layout, Verdict
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.worker.case_run import run_case

X = torch.tensor([-0.3, 0.3, -1.5, 2.5, 0.0, -0.0, 7.25])

Function = Callable[[torch.Tensor], torch.Tensor]


def judged(function: Function, reference: Function) -> Judgement:
    operator = Operator("exact", function, lambda seed, dims, dtype: [X], {"torch": reference})
    case = Case(operator="exact", dims={}, dtype="float32", layout=Layout.OWN, inputs=Family.OWN, seed=0)
    return judge(case, run_case(operator, RunCase(case=case), lambda _: None), Contract())


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (lambda x: -torch.floor(-x), torch.ceil),
        (lambda x: x * -1, torch.neg),
        (torch.relu, lambda x: x * (x > 0)),
        (lambda x: torch.where(x > 0, x, 0.0), lambda x: x * (x > 0)),
    ],
)
def test_right_operators_pass(function: Function, reference: Function) -> None:
    assert judged(function, reference).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (lambda x: torch.ceil(x).to(torch.int32).float(), torch.ceil),
        (lambda x: (x + 1.5 * 2**23) - 1.5 * 2**23, torch.round),
        (lambda x: 0.0 - x, torch.neg),
        (lambda x: x.to(torch.int32).float(), lambda x: torch.trunc(x.double()).float()),
    ],
)
def test_a_lost_sign_of_zero_is_found(function: Function, reference: Function) -> None:
    judgement = judged(function, reference)
    assert judgement.verdict is Verdict.FAIL
    assert judgement.findings[0].cause is Cause.DENORMAL_SIGNED_ZERO
