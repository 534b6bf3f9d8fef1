"""The grid fraction: which format, rounded or cut; silent on values that are wrong otherwise."""

from __future__ import annotations

import pytest
import torch
from numbers_notation import examined, failing, normal, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.coarse_grid import coarse_grid, to_bits


@pytest.mark.parametrize("planted", planted_for("coarse_grid"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(coarse_grid, planted.failure)[0] == planted.cause


@pytest.mark.parametrize(
    ("name", "bits"),
    [("product stored through bf16", 8), ("product made in fp16", 11), ("fp64 made in fp32", 24)],
)
def test_says_how_many_bits(name: str, bits: int) -> None:
    planted_for("coarse_grid")
    clue = next(iter(coarse_grid(PLANTED[name].failure)))
    assert clue.evidence["significand_bits"] == bits
    assert clue.evidence["on_grid"] == 1.0


def test_the_runner_up_is_the_other_reading() -> None:
    planted = next(p for p in planted_for("coarse_grid") if p.name == "product stored through bf16")
    assert said(coarse_grid, planted.failure) == ["low_precision_accum", "dtype_promotion"]


def test_right_values_give_no_failure() -> None:
    assert examined(lambda x: x + 1, lambda x: x + 1, kind="elementwise", x=normal(16, 64)) is None


def test_silent_where_every_wrong_value_is_zero() -> None:
    zeros = failing(torch.zeros_like, torch.exp, kind="transcendental", x=normal(16, 64))
    assert said(coarse_grid, zeros) == []


def test_silent_about_coarse_values_far_from_the_reference() -> None:
    shuffled = failing(lambda x: x.bfloat16().float().flip(-1), lambda x: x * 1.0, kind="elementwise", x=normal(16, 64))
    assert said(coarse_grid, shuffled) == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounding_to_bits_is_the_cast_of_the_format(dtype: torch.dtype) -> None:
    values = normal(4096, seed=7).double()
    bits = {torch.bfloat16: 8, torch.float16: 11}[dtype]
    normal_range = values.abs() > 2**-14
    assert torch.equal(to_bits(values, bits)[normal_range], values.float().to(dtype).double()[normal_range])


def test_cutting_goes_towards_zero() -> None:
    assert to_bits(torch.tensor([1.9, -1.9], dtype=torch.float64), 3, cut=True).tolist() == [1.75, -1.75]
