"""What few cases are taken for joins what most cases are, where that explains them as well; two defects do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from failures_notation import good, judged, output, ran, wrong

from opsdebug_ci.failures import group
from opsdebug_ci.model import Cause, Clue, Judgement
from opsdebug_ci.model.region import Span

ROUNDED = "wrong_rounding 0.99 rounding_mode"
DIVISOR = "wrong_constant_eps 0.97 altered_reference"


def case(number: int, *said: str, name: str = "out0", dtype: str = "bfloat16") -> Judgement:
    """Wrong values of case `number`; each of `said`: cause, how sure, rule with what it says, what was fitted for 2."""
    reading = replace(output(name, rejected=5), bad_region=(Span(first=0, last=3), Span(first=0, last=24)))
    clues = tuple(clue(name, *words.split()) for words in said)
    return judged(ran(reading, clues=clues), dims=f"B=1,S={number}", dtype=dtype)


def clue(name: str, cause: str, confidence: str, rule: str, fitted: str = "") -> Clue:
    evidence = {"constant": 2.0, "fitted": float(fitted)} if fitted else {}
    name_of_rule, _, told = rule.partition(":")
    return Clue(
        rule=name_of_rule,
        cause=Cause(cause),
        confidence=float(confidence),
        output=name,
        statement=told or rule,
        evidence=evidence,
    )


def usual(count: int = 12, *said: str) -> list[Judgement]:
    return [case(100 + number, *(said or (ROUNDED,))) for number in range(count)]


def fitted(*numbers: float, beside: str = "wrong_rounding 0.6 rounding_mode") -> list[Judgement]:
    """Cases with a number fitted to each."""
    return [
        case(number, f"wrong_constant_eps 0.96 fitted_constant {value}", beside)
        for number, value in enumerate(numbers, start=1)
    ]


def counts(judgements: Sequence[Judgement]) -> list[int]:
    return [found.count for found in group(judgements)]


@pytest.mark.parametrize(
    "few",
    [
        pytest.param([case(1, DIVISOR, "wrong_rounding 0.88 rounding_mode")], id="as sure by another rule"),
        pytest.param(
            [case(1, DIVISOR, "wrong_rounding 0.88 altered_reference:cut")], id="as sure by another of the same rule"
        ),
        pytest.param([case(1, "tail_mask 0.72 tail", "wrong_rounding 0.5 rounding_mode")], id="a hint beside another"),
        pytest.param(fitted(2.002), id="one number"),
        pytest.param(fitted(2.002, 2.002, 5.9543), id="numbers that differ"),
        pytest.param(fitted(2.002, 3.0, 4.0, 5.0), id="as many numbers as cases"),
    ],
)
def test_what_the_usual_cause_explains_as_well_is_a_part_of_it(few: list[Judgement]) -> None:
    (found,) = group([*few, *usual()])
    assert (found.count, found.cause) == (len(few) + 12, Cause.WRONG_ROUNDING)
    assert len(found.members) == 2
    cause = few[0].findings[0].cause
    assert f"taken for `{cause}` by themselves, but `wrong_rounding`, which far more cases have, fits too" in found.why


@pytest.mark.parametrize(
    ("few", "many"),
    [
        pytest.param(fitted(2.002, 2.0021, 2.002), usual(), id="one number in every case"),
        pytest.param(fitted(2.002, 5.9543, beside="unknown 0.3 bad_slice"), usual(), id="nothing else is suspected"),
        pytest.param([case(1, DIVISOR, "wrong_rounding 0.6 rounding_mode")], usual(), id="far surer"),
        pytest.param(
            [case(1, DIVISOR, "wrong_rounding 0.85 altered_reference")], usual(), id="another name of the same evidence"
        ),
        pytest.param(
            [case(1, DIVISOR, "wrong_rounding 0.88 rounding_mode"), case(2, DIVISOR)], usual(), id="in one of its cases"
        ),
        pytest.param(
            [case(1, DIVISOR, "wrong_rounding 0.88 rounding_mode", name="out1")], usual(), id="another output"
        ),
        pytest.param(
            [case(number, DIVISOR, "wrong_rounding 0.88 rounding_mode") for number in range(1, 6)],
            usual(),
            id="not far fewer",
        ),
        pytest.param(
            [case(1, DIVISOR, "wrong_scale 0.88 constant_ratio")],
            usual(12, "wrong_scale 0.6 constant_ratio"),
            id="the usual one is a hint",
        ),
        pytest.param(
            [case(1, DIVISOR, "wrong_scale 0.88 constant_ratio")],
            [case(100 + n, f"wrong_scale 0.96 fitted_constant {n + 2}") for n in range(12)],
            id="the usual one is fitted anew each time",
        ),
    ],
)
def test_a_cause_of_its_own_stays_apart(few: list[Judgement], many: list[Judgement]) -> None:
    assert counts([*few, *many]) == sorted((len(few), len(many)), reverse=True)


def test_a_divisor_and_an_eps_in_every_case_are_two() -> None:
    divisor = [case(number, DIVISOR) for number in range(100, 112)]
    eps = [case(n, "wrong_scale 0.97 fitted_constant 1e-3", "wrong_constant_eps 0.87 fitted_constant") for n in (1, 2)]
    assert counts([*divisor, *eps]) == [12, 2]


def test_a_hint_lies_where_the_usual_cause_does() -> None:
    sizes = [number for number in range(100, 125) if number % 16]
    many = [wrong(cause="wrong_rounding", dims=f"B=1,S={size}") for size in sizes]
    passing = [good(dims=f"B=1,S={16 * (number + 1)}", seed=seed) for number in range(8) for seed in (0, 1)]
    inside, outside = (case(size, "wrong_scale 0.7 r", dtype="float32") for size in (17, 160))
    assert counts([*many, *passing, inside]) == [len(many) + 1]
    assert counts([*many, *passing, outside]) == [len(many), 1]
