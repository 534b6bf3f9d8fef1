"""How often we can be raising false alarms, from what controls showed.

Decides the bound and the note on one-sided verdicts. Deliberately counts nothing: which controls are trials says
`model.controls`.
"""

from __future__ import annotations

import math

import mpmath

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.speed import AlarmBound

CONFIDENCE = 0.95
"""One-sided: the true rate lies above the bound in at most one of twenty stores."""

ONCE_IN = 100
"""One over the chance below which verdicts are one-sided: seven regressions and no improvement reach it, six do not."""

_DIGITS = 30
_HALVINGS = 64
"""Halvings of the unit interval after which the bound is exact to the last bit of a float64 below 1."""


def alarm_bound(alarms: int, of: int) -> AlarmBound:
    """Upper end of the one-sided 95 % Clopper-Pearson interval of a rate (Biometrika 26(4), 1934, pp. 404-413).

    The p at which `alarms` or fewer of `of` have probability 0.05: BetaInv(0.95; alarms + 1, of - alarms), found by
    halving, for the regularised incomplete beta function grows with p. Without trials, or with nothing but alarms, 1.

    Args:
        alarms: false alarms, from 0 to `of`.
        of: trials.

    Raises:
        InternalError: the counts contradict each other.
    """
    if not 0 <= alarms <= of:
        raise InternalError(f"`alarms` is {alarms} of {of}; wanted a count from 0 to the number of trials")
    if alarms == of:
        return AlarmBound(alarms=alarms, of=of, upper=1.0)
    with mpmath.workdps(_DIGITS):
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if mpmath.betainc(alarms + 1, of - alarms, 0, middle, regularized=True) < CONFIDENCE:
                low = middle
            else:
                high = middle
        return AlarmBound(alarms=alarms, of=of, upper=float(high))


def one_sidedness(regressed: int, faster: int) -> str | None:
    """A note where regressions outnumber improvements by more than chance explains; None: they do not.

    The exact one-sided binomial test of equal chances (the sign test; Dixon and Mood, JASA 41(236), 1946). Real work
    makes code slower too, so this is a reason to look, not a verdict.

    Args:
        regressed: verdicts `regressed` on changes.
        faster: verdicts `faster` on changes.
    """
    verdicts = regressed + faster
    tail = sum(math.comb(verdicts, count) for count in range(regressed, verdicts + 1))
    if tail * ONCE_IN >= 2**verdicts:
        return None
    return (
        f"so far {regressed} regressed and {faster} faster: chance makes that one-sided once in "
        f"{2**verdicts // tail:,} times. Verdicts that go one way only are how a false alarm looks from afar; "
        "check some of them by hand"
    )
