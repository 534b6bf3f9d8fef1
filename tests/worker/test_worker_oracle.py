"""The derived precise reference of a library function, checked where the framework's float64 is known to be wrong."""

from __future__ import annotations

import mpmath
import pytest
import torch
from torch.nn import functional as F  # noqa: N812 - what torch users call it
from worker_notation import run, unary

from opsdebug_ci.model import ReferenceKind
from opsdebug_ci.model.argument import tensor
from opsdebug_ci.numerics.lifting import call_lifted
from opsdebug_ci.numerics.mp import evaluate
from opsdebug_ci.worker.oracle import SAMPLED, FunctionRecorder, put_right


def derived(function, x: torch.Tensor) -> tuple[torch.Tensor, str]:
    recorder = FunctionRecorder()
    outputs, source = put_right([call_lifted(lambda: function(x), recorder)], recorder, seed=0)
    return outputs[0], source


def test_the_tail_of_gelu_is_put_right() -> None:
    x = torch.tensor([-12.0, -8.0, 0.5], dtype=torch.float64)
    assert F.gelu(x)[0] == 0, "the framework's own float64 value, which is wrong"
    values, source = derived(F.gelu, x)
    with mpmath.workdps(50):
        truth = [float(mpmath.mpf(v) * mpmath.ncdf(mpmath.mpf(v))) for v in x.tolist()]
    assert values.tolist() == pytest.approx(truth, rel=1e-15)
    assert source == "the torch reference in float64, 3 elements by mpmath"


def test_only_a_sample_is_evaluated_with_both_extremes_in_it() -> None:
    x = torch.linspace(-8.0, 8.0, 5000, dtype=torch.float64)
    values, source = derived(F.gelu, x)
    assert source == f"the torch reference in float64, {SAMPLED + 2} elements by mpmath"
    assert values[0].item() == pytest.approx(-4.976768e-15, rel=1e-6)
    assert int((values != F.gelu(x)).sum()) <= SAMPLED + 2


def test_variants_are_told_apart() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    tanh, _ = derived(lambda t: F.gelu(t, approximate="tanh"), x)
    assert torch.allclose(tanh, F.gelu(x, approximate="tanh"), rtol=1e-14)
    assert not torch.allclose(tanh, F.gelu(x), rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [lambda t: t.exp() + 1, lambda t: t.sum(), lambda t: F.softplus(t, beta=2.0), lambda t: t.exp()[:1]],
    ids=["composition", "reduction", "parameters", "another shape"],
)
def test_anything_else_is_left_as_it_is(function) -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    values, source = derived(function, x)
    assert torch.equal(values, function(x))
    assert source == "the torch reference in float64"


def test_arguments_that_are_not_finite_keep_the_frameworks_answer() -> None:
    x = torch.tensor([float("nan"), float("inf"), -float("inf")], dtype=torch.float64)
    values, source = derived(torch.exp, x)
    assert values.tolist()[1:] == [float("inf"), 0.0]
    assert values.isnan()[0]
    assert source == "the torch reference in float64, 0 elements by mpmath"


def test_the_reading_says_where_the_precise_reference_comes_from() -> None:
    operator = unary(torch.exp, torch.exp, kind="transcendental")
    precise = next(r for r in run(operator, N=6).references if r.reference is ReferenceKind.PRECISE)
    assert (precise.answered, precise.derived) == (True, True)
    assert precise.reason == "the torch reference in float64, 6 elements by mpmath"


@pytest.mark.parametrize("relative", [0.0, 1e-9], ids=["true", "wrong"])
@pytest.mark.parametrize("kind", ["auto", "transcendental"])
def test_true_values_are_right_where_the_framework_is_off_in_float64(kind: str, relative: float) -> None:
    def bessel(x: torch.Tensor) -> torch.Tensor:
        return evaluate("special_bessel_j0", x.double()).to(x.dtype) * (1.0 + relative)

    operator = unary(bessel, torch.special.bessel_j0, kind=kind, dtypes=("float64",))
    values = 40.0 * torch.rand(600, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    operator.inputs = {"x": tensor("N", values=lambda *_: values)}
    output = run(operator, N=600, dtype="float64").outputs[0]
    assert bool(output.rejected) is bool(relative)
    assert output.unspecified > 0 or relative
