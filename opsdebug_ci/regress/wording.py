"""Effects and verdicts in words: always with the interval, never the estimate alone."""

from __future__ import annotations

from opsdebug_ci.model.speed import Effect, SpeedVerdict


def change(effect: Effect) -> str:
    """`+11 % [8, 14]`: head against base with its 95 % interval, in per cent."""
    percents = [(value - 1) * 100 for value in (effect.ratio, effect.low, effect.high)]
    digits = 1 if max(abs(value) for value in percents) < 10 else 0
    estimate, low, high = (
        f"{value:+.{digits}f}" if index == 0 else _end(value, digits) for index, value in enumerate(percents)
    )
    return f"{_signed_zero(estimate)} % [{low}, {high}]"


def duration(ns: float) -> str:
    """Three significant digits in the unit that suits."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= 0.9995 * scale:
            return f"{_three(ns / scale)} {unit}"
    return f"{_three(ns)} ns"


def share(value: float) -> str:
    """A share in per cent, two significant digits."""
    percent = value * 100
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def statement(
    verdict: SpeedVerdict,
    base: str,
    *,
    screen: Effect,
    confirm: Effect | None,
    threshold: float,
    base_ns: float,
    head_ns: float,
) -> str:
    """One sentence on what a comparison comes to."""
    effect = confirm or screen
    times = f"{duration(base_ns)} -> {duration(head_ns)}"
    moved = f"{change(effect)} against {base}, {times}"
    launches = f"{effect.launches} fresh launches"
    if verdict is SpeedVerdict.REGRESSED:
        return f"slower: {moved}, confirmed in {launches}"
    if verdict is SpeedVerdict.FASTER:
        return f"faster: {moved}, confirmed in {launches}"
    if verdict is SpeedVerdict.SUSPECTED:
        return f"slower for certain, but by less than counts ({share(threshold)}, 0.2 us): {moved}"
    if verdict is SpeedVerdict.SAME:
        return f"same: {moved}; {share(effect.detectable)} slower would have shown"
    if effect.shown or (confirm is None and effect.detectable <= threshold):
        how = "in the time there was" if confirm is None else f"by {launches}"
        return f"{times_as_long(effect)}not confirmed {how}: {moved}"
    return f"too noisy: {moved}; only {share(effect.detectable)} slower would have shown"


def times_as_long(effect: Effect) -> str:
    """`14 times as long, ` where a share in per cent is hard to grasp; empty below twice as long."""
    return f"{effect.ratio:.{0 if effect.ratio >= 9.95 else 1}f} times as long, " if effect.ratio >= 2 else ""


def _end(value: float, digits: int) -> str:
    return _signed_zero(f"{value:.{digits}f}")


def _signed_zero(text: str) -> str:
    """Without the sign of a zero."""
    return text.lstrip("+-") if float(text) == 0 else text


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
