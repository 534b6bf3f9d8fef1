"""The framework's own CPU calls as operators under test, judged by the catalogue's naive and precise references.

Every one passes, or what is held against it is named below, with its number checked here by mpmath. The list is of the
x86-64 kernels; a kernel for other vector units may do better, and need not show what is named.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mpmath
import pytest
import torch
from framework_operators import OPERATORS
from torch.nn import functional as F  # noqa: N812 - what torch users call it

from opsdebug_ci import Operator
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Case, Judgement, Observation, OperatorDescription, ReferenceKind, Stage, Verdict
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.operators import describe, discover
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.stages import cases
from opsdebug_ci.worker.case_run import run_case

HERE = Path(__file__).parent
BUDGET = 24
"""Cases of each operator: the everyday ones of every dtype, those telling for its kind, some of the others."""

SETTLED = (Verdict.PASS, Verdict.SKIPPED)
HALF = ("float16", "bfloat16")
PRECISION = {torch.float16: 11, torch.bfloat16: 8}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="the disagreements below are those of x86-64 kernels"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Where the framework is off."""

    operators: tuple[str, ...]
    """Names of the operators."""

    returns: str
    """What it returns, and what the truth is."""

    applies: Callable[[Judgement], bool]
    """Whether a failed case is an instance of it."""


def in_half(judgement: Judgement) -> bool:
    return judgement.case.dtype in HALF


def only_nan_for_infinity(judgement: Judgement) -> bool:
    accuracy = judgement.observation.outputs[0].accuracy
    cells = () if accuracy is None else accuracy.class_mismatches
    return {(cell.expected, cell.actual) for cell in cells} == {("+inf", "nan")}


def only_flushed(judgement: Judgement) -> bool:
    accuracy = judgement.observation.outputs[0].accuracy
    cells = () if accuracy is None else accuracy.class_mismatches
    return bool(cells) and {(cell.expected, cell.actual[1:]) for cell in cells} == {("subnormal", "0")}


DISAGREEMENTS = [
    Disagreement(
        operators=("torch_mul_add",),
        returns="in half precision the product is rounded before the sum: (1 + u)**2 - (1 + 2u) is 0 instead of u**2",
        applies=in_half,
    ),
    Disagreement(
        operators=("torch_swiglu",),
        returns="in half precision silu(gate) is rounded before the product: more than half a spacing off",
        applies=in_half,
    ),
    Disagreement(
        operators=("torch_gelu_add_residual",),
        returns="in half precision gelu(x) is rounded before the sum: gelu(1) - 0.84131 is 0 instead of 3e-5",
        applies=in_half,
    ),
    Disagreement(
        operators=("torch_log_softmax",),
        returns="in half precision log(sum) is rounded before the difference: of (0, -5.6) it makes 0.0 in bfloat16",
        applies=in_half,
    ),
    Disagreement(
        operators=("torch_logsumexp",),
        returns="in half precision every step is rounded: more than half a spacing off",
        applies=in_half,
    ),
    Disagreement(
        operators=("torch_attention", "torch_attention_causal"),
        returns="in half precision the weights are rounded before the product: many spacings off where it cancels",
        applies=in_half,
    ),
    Disagreement(
        operators=("torch_gelu", "torch_gelu_add_residual"),
        returns="the kernel for 512-bit vectors makes NaN of gelu(+inf)",
        applies=only_nan_for_infinity,
    ),
    Disagreement(
        operators=("torch_matmul", "torch_matmul_add_bias", "torch_conv2d"),
        returns="bfloat16 products on processors with an instruction for them flush subnormal results to zero",
        applies=only_flushed,
    ),
]
"""Every disagreement, each shown by hand in a test below."""


@cache
def descriptions() -> dict[str, OperatorDescription]:
    found = discover(("framework_operators.py",), HERE)
    assert found.faults == ()
    return {description.name: description for description in describe(found, HERE).operators}


@cache
def judgements(operator: Operator) -> tuple[Judgement, ...]:
    """Of some cases of the smoke stage; causes are not sought."""
    references = (ReferenceKind.NAIVE, ReferenceKind.PRECISE)
    planned = cases(descriptions()[operator.name], Stage.SMOKE, Axes(), references, ("cpu",), budget=BUDGET)
    return tuple(judge(case, observed(operator, case), operator.contract) for case in planned)


def observed(operator: Operator, case: Case) -> Observation:
    return run_case(operator, RunCase(case=case), lambda breadcrumb: None, lambda arguments, outputs: None)


def named(judgement: Judgement) -> bool:
    name = judgement.case.operator
    return any(name in known.operators and known.applies(judgement) for known in DISAGREEMENTS)


def test_every_torch_operator_of_the_catalogue_is_here() -> None:
    assert len(OPERATORS) == len(descriptions()) == 26
    assert all(set(operator.dtypes) == {"float32", *HALF} for operator in OPERATORS)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_it_passes_or_disagrees_as_named(operator: Operator) -> None:
    judged = judgements(operator)
    alarms = [judgement for judgement in judged if judgement.verdict not in SETTLED]
    unnamed = [(j.case.name, j.verdict, [f.statement for f in j.findings]) for j in alarms if not named(j)]
    assert unnamed == []
    assert {judgement.verdict for judgement in alarms} <= {Verdict.FAIL}  # never inconclusive: two references agree
    assert sum(judgement.verdict is Verdict.PASS for judgement in judged) >= BUDGET // 2


@pytest.mark.parametrize(
    "known", [d for d in DISAGREEMENTS if d.applies is in_half], ids=lambda known: known.operators[0]
)
def test_what_is_named_is_found_in_both_half_formats(known: Disagreement) -> None:
    for operator in (operator for operator in OPERATORS if operator.name in known.operators):
        failed = {j.case.dtype for j in judgements(operator) if j.verdict is Verdict.FAIL and known.applies(j)}
        assert failed == set(HALF)


def spacings(got: torch.Tensor, truth: mpmath.mpf) -> float:
    """How many spacings of its format `got` is away from `truth`."""
    exponent = int(mpmath.frexp(truth)[1])
    return float(abs(got.item() - truth) / mpmath.ldexp(1, exponent - PRECISION[got.dtype]))


def number(value: torch.Tensor) -> mpmath.mpf:
    return mpmath.mpf(value.item())


@pytest.fixture
def precise_numbers() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


each_half = pytest.mark.parametrize("dtype", PRECISION, ids=str)


@each_half
def test_a_product_is_rounded_before_the_sum(dtype: torch.dtype, precise_numbers: None) -> None:
    u = 2.0 ** (1 - PRECISION[dtype])
    a, c = torch.tensor(1 + u, dtype=dtype), torch.tensor(-1 - 2 * u, dtype=dtype)
    assert number(a) ** 2 + number(c) == u**2
    assert (a * a + c).item() == 0.0
    assert (a.float() * a.float() + c.float()).to(dtype).item() == u**2  # float32 steps get it right


@each_half
def test_an_activation_is_rounded_before_the_product(dtype: torch.dtype, precise_numbers: None) -> None:
    x = torch.linspace(-2, 2, 64).to(dtype)
    got = F.silu(x) * x
    off = [spacings(g, number(v) ** 2 / (1 + mpmath.exp(-number(v)))) for g, v in zip(got, x, strict=True)]
    assert max(off) > 0.7  # half a spacing is correct rounding


@each_half
def test_an_activation_is_rounded_before_the_sum(dtype: torch.dtype, precise_numbers: None) -> None:
    x = torch.ones(16, dtype=dtype)
    residual = -F.gelu(x)
    truth = mpmath.ncdf(1) + number(residual[0])
    assert truth != 0
    assert (F.gelu(x) + residual)[0].item() == 0.0


@each_half
def test_a_logarithm_is_rounded_before_the_difference(dtype: torch.dtype, precise_numbers: None) -> None:
    x = torch.tensor([0.0, -7.6], dtype=dtype)
    truth = -mpmath.log(1 + mpmath.exp(number(x[1])))
    assert abs(F.log_softmax(x, -1)[0].item() - truth) > 0.9 * abs(truth)
    assert spacings(F.log_softmax(x.float(), -1)[0].to(dtype), truth) < 0.51


@each_half
def test_steps_of_logsumexp_are_rounded(dtype: torch.dtype, precise_numbers: None) -> None:
    x = torch.randn(64, 16, generator=torch.Generator().manual_seed(0)).to(dtype)
    truths = [mpmath.log(mpmath.fsum(mpmath.exp(number(v)) for v in row)) for row in x]
    assert max(map(spacings, torch.logsumexp(x, -1), truths)) > 0.7


@each_half
def test_weights_of_attention_are_rounded(dtype: torch.dtype, precise_numbers: None) -> None:
    """Values that cancel: one key has the value 1, the others together almost -1 of its weight."""
    q = torch.ones(1, 1, 1, 1, dtype=dtype)
    k = torch.tensor([1.0, 0.25, -0.5, 0.75], dtype=dtype)
    weights = [mpmath.exp(number(key)) for key in k]
    share = float(weights[0] / mpmath.fsum(weights[1:]))
    v = torch.tensor([1.0, -share, -share, -share]).to(dtype)
    truth = mpmath.fsum(w * number(value) for w, value in zip(weights, v, strict=True)) / mpmath.fsum(weights)
    got = F.scaled_dot_product_attention(q, k.reshape(1, 1, 4, 1), v.reshape(1, 1, 4, 1)).flatten()[0]
    assert spacings(got, truth) > 8


def test_gelu_of_infinity_may_be_nan() -> None:
    got = F.gelu(torch.full((64,), torch.inf))[0].item()
    if got == torch.inf:
        pytest.skip("the kernel for this processor returns +inf")
    assert math.isnan(got)
    assert F.gelu(torch.full((64,), 1e30))[0].item() == pytest.approx(1e30)  # what it tends to


def test_products_in_bfloat16_may_flush() -> None:
    a, b = torch.full((48, 17), 2.0**-64).bfloat16(), torch.full((17, 48), 2.0**-67).bfloat16()
    truth = 17 * 2.0**-131
    assert truth > torch.tensor(1, dtype=torch.int16).view(torch.bfloat16).item()  # bfloat16 can say it
    got = (a @ b)[0, 0].item()
    if got != 0:
        pytest.skip("this processor multiplies bfloat16 without flushing")
    assert (a.float() @ b.float())[0, 0].item() == pytest.approx(truth)
