"""Bounds of a rate against closed forms and a regularised beta function."""

from __future__ import annotations

import mpmath
import pytest
from bounds import lower, upper


@pytest.mark.parametrize("trials", [1, 12, 299, 828])
def test_without_events_the_bound_has_a_closed_form(trials: int) -> None:
    assert upper(0, trials) == pytest.approx(1 - 0.05 ** (1 / trials), rel=1e-12)
    assert lower(trials, trials) == pytest.approx(0.05 ** (1 / trials), rel=1e-12)


def test_299_clean_trials_bound_the_rate_by_one_percent_and_298_do_not() -> None:
    assert upper(0, 299) <= 0.01 < upper(0, 298)


def test_59_finds_bound_detection_by_95_percent_and_58_do_not() -> None:
    assert lower(59, 59) >= 0.95 > lower(58, 58)


@pytest.mark.parametrize(("events", "trials"), [(1, 473), (2, 628), (3, 12), (60, 120), (119, 120)])
def test_the_bound_is_where_the_beta_distribution_has_its_quantile(events: int, trials: int) -> None:
    rate = upper(events, trials)
    assert float(mpmath.betainc(events + 1, trials - events, 0, rate, regularized=True)) == pytest.approx(
        0.95, abs=1e-9
    )
    rate = lower(events, trials)
    assert float(mpmath.betainc(events, trials - events + 1, 0, rate, regularized=True)) == pytest.approx(
        0.05, abs=1e-9
    )


def test_nothing_but_events_bounds_nothing() -> None:
    assert upper(5, 5) == 1.0
    assert lower(0, 5) == 0.0
