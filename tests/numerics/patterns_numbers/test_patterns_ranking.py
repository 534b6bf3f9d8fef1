"""Every planted defect is named first, and failures of other kinds are left to other rules."""

from __future__ import annotations

import functools

import pytest
from numbers_planted import FOREIGN, PLANTED, Planted, planted_for

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.numerics.patterns.accumulator import accumulator
from opsdebug_ci.numerics.patterns.coarse_grid import coarse_grid
from opsdebug_ci.numerics.patterns.integer_width import integer_width
from opsdebug_ci.numerics.patterns.nan_policy import nan_policy
from opsdebug_ci.numerics.patterns.norm_statistic import norm_statistic
from opsdebug_ci.numerics.patterns.overflow import overflow
from opsdebug_ci.numerics.patterns.rounding_mode import rounding_mode
from opsdebug_ci.numerics.patterns.sign_pattern import sign_pattern
from opsdebug_ci.numerics.patterns.smooth_bias import smooth_bias
from opsdebug_ci.numerics.patterns.softmax_denominator import softmax_denominator
from opsdebug_ci.numerics.patterns.stagnation import stagnation

RULES = (
    accumulator,
    coarse_grid,
    integer_width,
    nan_policy,
    norm_statistic,
    overflow,
    rounding_mode,
    sign_pattern,
    smooth_bias,
    softmax_denominator,
    stagnation,
)
LEFT_ALONE = planted_for(FOREIGN)
EXPECTED = [planted for planted in PLANTED.values() if planted.rule != FOREIGN]


BITS = 0.99
"""Confidence of the one rule that tells an output bit for bit, as an altered reference does."""


@functools.cache
def clues_for(name: str) -> list[Clue]:
    found = [clue for rule in RULES for clue in rule(PLANTED[name].failure)]
    return sorted(found, key=lambda clue: -clue.confidence)


def test_every_rule_has_a_planted_defect() -> None:
    assert {planted.rule for planted in EXPECTED} == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize("planted", EXPECTED, ids=str)
def test_the_most_probable_cause_is_the_planted_one(planted: Planted) -> None:
    first = clues_for(planted.name)[0]
    assert (first.rule, str(first.cause)) == (planted.rule, planted.cause)


@pytest.mark.parametrize("planted", LEFT_ALONE, ids=str)
def test_another_kind_of_failure_is_left_alone(planted: Planted) -> None:
    assert clues_for(planted.name) == []


@pytest.mark.parametrize("planted", EXPECTED, ids=str)
def test_a_clue_is_a_sentence_with_numbers(planted: Planted) -> None:
    for clue in clues_for(planted.name):
        assert clue.rule in {rule.__name__ for rule in RULES}
        assert 0.4 <= clue.confidence <= (BITS if clue.rule == "rounding_mode" else 0.95)
        assert clue.evidence and any(character.isdigit() for character in clue.statement)
