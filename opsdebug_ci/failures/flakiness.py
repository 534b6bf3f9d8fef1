"""What so many failures in so many tries on the same bytes say, and how many tries a statement needs.

Decides from the Wilson interval alone (`model.wilson`). Deliberately says nothing about why an operator is flaky.
"""

from __future__ import annotations

import math

from opsdebug_ci.model.replay import Steadiness
from opsdebug_ci.model.wilson import Z, wilson

ALWAYS = 0.9
"""Rate that the whole interval must exceed before a failure counts as deterministic."""

SELDOM = 0.05
"""Rate that the whole interval must exceed before it counts as known how flaky a failure is."""

MISSED = 0.01
"""Chance at which a failure of the assumed rate may stay away in all of its tries."""


def steadiness(failed: int, tries: int) -> Steadiness:
    """The class of a failure that showed in `failed` of `tries` independent tries.

    `deterministic` where the whole 95 % interval of its rate lies above ALWAYS, `flaky` where it lies between SELDOM
    and ALWAYS, `unsettled` where it does neither, `unreproduced` where nothing showed.
    """
    rate = wilson(failed, tries)
    if failed == 0:
        return Steadiness.UNREPRODUCED
    if rate.low > ALWAYS:
        return Steadiness.DETERMINISTIC
    return Steadiness.FLAKY if rate.low > SELDOM and rate.high < ALWAYS else Steadiness.UNSETTLED


def tries_to_see(rate: float, missed: float = MISSED) -> int:
    """Tries in which a failure of this rate shows at least once, except with chance `missed`.

    The smallest n with (1 - p)^n <= missed for independent tries: ceil(ln missed / ln(1 - p)).

    Args:
        rate: share of tries that fail, above 0 and at most 1.
        missed: chance to see none, above 0 and below 1.
    """
    if rate >= 1:
        return 1
    return max(1, math.ceil(math.log(missed) / math.log1p(-rate)))


def clean_tries(rate: float) -> int:
    """Tries without a failure after which its rate is below `rate`, a share above 0, by the Wilson interval.

    Its upper end for 0 of n is z^2/(n + z^2), which is below `rate` for n > z^2 (1/rate - 1).
    """
    return math.floor(Z**2 * (1 / rate - 1)) + 1


def failed_tries() -> int:
    """Tries that must all fail before a failure counts as deterministic.

    The lower end of the Wilson interval for n of n is n/(n + z^2), above ALWAYS for n > z^2 ALWAYS/(1 - ALWAYS).
    """
    return math.floor(Z**2 * ALWAYS / (1 - ALWAYS)) + 1
