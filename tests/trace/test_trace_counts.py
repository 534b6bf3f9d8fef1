"""What is unhealthy in one tensor, of every dtype and layout, against a count element by element."""

from __future__ import annotations

import math

import pytest
import torch

from opsdebug_ci.trace.counts import Limits, count, has_health, is_sick, packed

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn]
LIMITS = Limits(magnitude=1e30)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn], ids=str)
def test_every_byte_of_a_one_byte_float_is_told_apart(dtype: torch.dtype) -> None:
    for byte in range(256):
        value = torch.tensor([byte], dtype=torch.uint8).view(dtype)
        number = value.float().item()
        counts = count(value, LIMITS)
        assert (counts.nan, counts.infinite) == (int(math.isnan(number)), int(math.isinf(number)))
        assert is_sick(value, 1e30) is not math.isfinite(number)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("limit", [1e30, 100.0])
def test_counts_are_those_of_the_elements(dtype: torch.dtype, limit: float) -> None:
    wide = torch.tensor([[1.0, math.nan, 200.0], [-200.0, math.inf, -math.inf]])
    values = wide.to(dtype)
    seen = [element.float().item() for element in values.flatten()]
    counts = count(values, Limits(magnitude=limit))
    assert counts.nan == sum(map(math.isnan, seen))
    assert counts.infinite == sum(map(math.isinf, seen))
    assert counts.over_limit == sum(math.isfinite(value) and abs(value) > limit for value in seen)
    assert counts.first == (0, 1)


@pytest.mark.parametrize("conjugated", [False, True])
def test_complex_numbers_are_as_healthy_as_their_parts(conjugated: bool) -> None:
    values = torch.tensor([1 + 1j, complex(0.0, math.nan), complex(-math.inf, 0.0), complex(1e31, 0.0)])
    counts = count(values.conj() if conjugated else values, LIMITS)
    assert (counts.nan, counts.infinite, counts.over_limit, counts.first) == (1, 1, 1, (1,))
    assert not count(torch.ones(3, dtype=torch.complex64), LIMITS).any


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.uint8], ids=str)
def test_integers_are_always_healthy(dtype: torch.dtype) -> None:
    assert not has_health(torch.ones(3, dtype=dtype))


@pytest.mark.parametrize(
    "values",
    [
        torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
        torch.arange(24.0).reshape(4, 6)[:, ::2],
        torch.arange(24.0).reshape(4, 6)[1:3, 1:3],
        torch.arange(3.0).expand(4, 3),
        torch.arange(3.0)[:, None].expand(3, 5).t(),
        torch.arange(9.0).as_strided((2, 2), (3, 0)),
        torch.tensor(3.0),
    ],
)
def test_packing_keeps_the_elements_and_adds_none(values: torch.Tensor) -> None:
    assert set(packed(values).flatten().tolist()) == set(values.flatten().tolist())


def test_empty_tensors_are_healthy() -> None:
    assert not count(torch.empty(0, 3), LIMITS).any
