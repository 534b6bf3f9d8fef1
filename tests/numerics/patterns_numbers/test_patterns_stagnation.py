"""Sums that stop growing near 2**p terms; silent on sums that are short for another reason."""

from __future__ import annotations

import pytest
from numbers_notation import failing, said, uniform
from numbers_planted import Planted, planted_for

from opsdebug_ci.numerics.patterns.stagnation import stagnation


@pytest.mark.parametrize("planted", planted_for("stagnation"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(stagnation, planted.failure) == [planted.cause]


@pytest.mark.parametrize("planted", planted_for("stagnation"), ids=str)
def test_says_where_the_sums_ended(planted: Planted) -> None:
    (clue,) = stagnation(planted.failure)
    assert 2**7 <= float(clue.evidence["ended_at_terms"] or 0) <= 2**13
    assert float(clue.evidence["wanted_terms"] or 0) > float(clue.evidence["ended_at_terms"] or 0)


@pytest.mark.parametrize("kept", [64, 8000])
def test_silent_on_sums_of_fewer_terms(kept: int) -> None:
    short = failing(lambda x: x[:, :kept].sum(-1), lambda x: x.sum(-1), kind="reduction", x=uniform(8, 8192))
    assert said(stagnation, short) == []


def test_silent_on_elementwise_outputs() -> None:
    halved = failing(lambda x: x / 4, lambda x: x * 1.0, kind="elementwise", x=uniform(8, 64))
    assert said(stagnation, halved) == []
