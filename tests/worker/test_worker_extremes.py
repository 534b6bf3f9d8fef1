"""Values, declarations and outputs at the edge of what can be judged: neither a false alarm nor a free pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from worker_notation import case_of, judged, run, unary

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model import Status, Verdict


def beyond(seed: int, dims: dict[str, int], dtype: str) -> list[torch.Tensor]:
    """Mostly arguments whose exponential only float64 holds, and two whose exponential float32 holds."""
    return [torch.tensor([400.0] * 10 + [-2000.0, 1.0])]


def exponential(function) -> Operator:
    return Operator("exponential", function, beyond, {"torch": torch.exp}, kind="transcendental")


def own(operator: Operator):
    return case_of(operator, layout="own", inputs="own")


def test_overflowing_neighbours_do_not_condemn_a_correct_zero() -> None:
    operator = exponential(torch.exp)
    assert judged(operator, own(operator)).verdict is Verdict.PASS


def test_overflowing_neighbours_do_not_excuse_a_wrong_value() -> None:
    operator = exponential(lambda x: torch.where(x == 1, 12345.0, x.exp()))
    assert judged(operator, own(operator)).verdict is Verdict.FAIL


def test_powers_far_beyond_the_format_pass_against_themselves() -> None:
    operator = unary(lambda x: x**64, lambda x: x**64)
    assert judged(operator, case_of(operator, N=4000, inputs="index_coded")).verdict is Verdict.PASS


def test_an_empty_product_is_judged() -> None:
    operator = unary(lambda x: x.prod(), lambda x: x.prod(), kind="auto")
    assert judged(operator, case_of(operator, N=0)).verdict is Verdict.PASS


def test_a_call_that_rejects_noisy_arguments_is_judged_all_the_same() -> None:
    def root(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.cholesky(torch.diag(x.abs() + 1))

    operator = unary(root, root, kind="auto")
    assert judged(operator, case_of(operator, N=8)).verdict is Verdict.PASS


@pytest.mark.parametrize("output", [lambda x: torch.complex(x, x), lambda x: x.to("meta")], ids=["complex", "meta"])
def test_outputs_that_cannot_be_compared_are_skipped_with_a_reason(output) -> None:
    observation = run(unary(output, output, kind="auto"))
    assert observation.status is Status.SKIPPED
    assert observation.reason is not None and "not compared yet" in observation.reason


def test_a_programming_error_is_no_domain() -> None:
    """Both raise the same, yet no inputs could ever be inside such a domain."""
    broken = unary(lambda x: x.no_such_method(), lambda x: x.no_such_method())
    observation = run(broken)
    assert observation.status is Status.RAISED
    assert observation.exception is not None and observation.exception.type == "AttributeError"


def test_a_kind_for_an_output_that_does_not_exist_is_a_mistake() -> None:
    operator = Operator(
        "pair", lambda x: x.max(-1), {"x": tensor("N M")}, {"torch": lambda x: x.max(-1)}, kind={"value": "exact"}
    )
    observation = run(operator)
    assert observation.status is Status.INPUTS_BROKEN
    assert observation.reason == "`kind` names 'value'; the outputs are values, indices"


def test_an_index_axis_that_does_not_exist_is_a_mistake() -> None:
    operator = Operator(
        "argmax",
        lambda x: x.argmax(-1),
        {"x": tensor("N M")},
        {"torch": lambda x: x.argmax(-1)},
        kind="index",
        contract=Contract(index=("x", 7)),
    )
    observation = run(operator)
    assert observation.status is Status.INPUTS_BROKEN
    assert observation.reason == "`Contract.index` names axis 7 of `x`, which has 2 axes"


@pytest.mark.parametrize(
    ("answer", "status"), [(np.bool_(True), Status.RAN), (1, Status.RAN), (np.bool_(False), Status.SKIPPED)]
)
def test_requires_may_answer_with_anything_true(answer: object, status: Status) -> None:
    operator = unary(lambda x: 2 * x, requires=lambda case: answer)
    assert run(operator).status is status


def of_three(function, reference) -> Operator:
    inputs = {name: tensor("N") for name in ("a", "b", "c")}
    return Operator("of_three", function, inputs, {"torch": reference}, kind="elementwise", dims={"N": 65})


def quotient(a, b, c):
    return a + 0.2 * (b / c)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "function", [quotient, lambda a, b, c: a + 0.2 * b / c, lambda a, b, c: torch.addcdiv(a, b, c, value=0.2)]
)
def test_products_of_subnormal_arguments_may_be_made_in_any_order(function, seed: int) -> None:
    operator = of_three(function, quotient)
    assert judged(operator, case_of(operator, inputs="subnormal", seed=seed)).verdict is Verdict.PASS


def test_subnormal_arguments_that_somebody_chose_excuse_nothing() -> None:
    def made(seed: int, dims: dict[str, int], dtype: str) -> dict[str, torch.Tensor]:
        return {"a": torch.ones(8), "b": torch.full((8,), 3e-39), "c": torch.full((8,), 4e-39)}

    reference = {"torch": quotient}
    wrong = Operator("chosen", lambda a, b, c: a + 0.2001 * (b / c), made, reference, kind="elementwise")
    assert judged(wrong, own(wrong)).verdict is Verdict.FAIL


INFINITE = {"x": (2, 8), "w": (8, 4), "v": (4, 3)}


def with_an_infinity(name: str):
    def made(seed: int, dims: dict[str, int], dtype: str) -> dict[str, torch.Tensor]:
        draw = torch.Generator().manual_seed(seed)
        values = {key: torch.randn(shape, generator=draw) for key, shape in INFINITE.items()}
        values[name][0, 0] = torch.inf
        return values

    return made


@pytest.mark.parametrize("name", INFINITE)
def test_products_with_an_infinity_may_be_associated_either_way(name: str) -> None:
    reference = {"torch": lambda x, w, v: x @ w @ v}
    operator = Operator("chained", lambda x, w, v: x @ (w @ v), with_an_infinity(name), reference, kind="matmul")
    assert judged(operator, own(operator)).verdict is Verdict.PASS


def of_products(function, reference, masked: bool = False) -> Operator:
    """On finite numbers but one negative infinity in `w`, or in every row of the `mask` that is added."""

    def made(seed: int, dims: dict[str, int], dtype: str) -> dict[str, torch.Tensor]:
        draw = torch.Generator().manual_seed(seed)
        values = {key: torch.randn(shape, generator=draw) for key, shape in INFINITE.items()}
        values["mask"] = torch.zeros(2, 4)
        (values["mask"][:, 0] if masked else values["w"][0])[...] = -torch.inf
        return values

    return Operator("products", function, made, {"torch": reference}, kind="auto")


def test_a_product_of_products_with_an_infinity_may_be_nan() -> None:
    operator = of_products(lambda x, w, v, mask: x @ (w @ v), lambda x, w, v, mask: (x @ w) @ v)
    assert judged(operator, own(operator)).verdict is Verdict.PASS


def test_a_single_product_with_an_infinity_may_not() -> None:
    operator = of_products(lambda x, w, v, mask: (x @ w) * torch.nan, lambda x, w, v, mask: x @ w)
    assert judged(operator, own(operator)).verdict is Verdict.FAIL


def test_what_a_mask_takes_out_of_a_product_may_not_be_nan() -> None:
    def attention(x, w, v, mask):
        return torch.softmax(torch.addmm(mask, x, w), -1) @ v

    operator = of_products(lambda x, w, v, mask: attention(x, w, v, mask) * torch.nan, attention, masked=True)
    assert judged(operator, own(operator)).verdict is Verdict.FAIL
