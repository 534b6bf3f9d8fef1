"""Each planted wrong operator differs from its twin inside its declared domain, and is named by what it shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from catalogue_agreement import launch, problems
from catalogue_inputs import FAMILIES, LAYOUTS, SPECIAL, accepts_special, arguments

from opsdebug_ci import Operator
from opsdebug_ci.catalogue import OPERATORS
from opsdebug_ci.catalogue.planted import PLANTED, Planted, edges, numbers, placement, right, special, wrong

SHOWN = [*edges.PLANTED, *numbers.PLANTED, *placement.PLANTED, *special.PLANTED]
"""Defects that show in one launch on declared inputs, whatever else the process did before."""

BY_NAME = {planted.name: planted for planted in SHOWN}


@pytest.fixture(autouse=True)
def poisoned_memory() -> Iterator[None]:
    """Fresh memory is NaN, so that an element nobody wrote shows every time."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def _evidence(operator: Operator, *, family: str, dims: dict[str, int], layout: str = "contiguous") -> list[str]:
    """What is wrong in the operator's first dtype; exceptions and changed inputs count."""
    dtype = operator.dtypes[0]
    given = arguments(operator, dims, dtype, family, seed=2, layout=layout)
    before = {name: value.clone() for name, value in given.items() if isinstance(value, torch.Tensor)}
    if operator.contract.out:
        given[operator.contract.out].fill_(float("nan"))
    try:
        found = problems(operator, given, dtype)
        operator(*given.values())
    except (RuntimeError, ValueError) as error:
        return [f"raised {error}"]
    kept = [name for name in before if name != operator.contract.out]
    return found + [
        f"input {n} changed" for n in kept if not torch.equal(before[n].nan_to_num(), given[n].nan_to_num())
    ]


def _all_evidence(operator: Operator) -> list[str]:
    families = [name for name in FAMILIES if accepts_special(operator) or name not in SPECIAL]
    found = [text for family in families for text in _evidence(operator, family=family, dims=operator.dims)]
    for layout in LAYOUTS:
        found += _evidence(operator, family="normal", dims=operator.dims, layout=layout)
    return found + _evidence(operator, family="normal", dims={**operator.dims, list(operator.dims)[-1]: 0})


@pytest.mark.parametrize("planted", [p for p in SHOWN if p.name not in ("last_k", "nan")], ids=lambda p: p.name)
def test_wrong_shows_and_right_is_silent(planted: Planted) -> None:
    assert _all_evidence(planted.wrong)
    assert _all_evidence(planted.right) == []


@pytest.mark.parametrize("name", ["last_k", "nan"])
def test_wrong_shows_and_right_is_silent_where_an_empty_last_dim_is_undefined_or_hides_it(name: str) -> None:
    planted = BY_NAME[name]
    families = ["normal", "specials", "special_rows"]
    assert [t for f in families for t in _evidence(planted.wrong, family=f, dims=planted.wrong.dims)]
    assert [t for f in families for t in _evidence(planted.right, family=f, dims=planted.right.dims)] == []


@pytest.mark.parametrize(
    "name",
    [p.name for p in SHOWN if p.name not in ("stride", "nan", "zero", "empty")],
)
def test_shows_on_the_everyday_case(name: str) -> None:
    operator = BY_NAME[name].wrong
    for dtype in operator.dtypes:
        assert _evidence(operator, family="normal", dims=operator.dims), dtype


@pytest.mark.parametrize(
    ("name", "family", "layout", "dims"),
    [
        ("stride", "normal", "transposed", {}),
        ("stride", "normal", "strided", {}),
        ("nan", "specials", "contiguous", {}),
        ("zero", "signed_zeros", "contiguous", {}),
        ("empty", "normal", "contiguous", {"H": 0}),
    ],
)
def test_shows_only_on_the_case_made_for_it(name: str, family: str, layout: str, dims: dict[str, int]) -> None:
    operator = BY_NAME[name].wrong
    assert _evidence(operator, family="normal", dims=operator.dims) == []
    assert _evidence(operator, family=family, dims={**operator.dims, **dims}, layout=layout)


def test_the_last_element_alone_is_unwritten() -> None:
    operator = BY_NAME["unwritten"].wrong
    (output,) = launch(operator, arguments(operator, operator.dims, "float32", "normal", seed=0))
    assert output.isnan().nonzero().tolist() == [[0, 4, 15]]


def test_the_last_k_is_dropped_and_nothing_else() -> None:
    operator = BY_NAME["last_k"].wrong
    a, b = arguments(operator, operator.dims, "float32", "normal", seed=0).values()
    torch.testing.assert_close(operator(a, b), a[:, :-1] @ b[:-1])


def test_the_accumulator_stagnates_where_half_precision_does() -> None:
    ones = torch.ones(1, 1, 4096, dtype=torch.float16)
    assert BY_NAME["accumulator"].wrong(ones).item() == 2048.0
    assert BY_NAME["accumulator"].right(ones).item() == 4096.0


def test_twins_share_everything_but_the_function() -> None:
    assert len(PLANTED) >= 12
    for planted in PLANTED:
        ours, twin = planted.wrong, planted.right
        assert (ours.name, twin.name) == (f"wrong_{planted.name}", f"right_{planted.name}")
        assert ours.references == twin.references
        assert (ours.inputs, ours.dtypes, ours.dims, ours.kinds) == (twin.inputs, twin.dtypes, twin.dims, twin.kinds)
        assert ours.contract == twin.contract
        assert ours.function is not twin.function


def test_planted_operators_are_configurable_but_not_built_in() -> None:
    planted_names = {operator.name for operator in [*wrong.OPERATORS, *right.OPERATORS]}
    assert len(planted_names) == 2 * len(PLANTED)
    assert planted_names & {operator.name for operator in OPERATORS} == set()
