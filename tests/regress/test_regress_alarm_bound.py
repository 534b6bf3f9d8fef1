"""The bound on our own false alarms, against exact rationals; one-sided verdicts."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from opsdebug_ci.errors import InternalError
from opsdebug_ci.regress.alarm_bound import alarm_bound, one_sidedness


def at_most(count: int, of: int, rate: Fraction) -> Fraction:
    """Probability of `count` or fewer successes in `of` trials, exactly."""
    return sum(
        (math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(count + 1)),
        start=Fraction(0),
    )


@pytest.mark.parametrize(("alarms", "of", "upper"), [(0, 299, "0.997%"), (0, 828, "0.361%"), (1, 473, "0.999%")])
def test_known_bounds(alarms: int, of: int, upper: str) -> None:
    assert f"{alarm_bound(alarms, of).upper:.3%}" == upper


def test_no_alarm_has_a_closed_form() -> None:
    for of in (1, 2, 59, 10_000):
        assert alarm_bound(0, of).upper == pytest.approx(1 - 0.05 ** (1 / of), rel=1e-12)


@pytest.mark.parametrize(("alarms", "of"), [(0, 1), (0, 17), (1, 17), (5, 17), (16, 17), (3, 400)])
def test_the_tail_at_the_bound_is_one_in_twenty(alarms: int, of: int) -> None:
    bound = alarm_bound(alarms, of)
    assert (bound.alarms, bound.of) == (alarms, of)
    assert float(at_most(alarms, of, Fraction(bound.upper))) == pytest.approx(0.05, rel=1e-9)


def test_the_true_rate_lies_below_the_bound_in_19_of_20_stores() -> None:
    of = 30
    bounds = [Fraction(alarm_bound(alarms, of).upper) for alarms in range(of + 1)]
    for percent in range(1, 100):
        rate = Fraction(percent, 100)
        covered = sum(math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(of + 1) if rate <= bounds[k])
        assert covered >= Fraction(95, 100)


@pytest.mark.parametrize(("alarms", "of"), [(0, 0), (3, 3)])
def test_where_nothing_bounds_the_rate_it_may_be_one(alarms: int, of: int) -> None:
    assert alarm_bound(alarms, of).upper == 1.0


@pytest.mark.parametrize(("alarms", "of"), [(-1, 3), (4, 3)])
def test_counts_that_cannot_be_are_refused(alarms: int, of: int) -> None:
    with pytest.raises(InternalError, match=f"`alarms` is {alarms} of {of}; wanted"):
        alarm_bound(alarms, of)


def test_seven_of_one_kind_are_one_sided() -> None:
    note = one_sidedness(7, 0)
    assert note is not None
    assert note.startswith("so far 7 regressed and 0 faster: chance makes that one-sided once in 128 times.")


@pytest.mark.parametrize(("regressed", "faster"), [(0, 0), (6, 0), (0, 30), (20, 15), (9, 2)])
def test_what_chance_explains_is_left_alone(regressed: int, faster: int) -> None:
    assert one_sidedness(regressed, faster) is None


def test_thousands_of_verdicts_are_no_problem() -> None:
    assert one_sidedness(0, 5_000) is None
    assert one_sidedness(2_500, 2_500) is None
    assert one_sidedness(5_000, 0) is not None
