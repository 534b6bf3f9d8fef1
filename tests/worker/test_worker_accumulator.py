"""The accumulator a contract declares is the one the bound grants: no more, and no less."""

from __future__ import annotations

import pytest
import torch

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.worker.case_run import run_case


def half_sum(x: torch.Tensor) -> torch.Tensor:
    """Every partial sum in float16."""
    total = torch.zeros(x.shape[:-1], dtype=torch.float16)
    for column in x.unbind(-1):
        total = total + column.half()
    return total.to(x.dtype)


def rejected(dtype: str, **promises: str) -> int:
    summing = Operator(
        "half_sum",
        half_sum,
        {"x": tensor("B H")},
        {"torch": lambda x: x.sum(dim=-1)},
        kind="reduction",
        dtypes=(dtype,),
        contract=Contract(**promises),
    )
    case = Case(
        operator="half_sum",
        dims={"B": 64, "H": 100},
        dtype=dtype,
        layout=Layout.CONTIGUOUS,
        inputs=Family.NORMAL,
        seed=0,
    )
    observation = run_case(summing, RunCase(case=case), lambda breadcrumb: None)
    return observation.outputs[0].rejected


def test_a_declared_half_accumulator_is_granted() -> None:
    assert rejected("float16", accumulate="float16") == 0


@pytest.mark.parametrize(
    ("dtype", "accumulate"), [("float16", "float32"), ("float32", "float32"), ("float32", "float16")]
)
def test_a_half_accumulator_is_rejected_where_it_is_not_declared_or_narrower_than_the_inputs(
    dtype: str, accumulate: str
) -> None:
    assert rejected(dtype, accumulate=accumulate) > 0
