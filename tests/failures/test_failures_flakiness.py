"""How steadily a failure shows: classes and numbers of tries, against the binomial distribution and the interval."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.failures.flakiness import (
    ALWAYS,
    MISSED,
    SELDOM,
    clean_tries,
    failed_tries,
    steadiness,
    tries_to_see,
)
from opsdebug_ci.model.replay import Steadiness
from opsdebug_ci.model.wilson import wilson


@pytest.mark.parametrize(
    ("failed", "tries", "expected"),
    [
        (0, 20, Steadiness.UNREPRODUCED),
        (0, 0, Steadiness.UNREPRODUCED),
        (1, 20, Steadiness.UNSETTLED),  # 0.9 to 23.6 %
        (3, 20, Steadiness.FLAKY),  # 5.2 to 36 %
        (10, 20, Steadiness.FLAKY),  # 29.9 to 70.1 %
        (15, 20, Steadiness.FLAKY),  # 53.1 to 88.8 %
        (16, 20, Steadiness.UNSETTLED),  # 58.4 to 91.9 %
        (20, 20, Steadiness.UNSETTLED),  # 83.9 to 100 %
        (34, 34, Steadiness.UNSETTLED),
        (35, 35, Steadiness.DETERMINISTIC),
        (998, 1000, Steadiness.DETERMINISTIC),
        (2, 1000, Steadiness.UNSETTLED),
    ],
)
def test_classes(failed: int, tries: int, expected: Steadiness) -> None:
    assert steadiness(failed, tries) is expected


@given(st.integers(1, 3000), st.data())
def test_a_class_holds_for_the_whole_interval(tries: int, data: st.DataObject) -> None:
    failed = data.draw(st.integers(0, tries), label="failed")
    rate, found = wilson(failed, tries), steadiness(failed, tries)
    assert (found is Steadiness.UNREPRODUCED) == (failed == 0)
    assert found is not Steadiness.DETERMINISTIC or rate.low > ALWAYS
    assert found is not Steadiness.FLAKY or (rate.low > SELDOM and rate.high < ALWAYS)


@pytest.mark.parametrize(("percent", "tries"), [(50, 7), (30, 13), (20, 21), (10, 44), (5, 90), (90, 2), (100, 1)])
def test_a_failure_of_this_rate_is_seen_in_so_many_tries_and_not_in_fewer(percent: int, tries: int) -> None:
    """Exact: the chance that all tries pass is (1 - p)^n."""
    assert tries_to_see(percent / 100) == tries
    clean = 1 - Fraction(percent, 100)
    assert clean**tries <= Fraction(MISSED)
    assert tries == 1 or clean ** (tries - 1) > Fraction(MISSED)


@pytest.mark.parametrize(("rate", "tries"), [(0.05, 73), (0.01, 381), (0.5, 4)])
def test_a_rate_is_excluded_by_so_many_clean_tries_and_not_by_fewer(rate: float, tries: int) -> None:
    assert clean_tries(rate) == tries
    assert wilson(0, tries).high < rate <= wilson(0, tries - 1).high


def test_twenty_clean_tries_do_not_exclude_a_failure_in_ten() -> None:
    assert wilson(0, 20).high == pytest.approx(0.161, abs=5e-4)


def test_a_failure_is_deterministic_after_so_many_tries_and_not_before() -> None:
    assert failed_tries() == 35
    assert wilson(35, 35).low > ALWAYS >= wilson(34, 34).low
