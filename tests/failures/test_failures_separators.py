"""What separates failing from passing cases: planted conditions are found, chance and noise are not told."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from judge_notation import case

from opsdebug_ci.failures.separators import covers, separators
from opsdebug_ci.model import Case

SIZES = (1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129)
DTYPES = ("float32", "float16", "bfloat16", "float64")
LAYOUTS = ("contiguous", "padded", "strided", "offset")
FAMILIES = ("normal", "uniform", "specials", "small", "large")

GRID = tuple(
    case(
        dims=f"B={number % 3 + 1},S={size}",
        dtype=DTYPES[(number * 7 + seed) % 4],
        layout=LAYOUTS[(number * 3 + 2 * seed + seed // 2) % 4],
        inputs=FAMILIES[(number + 3 * seed) % 5],
        seed=seed,
    )
    for number, size in enumerate(SIZES)
    for seed in range(6)
)

PLANTED: dict[str, Callable[[Case], bool]] = {
    "S % 16 != 0": lambda c: c.dims["S"] % 16 != 0,
    "S % 64 == 0": lambda c: c.dims["S"] % 64 == 0,
    "S > 100": lambda c: c.dims["S"] > 100,
    "S < 8": lambda c: c.dims["S"] < 8,
    "B == 1": lambda c: c.dims["B"] == 1,
    "elements > 128": lambda c: c.dims["B"] * c.dims["S"] > 128,
    "dtype is float16": lambda c: c.dtype == "float16",
    "dtype is bfloat16 or float16": lambda c: c.dtype in ("float16", "bfloat16"),
    "layout is not contiguous": lambda c: str(c.layout) != "contiguous",
    "layout is padded": lambda c: str(c.layout) == "padded",
    "inputs is specials": lambda c: str(c.inputs) == "specials",
    "seed is 3": lambda c: c.seed == 3,
}


def split(fails: Callable[[Case], bool]) -> tuple[list[Case], list[Case]]:
    return [c for c in GRID if fails(c)], [c for c in GRID if not fails(c)]


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_condition_is_told_first(text: str) -> None:
    failing, passing = split(PLANTED[text])
    first = separators(failing, passing)[0]
    assert first.sentence == f"{text} ({len(failing)} of {len(failing)} failing, 0 of {len(passing)} passing)"
    assert first.exact


def test_a_condition_that_holds_for_nearly_all_is_told_with_its_exceptions() -> None:
    failing, passing = split(PLANTED["S % 16 != 0"])
    first = separators([*failing[1:], passing[0]], [failing[0], *passing[1:]])[0]
    assert first.text == "S % 16 != 0"
    assert (first.failing, first.passing, first.exact) == (len(failing) - 1, 1, False)


def test_noise_has_no_condition() -> None:
    draw = random.Random(11)
    for _ in range(50):
        fails = {c.id for c in draw.sample(GRID, 20)}
        failing, passing = split(lambda c, fails=fails: c.id in fails)
        assert separators(failing, passing) == ()


@pytest.mark.parametrize(("failing", "passing"), [(1, 30), (2, 5), (30, 1), (0, 5), (5, 0)])
def test_what_chance_does_as_well_is_not_told(failing: int, passing: int) -> None:
    bad = [case(dims=f"B=1,S={2 * size + 1}", seed=size) for size in range(failing)]
    fine = [case(dims=f"B=1,S={16 * size + 16}", seed=size) for size in range(passing)]
    assert separators(bad, fine) == ()


def test_two_conditions_at_once_are_none() -> None:
    failing, passing = split(lambda c: c.dims["S"] % 16 != 0 and c.dtype == "float16")
    assert separators(failing, passing) == ()


def test_dtypes_can_be_left_out() -> None:
    failing, passing = split(PLANTED["dtype is float16"])
    assert separators(failing, passing, without_dtype=True) == ()


def test_covering_means_every_question_in_every_case() -> None:
    found = separators(*split(PLANTED["S % 16 != 0"]))
    assert covers(found, [case(dims="B=1,S=5"), case(dims="B=2,S=49")])
    assert not covers(found, [case(dims="B=1,S=5"), case(dims="B=2,S=48")])
    assert not covers((), [case()])


def test_a_dim_that_some_cases_lack_is_not_asked_about() -> None:
    failing, passing = split(PLANTED["S % 16 != 0"])
    found = separators(failing, [*passing, case(dims="B=1")])
    assert not any(each.text.startswith("S ") for each in found)
