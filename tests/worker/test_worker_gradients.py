"""Gradients against those of the reference: right ones pass, planted mistakes fail, what has none is skipped."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from worker_notation import case_of

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Direction, Judgement, Verdict
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.worker.case_run import run_case


def backward(operator: Operator, form: str = "backward", **fields: object) -> Judgement:
    case = replace(case_of(operator, **fields), direction=Direction(form))
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


# -- forms of the incoming gradient, and inputs that are zero, equal or extreme ----------------------------------------

FORMS = [str(direction) for direction in Direction if direction is not Direction.FORWARD]


class Handmade(torch.autograd.Function):
    """`function` of x with a backward pass of one's own: `rule(gradient, x)`."""

    @staticmethod
    def forward(ctx, x, function, rule):
        ctx.save_for_backward(x)
        ctx.rule = rule
        return function(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.rule(gradient, *ctx.saved_tensors), None, None


def handmade(rule, function=torch.square, **options: object) -> Operator:
    return Operator(
        "handmade",
        lambda x: Handmade.apply(x, function, rule),
        {"x": tensor("S H")},
        {"torch": function},
        **{"kind": "elementwise", "dims": {"S": 6, "H": 20}, "backward": True, **options},
    )


def as_if_dense(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Reads the incoming gradient with the strides of a dense one."""
    return 2 * x * gradient.as_strided(x.shape, (x.shape[1], 1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_right_gradient_passes_whatever_comes_in(form: str, dtype: str) -> None:
    assert backward(handmade(lambda gradient, x: 2 * x * gradient), form, dtype=dtype).verdict is Verdict.PASS


@pytest.mark.parametrize("form", FORMS)
def test_so_does_one_of_a_vector_and_of_a_number(form: str) -> None:
    for dims, reference in (("N", lambda x: x * x), ("N", lambda x: x.square().sum())):
        operator = Operator(
            "small", lambda x, f=reference: f(x), {"x": tensor(dims)}, {"torch": reference}, dims={"N": 9}
        )
        assert backward(operator, form).verdict is Verdict.PASS


@pytest.mark.parametrize("form", ["backward_view", "backward_transposed", "backward_expanded"])
def test_reading_the_incoming_gradient_as_if_it_were_dense_fails(form: str) -> None:
    assert backward(handmade(as_if_dense)).verdict is Verdict.PASS
    assert backward(handmade(as_if_dense), form).verdict is Verdict.FAIL


def test_what_is_the_same_in_every_launch_is_not_called_otherwise() -> None:
    found = backward(handmade(as_if_dense), "backward_expanded")
    assert (found.verdict, found.observation.repeat_mismatches) == (Verdict.FAIL, 0)


WRONG = {
    "a step in float16": (
        lambda gradient, x: (2 * x.float() * gradient.half().float()).to(x.dtype),
        torch.square,
        {"form": "backward_large", "dtype": "bfloat16"},
    ),
    "something that does not come from the incoming gradient": (
        lambda gradient, x: 2 * x * gradient + 1e-3 * x,
        torch.square,
        {"form": "backward_zero"},
    ),
    "a product divided by its factors": (
        lambda gradient, x: (gradient * x.prod(-1)).unsqueeze(-1) / x,
        lambda x: x.prod(-1),
        {"inputs": "signed_zeros", "H": 3},
    ),
    "an exponential that overflows": (
        lambda gradient, x: gradient * x.exp() / (1 + x.exp()),
        torch.nn.functional.softplus,
        {"inputs": "large"},
    ),
}
"""Backward pass, function, and the case that shows what the everyday one does not."""


@pytest.mark.parametrize("name", WRONG)
def test_a_gradient_wrong_for_extremes_alone_fails_there(name: str) -> None:
    rule, function, case = WRONG[name]
    everyday = {key: value for key, value in case.items() if key in ("dtype", "H")}
    assert backward(handmade(rule, function), **case).verdict is Verdict.FAIL
    assert (backward(handmade(rule, function), **everyday).verdict is Verdict.PASS) == ("incoming" not in name)


class Taken(torch.autograd.Function):
    """Rows by index whose gradients are written over each other."""

    @staticmethod
    def forward(ctx, x, ids):
        ctx.save_for_backward(ids)
        ctx.rows = len(x)
        return x[ids]

    @staticmethod
    def backward(ctx, gradient):
        into = gradient.new_zeros(ctx.rows, gradient.shape[1])
        into[ctx.saved_tensors[0]] = gradient
        return into, None


@pytest.mark.parametrize("family", ["normal", "ties"])
def test_a_gradient_that_overwrites_duplicates_fails_and_is_not_called_a_race(family: str) -> None:
    operator = Operator(
        "taken",
        Taken.apply,
        {
            "x": tensor("N D"),
            "ids": tensor("M", dtype="int64", values=lambda seed, dims, args: [i % 5 for i in range(dims["M"])]),
        },
        {"torch": lambda x, ids: x[ids]},
        kind="exact",
        dims={"N": 8, "M": 12, "D": 4},
    )
    found = backward(operator, inputs=family)
    assert (found.verdict, found.observation.repeat_mismatches) == (Verdict.FAIL, 0)


TIED = {
    "one of many equal maxima": (lambda x: x.max(-1).values, lambda x: x.amax(-1)),
    "the last of the largest": (
        lambda x: x.flip(-1).topk(3, -1).values,
        lambda x: x.sort(-1, descending=True).values[..., :3],
    ),
    "a median": (lambda x: x.sort(-1).values[..., x.shape[-1] // 2], lambda x: x.kthvalue(x.shape[-1] // 2 + 1).values),
}


@pytest.mark.parametrize("name", TIED)
def test_any_choice_among_equal_values_is_right(name: str) -> None:
    function, reference = TIED[name]
    for dtype, seed in (("float32", 0), ("float32", 1), ("bfloat16", 2)):
        operator = Operator("tied", function, ONE, {"torch": reference}, kind="exact", dims={"N": 16, "M": 48})
        for inputs in ("ties", "signed_zeros"):
            assert backward(operator, inputs=inputs, seed=seed, dtype=dtype).verdict is Verdict.PASS


def test_a_gradient_that_is_infinite_or_undefined_is_not_specified() -> None:
    root = Operator(
        "root",
        lambda x: torch.linalg.vector_norm(x, dim=-1),
        ONE,
        {"torch": lambda x: x.square().sum(-1).sqrt()},
        dims={"N": 16, "M": 1},
    )
    assert backward(root, inputs="signed_zeros").verdict is Verdict.PASS


@pytest.mark.parametrize(("form", "inputs"), [*product(FORMS, ["normal"]), *product(FORMS[:4:3], ["ties", "large"])])
def test_a_norm_written_out_agrees_with_the_fused_one(form: str, inputs: str) -> None:
    def written(x, w):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * w.float()).to(x.dtype)

    operator = Operator(
        "rms_norm",
        written,
        {"x": tensor("S H"), "w": tensor("H")},
        {"torch": lambda x, w: torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6)},
        kind="norm",
        dims={"S": 6, "H": 40},
    )
    assert backward(operator, form, inputs=inputs).verdict is Verdict.PASS
