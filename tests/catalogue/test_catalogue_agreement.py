"""Operators, torch, naive and precise references agree on every family, size and layout of the declared domain."""

from __future__ import annotations

import pytest
import torch
from catalogue_agreement import problems
from catalogue_inputs import FAMILIES, LAYOUTS, SPECIAL, accepts_special, arguments, sizes

from opsdebug_ci import Operator
from opsdebug_ci.catalogue import OPERATORS, attention, softmaxes
from opsdebug_ci.catalogue.planted import edges, numbers, placement, special
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.model.vocabulary import ReferenceKind

RIGHT = [planted.right for module in (edges, numbers, placement, special) for planted in module.PLANTED]
JUDGED = [
    pytest.param(operator, dtype, id=f"{operator.name}-{dtype}")
    for operator in [*OPERATORS, *RIGHT]
    for dtype in operator.dtypes
    if not operator.name.startswith("triton_")  # milliseconds per launch; they have tests of their own
]


def all_problems(operator: Operator, dtype: str, families: list[str]) -> list[tuple[str, object, list[str]]]:
    """Family, sizes and problems wherever there are any."""
    return [
        (family, dims, found)
        for family in families
        for seed, dims in enumerate(sizes(operator))
        if (found := problems(operator, arguments(operator, dims, dtype, family, seed=seed), dtype))
    ]


@pytest.mark.parametrize(("operator", "dtype"), JUDGED)
def test_agrees_on_finite_values(operator: Operator, dtype: str) -> None:
    assert all_problems(operator, dtype, [name for name in FAMILIES if name not in SPECIAL]) == []


@pytest.mark.parametrize(("operator", "dtype"), [judged for judged in JUDGED if accepts_special(judged.values[0])])
def test_agrees_on_nan_infinities_and_zeros(operator: Operator, dtype: str) -> None:
    assert all_problems(operator, dtype, list(SPECIAL)) == []


@pytest.mark.parametrize(("operator", "dtype"), JUDGED)
def test_agrees_on_every_declared_layout(operator: Operator, dtype: str) -> None:
    for layout in (name for name in LAYOUTS if name != "contiguous"):
        given = arguments(operator, operator.dims, dtype, "normal", seed=5, layout=layout)
        assert problems(operator, given, dtype) == [], layout


def _off_by_one_percent(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1) * 1.01


def _without_last(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)[..., :-1]


def _ignoring_nan(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.nan_to_num(), dim=-1)


def test_the_judge_itself_sees_wrong_values_shapes_and_classes() -> None:
    original = softmaxes.softmax
    dims = {"B": 1, "S": 4, "H": 50}
    for function, family in ((_off_by_one_percent, "normal"), (_without_last, "normal"), (_ignoring_nan, "specials")):
        wrong = sibling(original, "wrong", function)
        assert problems(wrong, arguments(wrong, dims, "float32", family, seed=0), "float32"), function


def test_the_judge_itself_sees_a_reference_that_differs() -> None:
    causal = sibling(attention.attention, "odd", attention.attention.function)
    causal.references[ReferenceKind.NAIVE] = attention.attention_causal.references[ReferenceKind.NAIVE]
    found = problems(causal, arguments(causal, causal.dims, "float32", "normal", seed=0), "float32")
    assert [text.split(":")[0] for text in found] == ["reference naive"]
