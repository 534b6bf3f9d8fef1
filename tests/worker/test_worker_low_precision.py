"""Open kinds whose framework rounds its steps to half precision: right operators pass, wrong ones still fail."""

from __future__ import annotations

import pytest
import torch
from worker_notation import case_of, judged, unary

from opsdebug_ci import Operator, tensor
from opsdebug_ci.model import Confidence, Judgement, Verdict, Zone

F = torch.nn.functional


def of(function, reference, dtype: str, kind: str = "auto") -> Judgement:
    operator = unary(function, reference, kind=kind, dtypes=(dtype,))
    return judged(operator, case_of(operator, N=4000))


def zone(judgement: Judgement) -> Zone:
    worst = judgement.observation.worst_output
    assert worst is not None
    assert worst.accuracy is not None
    return worst.accuracy.zone


def shrink(x: torch.Tensor) -> torch.Tensor:
    """x - tanh(x) loses most of its digits near 0 when tanh is rounded to half precision first."""
    return x - torch.tanh(x)


def difference(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(x) - torch.exp(-x)


STEPS = {"x - tanh(x)": shrink, "exp(x) - exp(-x)": difference, "0.1 x + 0.3": lambda x: x * 0.1 + 0.3}
"""Compositions whose rounded steps the framework shows at half precision."""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", STEPS)
def test_doing_what_the_framework_does_is_amber_and_not_inconclusive(name: str, dtype: str) -> None:
    judgement = of(STEPS[name], STEPS[name], dtype)
    assert judgement.verdict is Verdict.PASS
    assert zone(judgement) is Zone.AMBER
    assert any("its kind is left open" in finding.statement for finding in judgement.findings)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", STEPS)
def test_doing_better_than_the_framework_is_green(name: str, dtype: str) -> None:
    judgement = of(lambda x: STEPS[name](x.float()).to(x.dtype), STEPS[name], dtype)
    assert judgement.verdict is Verdict.PASS
    assert zone(judgement) is Zone.GREEN


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", STEPS)
def test_an_error_beyond_what_the_framework_licenses_fails(name: str, dtype: str) -> None:
    judgement = of(lambda x: (STEPS[name](x.float()) + 0.1).to(x.dtype), STEPS[name], dtype)
    assert judgement.verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_framework_that_keeps_its_steps_wide_licenses_nothing(dtype: str) -> None:
    """A single call rounds once, so half-precision steps are not excused by it although the kind is open."""
    wide = of(lambda x: F.silu(x.float()).to(x.dtype), F.silu, dtype)
    narrow = of(lambda x: x * (1 / (1 + torch.exp(-x))), F.silu, dtype)
    assert zone(wide) is Zone.GREEN
    assert zone(narrow) is not Zone.GREEN


def test_a_declared_kind_is_not_licensed_but_the_framework_s_own_answer_is_right() -> None:
    assert of(shrink, shrink, "float16", kind="elementwise").verdict is Verdict.PASS
    nudged = of(lambda x: shrink(x) * (1 + 2.0**-8), shrink, "float16", kind="elementwise")
    assert nudged.verdict is Verdict.FAIL


def test_a_constant_meets_the_operator_as_torch_rounds_it() -> None:
    """x % 0.7 in float32: 0.7 in float64 would put elements on other sides of a multiple."""
    right = of(lambda x: torch.remainder(x, torch.tensor(0.7)), lambda x: x % 0.7, "float32")
    wrong = of(lambda x: torch.remainder(x, torch.tensor(0.70001)), lambda x: x % 0.7, "float32")
    assert right.verdict is Verdict.PASS
    assert wrong.verdict is Verdict.FAIL


def test_grid_sampling_of_the_framework_itself_is_settled() -> None:
    def sample(x: torch.Tensor) -> torch.Tensor:
        image, grid = x[:972].reshape(1, 3, 18, 18), torch.tanh(x[1000:1200]).reshape(1, 10, 10, 2)
        return F.grid_sample(image, grid, align_corners=False)

    assert of(sample, sample, "bfloat16").verdict is Verdict.PASS
    assert of(lambda x: sample(x) + 1.0, sample, "bfloat16").verdict is Verdict.FAIL


def plus(x, y):
    return x + y


def rounded_plus(x, y):
    return torch.from_numpy(x.numpy() + y.numpy())


@pytest.mark.parametrize("declared", [{}, {"precise": lambda x, y: x.double() + y.double()}])
def test_a_naive_reference_in_the_operators_own_precision_leaves_nothing_open(declared: dict) -> None:
    inputs = {"x": tensor("N"), "y": tensor("N")}
    references = {"torch": plus, "naive": rounded_plus, **declared}
    operator = Operator("plus", plus, inputs, references, kind="elementwise", dims={"N": 4096})
    found = judged(operator, case_of(operator))
    assert (found.verdict, found.reference.confidence) == (Verdict.PASS, Confidence.MEDIUM)


def in_single_steps(q, k, v, factor: float = 1.0):
    scores = (q @ k.mT) * q.shape[-1] ** -0.5
    return factor * (torch.softmax(scores, -1) @ v)


def attention(function) -> Operator:
    inputs = {"q": tensor("B S D"), "k": tensor("B S D"), "v": tensor("B S D")}
    reference = {"torch": F.scaled_dot_product_attention}
    dims = {"B": 4, "S": 12, "D": 16}
    return Operator("attention", function, inputs, reference, dims=dims, dtypes=("float16", "bfloat16"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("inputs", ["normal", "shifted", "heavy"])
@pytest.mark.parametrize("seed", range(3))
def test_single_steps_pass_although_the_framework_keeps_its_own_wide(dtype: str, inputs: str, seed: int) -> None:
    operator = attention(in_single_steps)
    assert judged(operator, case_of(operator, dtype=dtype, inputs=inputs, seed=seed)).verdict is Verdict.PASS


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_single_steps_do_not_excuse_a_wrong_factor(dtype: str) -> None:
    operator = attention(lambda q, k, v: in_single_steps(q, k, v, 1.02))
    assert judged(operator, case_of(operator, dtype=dtype)).verdict is Verdict.FAIL
