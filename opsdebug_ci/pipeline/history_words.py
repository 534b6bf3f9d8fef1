"""A reading of the history in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opsdebug_ci.model.history import HistoryReading
from opsdebug_ci.regress.drift import Drift
from opsdebug_ci.regress.history import SeriesReading
from opsdebug_ci.regress.prediction import FEWEST_RUNS
from opsdebug_ci.regress.wording import share
from opsdebug_ci.store.memory.series import SeriesRun

SHORT_HASH = 7
"""Digits of a commit in a sentence."""

UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
"""Units of time by their length in ns, longest first."""


def told(reading: HistoryReading, *, threshold: float, base: str | None, same_code: bool) -> HistoryReading:
    """`reading` with its statement.

    Args:
        reading: all of it but the statement.
        threshold: slowdown that needs a person, as a share.
        base: commit to compare with where there is a doubt.
        same_code: what would be a doubt was measured of the very same code: the machine has changed, not the code.
    """
    parts = [_expected(reading)]
    if reading.suspected and reading.expected_ns is not None:
        more = share(reading.observed_ns / reading.expected_ns - 1)
        parts.append(f"{more} above what is expected: suspected, not certain")
    if same_code:
        parts.append("the same code ran at the old level before: the machine has changed, not the code")
    if reading.drifting is not None:
        parts.append(f"drifting: {reading.drifting}")
    if base is not None:
        parts.append(f"to be compared with {base[:SHORT_HASH]}")
    if reading.detectable is not None and reading.detectable > threshold:
        shown = f"slowdowns of {share(reading.detectable)} and more, not of {share(threshold)}"
        parts.append(f"advisory: this history shows {shown}")
    if reading.covariate is not None:
        parts.append(f"the state of the machine is taken out by probe {reading.covariate} of the variance")
    return replace(reading, statement="; ".join(parts))


def drift_told(drift: Drift, found: SeriesReading, counted: Sequence[SeriesRun]) -> str:
    """How much slower the series has become, and between which commits; this run is the one after the last of them."""
    located = [step.first_after for step in found.steps if step.shift > 0 and step.first_after >= found.end]
    last_before = min([drift.last_before, *(place - 1 for place in located[:1])])
    first_after = max([drift.first_after, *located[-1:]])
    return (
        f"{share(drift.ratio - 1)} slower than before, since {_run(counted[last_before])}, "
        f"complete by {_run(counted[first_after]) if first_after < len(counted) else 'this commit'}"
    )


def _expected(reading: HistoryReading) -> str:
    observed = _in_unit((reading.observed_ns,))
    if reading.expected_ns is None or reading.low_ns is None or reading.high_ns is None:
        return f"{observed}; {_runs(reading)} so far, {FEWEST_RUNS} are needed to expect anything"
    expected = _in_unit((reading.expected_ns, reading.low_ns, reading.high_ns))
    return f"{observed}, expected {expected} from {_runs(reading)}"


def _runs(reading: HistoryReading) -> str:
    left_out = f" ({reading.left_out} throttled or contaminated left out)" if reading.left_out else ""
    return f"{reading.runs} run{'' if reading.runs == 1 else 's'} of this machine{left_out}"


def _in_unit(times_ns: Sequence[float]) -> str:
    """`12.3 us`, or `11.1 us [10.8, 11.4]`: three digits of the first decide for all."""
    unit, scale = next((unit, scale) for unit, scale in UNITS if times_ns[0] >= 0.9995 * scale or scale == 1.0)
    first = times_ns[0] / scale
    digits = 0 if first >= 99.95 else 1 if first >= 9.995 else 2
    value, *ends = (f"{time / scale:.{digits}f}" for time in times_ns)
    return f"{value} {unit} [{', '.join(ends)}]" if ends else f"{value} {unit}"


def _run(run: SeriesRun) -> str:
    return f"{run.commit[:SHORT_HASH] or 'a run outside git'} ({run.started_at:%Y-%m-%d})"
