"""Three operators as users write them prove the API end to end; each has a planted defect that must fail.

Found, described, planned, run and judged as `opsdebug ci` does, without the pipe.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from worker_notation import judged, run

from opsdebug_ci.model import (
    Cause,
    Judgement,
    Kind,
    Layout,
    OperatorDescription,
    ReferenceKind,
    Stage,
    Verdict,
)
from opsdebug_ci.operators import Operator, describe, discover
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.stages import cases

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
MODULES = ("proofs/fused_activation.py", "proofs/varlen_attention.py", "proofs/adamw_step.py")
BUDGET = 14
"""Cases per operator: the everyday case of every dtype and the most important pairs; the smoke stage runs 72."""

WRONG_BUDGET = 6
"""Cases of a wrong operator: looking into each failure takes seconds, and every further one says the same."""


@pytest.fixture(scope="module")
def proofs() -> dict[str, tuple[Operator, OperatorDescription]]:
    discovery = discover(MODULES, ROOT)
    catalogue = describe(discovery, ROOT)
    assert catalogue.faults == ()
    return {
        item.operator.name: (item.operator, d) for item, d in zip(discovery.found, catalogue.operators, strict=True)
    }


def outcomes(operator: Operator, description: OperatorDescription, axes: Axes, budget: int = BUDGET) -> list[Judgement]:
    planned = cases(description, Stage.SMOKE, axes, tuple(ReferenceKind), ("cpu",), budget=budget)
    return [judged(operator, case) for case in planned]


def verdicts(judgements: list[Judgement]) -> Counter[Verdict]:
    return Counter(judgement.verdict for judgement in judgements)


RIGHT = {
    "gelu_add_residual": ("out", [Kind.ELEMENTWISE]),
    "varlen_attention": ("out0 out1", [Kind.ATTENTION, Kind.REDUCTION]),
    "adamw_step": ("param exp_avg exp_avg_sq", [Kind.ELEMENTWISE, Kind.ELEMENTWISE, Kind.AUTO]),
}
"""Operator -> its outputs in contract order and how they are compared."""


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_operator_passes_everywhere(name: str, proofs) -> None:
    judgements = outcomes(*proofs[name], Axes())
    assert [(j.case.name, [f.statement for f in j.findings]) for j in judgements if j.verdict is Verdict.FAIL] == []
    counts = verdicts(judgements)
    assert set(counts) <= {Verdict.PASS, Verdict.SKIPPED}
    assert counts[Verdict.PASS] >= BUDGET - 2
    everyday = judgements[0].observation
    assert " ".join(output.name for output in everyday.outputs) == RIGHT[name][0]
    assert [output.kind for output in everyday.outputs] == RIGHT[name][1]
    assert all(output.accuracy and output.accuracy.compared for output in everyday.outputs)
    assert [reference.answered for reference in everyday.references] == [True, True, True]


def test_dtypes_of_outputs_may_differ(proofs) -> None:
    """Half-precision parameters beside float32 state; a float32 log-sum-exp beside a half-precision output."""
    for name, wanted in (("adamw_step", "bfloat16 float32 float32"), ("varlen_attention", "bfloat16 float32")):
        operator, _ = proofs[name]
        observation = run(operator, dtype="bfloat16")
        assert " ".join(output.actual.dtype for output in observation.outputs) == wanted


def test_cases_outside_the_domain_are_skipped_with_the_reason(proofs) -> None:
    (skipped,) = {
        judgement.observation.reason
        for judgement in outcomes(
            *proofs["varlen_attention"], Axes(dims={"N": 0}, seeds=(0,), layouts=(Layout.CONTIGUOUS,))
        )
        if judgement.verdict is Verdict.SKIPPED
    }
    assert skipped == "needs at least one sequence and one channel"


@pytest.mark.parametrize(
    ("name", "outputs", "cause"),
    [
        ("wrong_gelu_add_residual", {"out"}, Cause.UNINITIALISED),
        ("wrong_varlen_attention", {"out0", "out1"}, Cause.TAIL_MASK),
        ("wrong_adamw_step", {"exp_avg", "exp_avg_sq", "param"}, Cause.UNKNOWN),
    ],
)
def test_a_wrong_operator_fails(name: str, outputs: set[str], cause: Cause, proofs) -> None:
    judgements = outcomes(*proofs[name], Axes(), WRONG_BUDGET)
    failed = [judgement for judgement in judgements if judgement.verdict is Verdict.FAIL]
    assert len(failed) >= 2
    assert {o.name for judgement in failed for o in judgement.observation.outputs if o.rejected} == outputs
    assert cause in {judgement.findings[0].cause for judgement in failed}
    assert set(verdicts(judgements)) <= {Verdict.FAIL, Verdict.PASS, Verdict.SKIPPED}
