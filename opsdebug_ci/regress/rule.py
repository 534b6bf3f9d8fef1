"""When a slowdown is called a regression.

Decides the two stages. All series are *screened* with a few launches; what shows there is measured again in fresh
launches and *confirmed* or not, by those alone. "More than the threshold" with the threshold as cut-off would miss half
of all slowdowns of just that size, so the cut-off lies half-way (in logarithms), and the threshold only must not be
ruled out. The bounds are those of docs/comparing.md, with the false-alarm and detection rates measured for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from opsdebug_ci.model.speed import SEVERITY, Effect, SpeedVerdict

ROUTE = 0.4
"""Share of log(1 + threshold) from which a screened series is confirmed: 1.04 for a threshold of 10 %."""

CUT = 0.5
"""Share of log(1 + threshold) that the confirmation must exceed: 1.049 for a threshold of 10 %."""

FAMILY_ALARMS = 0.01
"""Chance of any false regression in a whole comparison, all series and bases together."""

ROUTED_SHARE = 0.05
"""Share of unchanged series that screening routes; with the test of the confirmation it makes the family's chance."""

LARGEST_P = 0.05
"""No confirmation is believed with a larger p, however few operators there are."""

SYSTEMATIC = 0.01
"""Log ratio by which the layout of one and the same code can shift it, build by build. No interval over launches of one
build covers that, so a threshold that close is not ruled out."""

SMALLEST_NS = 200.0
"""Losses below it are not called regressions: the interpreter's own call costs scatter as much."""

SMALLEST_STEPS = 3
"""Nor those below so many steps of the clock, spread over the calls of a sample."""


def routed(screen: Effect, threshold: float) -> bool:
    """What the screen shows is worth confirming, slower or faster."""
    return abs(math.log(screen.ratio)) > ROUTE * math.log1p(threshold)


def settled(effect: Effect, threshold: float) -> bool:
    """A slowdown of the threshold would have shown with these launches."""
    return effect.detectable <= threshold


def significance(tests: int) -> float:
    """Largest p of a confirmation among so many tests: FAMILY_ALARMS / (tests * ROUTED_SHARE), or LARGEST_P.

    Bonferroni's bound over all series and bases, of which chance routes ROUTED_SHARE.
    """
    return min(LARGEST_P, FAMILY_ALARMS / (max(1, tests) * ROUTED_SHARE))


def launches_needed(tests: int, at_least: int) -> int:
    """Launches per arm without which no confirmation could reach its significance: 1 / C(2L, L) must be below it."""
    launches = at_least
    while 1 / math.comb(2 * launches, launches) > significance(tests) / 10:
        launches += 1
    return launches


def conclude(
    screen: Effect,
    confirm: Effect | None,
    *,
    threshold: float,
    tests: int,
    loss_ns: float,
    step_ns: float,
) -> SpeedVerdict:
    """What the launches of one series come to.

    Args:
        screen: by the first launches.
        confirm: by the fresh ones; None: not needed, or no time was left.
        threshold: slowdown that needs a person, as a share.
        tests: how many pairs of arms are compared, all series together, controls aside.
        loss_ns: median head minimum less median base minimum; ns per call.
        step_ns: step of the clock over the calls of a sample; ns per call.
    """
    if confirm is None:
        if routed(screen, threshold):
            return SpeedVerdict.INCONCLUSIVE
        return SpeedVerdict.SAME if settled(screen, threshold) else SpeedVerdict.INCONCLUSIVE
    if _certainly(confirm.ratio, confirm.p_faster, screen.ratio, threshold, tests, sign=-1):
        return SpeedVerdict.FASTER
    if not _certainly(confirm.ratio, confirm.p_slower, screen.ratio, threshold, tests, sign=1):
        return SpeedVerdict.SAME if _refuted(confirm, threshold) else SpeedVerdict.INCONCLUSIVE
    worth = loss_ns > max(SMALLEST_NS, SMALLEST_STEPS * step_ns)
    beyond = math.log(confirm.ratio) > CUT * math.log1p(threshold) and confirm.tenth_ratio > 1
    ruled_out = math.log(confirm.high) + SYSTEMATIC < math.log1p(threshold)
    return SpeedVerdict.REGRESSED if worth and beyond and not ruled_out else SpeedVerdict.SUSPECTED


def _refuted(confirm: Effect, threshold: float) -> bool:
    """What the screen showed is not there.

    The interval of the fresh launches holds neither a slowdown of the threshold nor the speedup that mirrors it, and
    their estimate would not be routed. Noise alone refutes nothing.
    """
    limit = math.log1p(threshold)
    within = -limit < math.log(confirm.low) and math.log(confirm.high) < limit
    return within and not routed(confirm, threshold) and settled(confirm, threshold)


def _certainly(ratio: float, p: float, screened: float, threshold: float, tests: int, *, sign: int) -> bool:
    """Both stages moved the same way, far enough to be routed, and the fresh launches by themselves for certain."""
    least = ROUTE * math.log1p(threshold)
    return sign * math.log(screened) > least and sign * math.log(ratio) > least and p <= significance(tests)


def worst(verdicts: Sequence[SpeedVerdict]) -> SpeedVerdict:
    """The verdict of a whole comparison; inconclusive without any."""
    return min(verdicts, key=SEVERITY.index, default=SpeedVerdict.INCONCLUSIVE)
