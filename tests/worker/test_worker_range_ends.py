"""The last arguments before a function leaves its format's range, against the limits of the format by mpmath."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import pytest
import torch

from opsdebug_ci import Operator, tensor
from opsdebug_ci.inputs import stream_for, torch_dtype
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.worker.range_ends import place_range_ends

SHAPE = (6, 96)


def placed(
    function: Callable[..., torch.Tensor], dtype: str, *, values: str = "any", names: str = "x"
) -> list[torch.Tensor]:
    """Arguments of 0.5 alone with the ends of `function` among them."""
    operator = Operator(
        "f",
        function,
        {name: tensor("R C", values=values) for name in names},
        {"torch": function},
        kind="transcendental",
    )
    made = {name: torch.full(SHAPE, 0.5, dtype=torch_dtype(dtype)) for name in names}
    place_range_ends(operator, made, stream_for(0, operator="f", argument="x", family="thresholds"), 0)
    return list(made.values())


def held(function: Callable[..., torch.Tensor], dtype: str, **options: str) -> set[float]:
    (x,) = placed(function, dtype, **options)
    return set(x.flatten().tolist()) - {0.5}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_floats_on_either_side_of_the_ends_of_exp_are_held(dtype: str) -> None:
    form = FLOAT_FORMATS[dtype]
    found = held(torch.exp, dtype)
    for limit in (form.max_finite, form.min_normal, mpmath.mpf(form.min_subnormal) / 2):
        end = float(mpmath.log(limit))
        last_place = abs(end) * 2.0 ** (1 - form.precision)
        near = sorted(value - end for value in found if abs(value - end) <= 3 * last_place)
        assert len(near) >= 3
        assert near[0] < 0 < near[-1]


@pytest.mark.parametrize(
    "function",
    [
        torch.relu,
        torch.tanh,
        lambda x: torch.softmax(x, -1),
        lambda x: torch.log(1 + torch.exp(x)),  # overflows on the way
        lambda x: x / (1 + torch.exp(-x)).clamp(max=3e38),
        lambda x: x.sum(-1),
        lambda x: x.double(),
    ],
)
def test_what_is_no_end_of_an_elementwise_function_is_none(function: Callable[..., torch.Tensor]) -> None:
    assert {value for value in held(function, "float32") if 1e-30 < abs(value) < 1e30} == set()


def test_a_reference_that_raises_on_other_values_has_no_ends() -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        raise SystemExit(1)

    assert held(picky, "float32") == set()


def test_a_domain_without_negative_numbers_keeps_to_it() -> None:
    assert min(held(torch.exp, "float32", values="positive")) > 0


def test_where_one_argument_is_at_an_end_the_others_are_one() -> None:
    x, y = placed(lambda x, y: torch.exp(x) * y, "float32", names="xy")
    ends = x > 88
    assert int(ends.sum()) >= 4
    assert set(y[ends].tolist()) == {1.0}


def test_arguments_too_small_to_search_or_of_other_shapes_stay_as_they_are() -> None:
    made = {"x": torch.full((4, 4), 0.5)}
    operator = Operator("f", torch.exp, {"x": tensor("R C")}, {"torch": torch.exp})
    place_range_ends(operator, made, stream_for(0, operator="f", argument="x", family="thresholds"), 0)
    assert set(made["x"].flatten().tolist()) == {0.5}
