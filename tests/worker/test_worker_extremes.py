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
