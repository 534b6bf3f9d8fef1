"""Which precision a case is judged by: what the contract declares, and what can be measured of its references."""

from __future__ import annotations

import pytest
import torch
from worker_notation import case_of, judged, unary

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model import Verdict


def matmul(function, *, allow: tuple[str, ...] = (), dtype: str = "float32") -> Operator:
    return Operator(
        "matmul",
        function,
        {"a": tensor("M K"), "b": tensor("K N")},
        {"torch": lambda a, b: a @ b},
        kind="matmul",
        dtypes=(dtype,),
        dims={"M": 16, "K": 256, "N": 16},
        contract=Contract(allow=allow),
    )


def tf32(values: torch.Tensor) -> torch.Tensor:
    """Round to 11 significant bits, to nearest, on the bits."""
    bits = values.view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def tf32_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return tf32(a) @ tf32(b)


@pytest.mark.parametrize(("allow", "verdict"), [((), Verdict.FAIL), (("tf32",), Verdict.PASS)])
def test_tensor_core_operands_pass_when_they_are_declared(allow: tuple[str, ...], verdict: Verdict) -> None:
    operator = matmul(tf32_matmul, allow=allow)
    assert judged(operator, case_of(operator)).verdict is verdict


def test_a_declaration_of_tf32_excuses_no_coarser_cast() -> None:
    operator = matmul(lambda a, b: a.bfloat16().float() @ b.bfloat16().float(), allow=("tf32",))
    assert judged(operator, case_of(operator)).verdict is Verdict.FAIL


def attention(function, *, allow: tuple[str, ...]) -> Operator:
    return Operator(
        "attention",
        function,
        {"q": tensor("S D"), "k": tensor("S D"), "v": tensor("S D")},
        {"torch": lambda q, k, v: (torch.softmax(q.float() @ k.float().T / 4, -1) @ v.float()).to(q.dtype)},
        kind="attention",
        dtypes=("bfloat16",),
        dims={"S": 64, "D": 16},
        contract=Contract(allow=allow),
    )


def low_precision_probabilities(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    p = torch.softmax(q.float() @ k.float().T / 4, -1).to(q.dtype)
    return (p.float() @ v.float()).to(q.dtype)


@pytest.mark.parametrize(
    ("allow", "verdict"), [((), Verdict.FAIL), (("low_precision_p",), Verdict.PASS)], ids=["silent", "declared"]
)
def test_probabilities_stored_in_half_precision_pass_when_declared(allow, verdict) -> None:
    operator = attention(low_precision_probabilities, allow=allow)
    assert judged(operator, case_of(operator)).verdict is verdict


def test_a_reference_that_means_its_bits_is_judged_on_perturbed_arguments() -> None:
    """It cannot run in float64, so no precise reference is derived; a correct operator is left alone all the same."""

    def through_bits(x: torch.Tensor) -> torch.Tensor:
        return (x.view(torch.int32) & 0x7FFFFFFF).view(torch.float32).exp()

    right = unary(lambda x: torch.exp2(x.abs() * 1.4426950408889634), through_bits, kind="transcendental")
    wrong = unary(lambda x: x.abs().exp() * (1 + 1e-4), through_bits, kind="transcendental")
    assert judged(right, case_of(right, N=500)).verdict is Verdict.PASS
    assert judged(wrong, case_of(wrong, N=500)).verdict is Verdict.FAIL


def test_steps_hidden_in_numpy_are_not_taken_for_exact() -> None:
    def half_hidden(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy().cumsum()) + 1.0

    def reversed_sum(x: torch.Tensor) -> torch.Tensor:
        return x.sum() - x.flip(0).cumsum(0).flip(0) + x + 1.0

    right = unary(reversed_sum, half_hidden, kind="auto")
    assert judged(right, case_of(right, N=2000)).verdict is Verdict.PASS


def test_selections_are_exact_even_where_the_kind_is_left_open() -> None:
    right = unary(torch.relu, torch.relu, kind="auto")
    nudged = unary(lambda x: torch.relu(x) * (1 + 2.0**-22), torch.relu, kind="auto")
    assert judged(right, case_of(right, N=500)).verdict is Verdict.PASS
    assert judged(nudged, case_of(nudged, N=500)).verdict is Verdict.FAIL


def rounded_gate(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The gate is rounded to the input dtype before the product, as the framework's own composition does."""
    return torch.nn.functional.silu(a) * b


@pytest.mark.parametrize("kind", ["auto", "elementwise"])
def test_any_kind_may_round_in_between_just_as_the_framework_does(kind: str) -> None:
    operator = Operator(
        "gate",
        rounded_gate,
        {"a": tensor("N"), "b": tensor("N")},
        {"torch": rounded_gate},
        kind=kind,
        dtypes=("float16",),
        dims={"N": 5000},
    )
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS
