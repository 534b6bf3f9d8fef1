"""Gradients against those of the reference: right ones pass, planted mistakes fail, what has none is skipped."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from worker_notation import case_of

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Direction, Judgement, Verdict
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.worker.case_run import run_case


def backward(operator: Operator, **fields: object) -> Judgement:
    case = replace(case_of(operator, **fields), direction=Direction.BACKWARD)
    return judge(case, run_case(operator, RunCase(case=case), lambda breadcrumb: None), operator.contract)


def names(judgement: Judgement) -> list[str]:
    return [output.name for output in judgement.observation.outputs]


class Scaled(torch.autograd.Function):
    """x * weight with a gradient of one's own, off by `slip` for the weight."""

    @staticmethod
    def forward(ctx, x, weight, slip):
        ctx.save_for_backward(x, weight)
        ctx.slip = slip
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient * weight, (gradient * x).sum(0) * (1 + ctx.slip), None


def scaled(slip: float, **options: object) -> Operator:
    return Operator(
        "scaled",
        lambda x, weight: Scaled.apply(x, weight, slip),
        {"x": tensor("S H"), "weight": tensor("H")},
        {"torch": lambda x, weight: x * weight},
        kind="elementwise",
        dims={"S": 6, "H": 20},
        backward=True,
        **options,
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_right_gradients_pass(dtype: str) -> None:
    found = backward(scaled(0.0), dtype=dtype)
    assert (found.verdict, names(found)) == (Verdict.PASS, ["grad_x", "grad_weight"])
    assert [output.accuracy.compared for output in found.observation.outputs if output.accuracy] == [120, 20]


def test_a_wrong_gradient_of_one_argument_fails_there() -> None:
    found = backward(scaled(1e-3))
    assert found.verdict is Verdict.FAIL
    assert [output.name for output in found.observation.outputs if output.rejected] == ["grad_weight"]


def test_a_gradient_that_is_cut_off_fails() -> None:
    operator = Operator(
        "cut",
        lambda x, y: x * y.detach(),
        {"x": tensor("N"), "y": tensor("N")},
        {"torch": lambda x, y: x * y},
        dims={"N": 12},
        backward=True,
    )
    found = backward(operator)
    assert found.verdict is Verdict.FAIL
    assert [output.name for output in found.observation.outputs if output.rejected] == ["grad_y"]


def test_every_output_takes_part() -> None:
    def both(x):
        return x.exp(), (x * x).sum(-1)

    def forgetful(x):
        return x.exp(), ((x * x).detach() + 0 * x).sum(-1)

    def declared(function) -> Operator:
        return Operator("both", function, {"x": tensor("S H")}, {"torch": both}, dims={"S": 3, "H": 8}, backward=True)

    assert backward(declared(both)).verdict is Verdict.PASS
    assert backward(declared(forgetful)).verdict is Verdict.FAIL


def test_an_argument_nobody_differentiates_is_left_out() -> None:
    operator = Operator(
        "chosen",
        lambda x, index, level: torch.index_select(x, 0, index) + level.detach(),
        {
            "x": tensor("N"),
            "index": tensor("K", dtype="int64", values=lambda seed, dims, args: list(range(dims["K"]))),
            "level": tensor(""),
        },
        {"torch": lambda x, index, level: x[index] + level.detach()},
        dims={"N": 12, "K": 5},
        backward=True,
    )
    found = backward(operator)
    assert (found.verdict, names(found)) == (Verdict.PASS, ["grad_x"])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("inputs", ["normal", "uniform"])
def test_a_gradient_that_cancels_is_given_its_terms_rounding(name: str, inputs: str) -> None:
    """The fused backward and the written-out one subtract different numbers."""

    def written_out(x):
        shifted = x - x.amax(-1, keepdim=True).detach()
        logs = shifted - shifted.exp().sum(-1, keepdim=True).log()
        return logs.exp() if name == "softmax" else logs

    operator = Operator(
        name, getattr(torch, name), {"x": tensor("S H"), "dim": -1}, {"torch": lambda x, dim: written_out(x)},
        kind=name, dims={"S": 16, "H": 128}, backward=True,
    )  # fmt: skip
    assert backward(operator, inputs=inputs).verdict is Verdict.PASS


@torch.library.custom_op("opsdebug_tests::no_gradient", mutates_args=())
def no_gradient(x: torch.Tensor) -> torch.Tensor:
    return x + x


SKIPPED = {"detached": lambda x: (x + x).detach(), "custom operator": no_gradient}


@pytest.mark.parametrize("name", SKIPPED)
def test_an_operator_without_gradients_is_skipped_with_the_reason(name: str) -> None:
    operator = Operator(
        "none", SKIPPED[name], {"x": tensor("N")}, {"torch": lambda x: 2 * x}, dims={"N": 6}, backward=True
    )
    found = backward(operator)
    assert found.verdict is Verdict.SKIPPED
    assert "operator has" in str(found.observation.reason)


def test_a_reference_without_gradients_skips_too() -> None:
    operator = Operator(
        "counted", lambda x: (x > 0).sum(), {"x": tensor("N")}, {"torch": lambda x: (x > 0).sum()}, dims={"N": 6}
    )
    found = backward(operator)
    assert (found.verdict, found.observation.reason) == (
        Verdict.SKIPPED,
        "no output of the torch reference has a gradient",
    )


def test_operators_that_write_their_arguments_are_skipped() -> None:
    operator = Operator(
        "in_place",
        lambda x: x.mul_(2),
        {"x": tensor("N")},
        {"torch": lambda x: 2 * x},
        dims={"N": 6},
        contract=Contract(mutates=("x",)),
    )
    assert backward(operator).verdict is Verdict.SKIPPED


def test_a_backward_that_raises_is_the_operators_fault() -> None:
    class Broken(Scaled):
        @staticmethod
        def backward(ctx, gradient):
            raise RuntimeError("not today", ctx.slip, gradient.shape)

    operator = scaled(0.0)
    operator.function = lambda x, weight: Broken.apply(x, weight, 0.0)
    found = backward(operator)
    assert (found.verdict, found.findings[0].cause.value) == (Verdict.FAIL, "exception")
    assert found.case.name.endswith("cpu backward]")


# -- points without one gradient ---------------------------------------------------------------------------------------

ONE, TWO = {"x": tensor("N M")}, {"x": tensor("N M"), "y": tensor("N M")}

CHOICES = {
    "the end of a clamp": (ONE, torch.nn.functional.hardtanh, lambda x: x.clamp(-1, 1), "elementwise"),
    "equal maxima of a row": (ONE, lambda x: x.max(-1).values, lambda x: x.amax(-1), "reduction"),
    "equal operands": (TWO, lambda x, y: torch.where(x >= y, x, y), torch.maximum, "elementwise"),
    "a distance of 0": (
        TWO,
        lambda x, y: torch.where(x > y, x - y, y - x).sum(-1),
        lambda x, y: (x - y).abs().sum(-1),
        "reduction",
    ),
}
"""Correct operators that choose another gradient than their reference where there is no one gradient."""


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("family", ["normal", "uniform"])
def test_a_gradient_that_does_not_exist_is_not_judged(name: str, family: str) -> None:
    inputs, function, reference, kind = CHOICES[name]
    operator = Operator(
        "choice",
        function,
        inputs,
        {"torch": reference},
        kind=kind,
        dims={"N": 64, "M": 64},
        dtypes=("bfloat16",),
        backward=True,
    )
    for seed in (0, 1):
        assert backward(operator, inputs=family, seed=seed).verdict is Verdict.PASS


def test_a_wrong_gradient_beside_such_points_still_fails() -> None:
    operator = Operator(
        "choice",
        lambda x: x.clamp(-1.01, 1.01),
        ONE,
        {"torch": lambda x: x.clamp(-1, 1) * 1.02},
        kind="elementwise",
        dims={"N": 64, "M": 64},
        dtypes=("bfloat16",),
        backward=True,
    )
    assert backward(operator).verdict is Verdict.FAIL
