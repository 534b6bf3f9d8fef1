"""Lifted runs: what becomes float64, what stays, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch
from torch.nn import functional as F  # noqa: N812 - what torch users call it

from opsdebug_ci.errors import ReferenceFaultError
from opsdebug_ci.numerics.lifting import call_lifted, lifted, widen

X = torch.tensor([0.1, 1 / 3, 2.7, -5.123456789], dtype=torch.float64)

CASTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "half": lambda x: x.half(),
    "float": lambda x: x.float(),
    "bfloat16": lambda x: x.bfloat16(),
    "to dtype": lambda x: x.to(torch.float16),
    "to keyword": lambda x: x.to(dtype=torch.bfloat16),
    "to device and dtype": lambda x: x.to("cpu", torch.float32),
    "to another tensor": lambda x: x.to(torch.zeros(1)),
    "type": lambda x: x.type(torch.float16),
    "type_as": lambda x: x.type_as(torch.ones(2, dtype=torch.float16)),
    "sum keyword": lambda x: x.unsqueeze(0).sum(0, dtype=torch.float16),
    "softmax keyword": lambda x: x - torch.softmax(x, 0, dtype=torch.float32) + torch.softmax(x, 0),
    "cumsum keyword": lambda x: torch.cumsum(x.unsqueeze(0), 0, dtype=torch.float32),
    "empty_like": lambda x: torch.empty_like(x, dtype=torch.float16).copy_(x),
    "zeros keyword": lambda x: torch.zeros(4, dtype=torch.float16) + x,
    "zeros default": lambda x: torch.zeros(4).copy_(x),
    "full default": lambda x: torch.full((4,), 1.0) * x,
    "new_zeros": lambda x: x.new_zeros(4, dtype=torch.bfloat16).add_(x),
    "there and back": lambda x: x.half().float().bfloat16().double(),
    "cast of an intermediate": lambda x: (x + 1).half() - 1,
}


@pytest.mark.parametrize("spelling", CASTS)
def test_a_cast_to_a_working_precision_changes_nothing(spelling: str) -> None:
    result = call_lifted(lambda: CASTS[spelling](X))
    assert result.dtype is torch.float64
    assert torch.allclose(result.flatten(), X, rtol=1e-15, atol=0)


def test_the_same_casts_do_change_values_unlifted() -> None:
    assert not torch.allclose(X.half().double(), X, rtol=1e-15, atol=0)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.bool, torch.uint8])
def test_a_cast_to_integers_means_what_it_says(dtype: torch.dtype) -> None:
    result = call_lifted(lambda: X.abs().to(dtype))
    assert result.dtype is dtype
    assert result.tolist() == [True if dtype is torch.bool else int(abs(v)) for v in X]


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_a_cast_to_eight_bits_means_what_it_says(dtype: torch.dtype) -> None:
    result = call_lifted(lambda: X.to(dtype).float())
    assert result.dtype is torch.float64
    assert torch.equal(result, X.to(dtype).double())
    assert not torch.equal(result, X)


def test_reinterpreting_float_bits_is_refused() -> None:
    with pytest.raises(ReferenceFaultError, match="reinterprets float bits"):
        call_lifted(lambda: X.view(torch.int64))
    assert torch.equal(call_lifted(lambda: torch.arange(4).view(torch.int32)), torch.arange(4).view(torch.int32))


def test_constants_held_in_a_working_precision_meet_float64_arguments() -> None:
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = torch.tensor([[0.1, 0.2]], dtype=torch.float64)
    result = call_lifted(lambda: torch.mm(x, weight))
    assert torch.allclose(result, torch.tensor([[0.7, 1.0]], dtype=torch.float64), rtol=1e-15)


def test_complex_numbers_are_lifted_too() -> None:
    result = call_lifted(lambda: torch.view_as_real(torch.complex(X, X).to(torch.complex64)))
    assert result.dtype is torch.float64
    assert torch.equal(result[:, 0], X)


def test_layer_norm_of_a_reference_written_for_half_precision_is_exact() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x.float(), (4,), eps=1e-5).to(torch.float16)

    with mpmath.workdps(40):
        values = [mpmath.mpf(float(v)) for v in X]
        mean = mpmath.fsum(values) / 4
        variance = mpmath.fsum([(v - mean) ** 2 for v in values]) / 4
        truth = [float((v - mean) / mpmath.sqrt(variance + mpmath.mpf(1e-5))) for v in values]
    assert call_lifted(lambda: reference(X)).tolist() == pytest.approx(truth, rel=1e-13)


def test_fused_attention_is_taken_apart_and_exact() -> None:
    q, k, v = (torch.randn(1, 1, 3, 4, generator=torch.Generator().manual_seed(i)).double() for i in range(3))
    seen: list[str] = []

    def watch(func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        seen.append(func.overloadpacket.__name__)
        return result

    result = call_lifted(lambda: F.scaled_dot_product_attention(q, k, v), watch)
    assert seen.count("bmm") == 2
    for row in range(3):
        with mpmath.workdps(40):
            scores = [mpmath.fdot(q[0, 0, row].tolist(), k[0, 0, j].tolist()) / 2 for j in range(3)]
            weights = [mpmath.exp(s) for s in scores]
            for column in range(4):
                truth = mpmath.fdot(weights, v[0, 0, :, column].tolist()) / mpmath.fsum(weights)
                assert float(result[0, 0, row, column]) == pytest.approx(float(truth), rel=1e-13)


def test_the_observer_sees_an_in_place_call_s_arguments_as_they_were() -> None:
    seen: list[torch.Tensor] = []

    def watch(func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        if func.overloadpacket.__name__ == "exp_":
            seen.append(args[0])
        return result

    call_lifted(lambda: X.clone().exp_(), watch)
    assert len(seen) == 1
    assert torch.equal(seen[0], X)


def test_an_in_place_call_still_writes_its_argument() -> None:
    buffer = torch.zeros(4, dtype=torch.float64)
    call_lifted(lambda: buffer.add_(X))
    assert torch.equal(buffer, X)


DRAWS: dict[str, Callable[[torch.Tensor, torch.Generator], torch.Tensor]] = {
    "of the default dtype": lambda x, g: torch.rand(x.shape, generator=g),
    "of an argument's dtype": lambda x, g: torch.randn(x.shape, generator=g, dtype=x.dtype),
    "of a dtype": lambda x, g: torch.rand(x.shape, generator=g, dtype=torch.float32),
    "like an argument": lambda x, g: torch.rand_like(x, generator=g),
    "into a buffer": lambda x, g: torch.empty(x.shape).uniform_(-1, 1, generator=g),
    "into a copy": lambda x, g: x.clone().exponential_(generator=g),
    "a mask": lambda x, g: (torch.rand(x.shape, generator=g) > 0.5).float(),
    "coins": lambda x, g: torch.empty_like(x).bernoulli_(0.25, generator=g),
    "whole numbers": lambda x, g: torch.randint(9, x.shape, generator=g, dtype=x.dtype),
    "an order": lambda x, g: x[torch.randperm(len(x), generator=g)],
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_random_numbers_are_those_the_reference_draws(
    draw: Callable[[torch.Tensor, torch.Generator], torch.Tensor],
) -> None:
    x = torch.linspace(0, 1, 40)
    expected = draw(x, torch.Generator().manual_seed(3))
    drawn = call_lifted(lambda: draw(widen(x), torch.Generator().manual_seed(3)))
    assert drawn.dtype is torch.float64
    assert torch.equal(drawn, expected.double())


@pytest.mark.parametrize("fails", [False, True])
def test_no_global_state_is_left(fails: bool) -> None:
    before = torch.get_default_dtype(), torch.is_grad_enabled(), torch.backends.cuda.flash_sdp_enabled()

    def reference() -> torch.Tensor:
        assert torch.get_default_dtype() is torch.float64
        assert not torch.is_grad_enabled()
        if fails:
            raise ValueError("broken reference")
        return torch.ones(2)

    if fails:
        with pytest.raises(ValueError, match="broken reference"):
            call_lifted(reference)
    else:
        assert call_lifted(reference).dtype is torch.float64
    assert (torch.get_default_dtype(), torch.is_grad_enabled(), torch.backends.cuda.flash_sdp_enabled()) == before
    assert X.half().dtype is torch.float16


def test_lifted_runs_nest() -> None:
    with lifted():
        with lifted():
            pass
        assert torch.ones(1).dtype is torch.float64
        assert X.half().dtype is torch.float64
    assert torch.ones(1).dtype is torch.float32


def storages() -> dict[str, torch.Tensor]:
    base = torch.arange(24, dtype=torch.float16)
    return {
        "contiguous": base.reshape(4, 6),
        "transposed": base.reshape(4, 6).t(),
        "every other": base.reshape(4, 6)[:, ::2],
        "offset": base[3:15].reshape(3, 4),
        "expanded": base[:4].reshape(1, 4).expand(3, 4),
        "sliding": base.unfold(0, 5, 2),
        "scalar": base[5],
        "empty": base.reshape(4, 6)[:, 6:],
    }


@pytest.mark.parametrize("layout", storages())
def test_widening_keeps_values_and_strides(layout: str) -> None:
    value = storages()[layout]
    wide = widen(value)
    assert wide.dtype is torch.float64
    assert wide.stride() == value.stride()
    assert wide.tolist() == value.tolist()


@pytest.mark.parametrize("value", [3, "x", None, torch.arange(3), torch.tensor([True])])
def test_widening_leaves_other_values_alone(value: object) -> None:
    assert widen(value) is value


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16])
def test_widening_is_exact(dtype: torch.dtype) -> None:
    value = torch.tensor([0.0, -0.0, 1.125, 448.0, 2.0**-6, float("nan")]).to(dtype)
    assert widen(value)[:5].tolist() == [float(v) for v in value[:5].float()]
    assert torch.signbit(widen(value)[1])
    assert torch.isnan(widen(value)[5])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_constant_is_the_one_that_torch_computes_with(dtype: torch.dtype) -> None:
    x = torch.tensor([1.75, -0.5, 2.25], dtype=dtype)
    lifted_remainder = call_lifted(lambda: widen(x) % 0.7)
    assert torch.equal(lifted_remainder, x.double() % torch.tensor(0.7, dtype=torch.float32).double())


def test_a_constant_of_a_float64_reference_stays_as_written() -> None:
    x = torch.tensor([1.75, -0.5, 2.25], dtype=torch.float64)
    assert torch.equal(call_lifted(lambda: widen(x) % 0.7), x % 0.7)


def test_a_constant_beyond_float32_stays_as_written() -> None:
    x = torch.tensor([1.0, 2.0])
    assert call_lifted(lambda: widen(x).clamp(max=-1e300)).tolist() == [-1e300, -1e300]


def test_constants_of_tensors_made_after_the_first_argument_are_rounded_as_well() -> None:
    x = torch.tensor([1.0])
    once = torch.tensor(0.1, dtype=torch.float32).double()
    assert torch.equal(call_lifted(lambda: widen(x) * 1 + torch.ones(1) * 0.1), 1 + once.reshape(1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_default_eps_is_that_of_the_format_torch_computes_in(dtype: torch.dtype) -> None:
    x = torch.full((1, 8), 2.0**-12).to(dtype)
    wide = widen(x)
    truth = 2.0**-12 / (2.0**-24 + torch.finfo(torch.float32).eps) ** 0.5
    assert torch.nn.functional.rms_norm(x, (8,))[0, 0].item() == pytest.approx(truth, rel=2.0**-7)  # torch's own
    assert call_lifted(lambda: torch.nn.functional.rms_norm(wide, (8,)))[0, 0].item() == pytest.approx(truth, rel=1e-12)
