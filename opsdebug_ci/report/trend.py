"""How a series stood in the newest stored runs, in one line.

Decides the scale: noise must not look like a slope, so the heights span at least as much as a slowdown that needs a
person. Concludes nothing; the comparison did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from opsdebug_ci.model.history import Trend
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.figures import counted
from opsdebug_ci.report.profile import duration

BARS = "▁▂▃▄▅▆▇█"
"""Heights, the fastest first."""

LEAST_SPAN = 0.1
"""What all heights span at least, as a share of the fastest time: the default of `threshold`."""

NO_TREND = "no trend: no stored run of this machine"
"""What is said where nothing can be drawn."""

_DAY = 10
"""Characters of the day in an ISO 8601 instant."""


def trend_line(trend: Trend) -> str:
    """`▁▁▁▁ 810 us → 820 us over 4 stored runs, 2026-11-26 to 2026-11-29; now █ 1 ms`: one line of plain text."""
    if not trend.points:
        return NO_TREND
    now = [] if trend.now_ns is None else [trend.now_ns]
    bars = sparkline([*(point.ns for point in trend.points), *now])
    first, last = trend.points[0], trend.points[-1]
    levels = " → ".join([duration(first.ns), *([duration(last.ns)] if len(trend.points) > 1 else [])])
    days = " to ".join(dict.fromkeys(plain(point.at[:_DAY]) for point in (first, last)))
    stored = f"{bars[: len(trend.points)]} {levels} over {counted(len(trend.points), 'stored run')}, {days}"
    return f"{stored}; now {bars[-1]} {duration(trend.now_ns)}" if now else stored


def sparkline(times_ns: Sequence[float]) -> str:
    """One bar per time, the fastest lowest; `?` for what is no time. All are low where they differ by little."""
    times = [ns for ns in times_ns if _is_time(ns)]
    if not times:
        return "?" * len(times_ns)
    fastest = min(times)
    span = max(max(times) - fastest, LEAST_SPAN * fastest)
    top = len(BARS) - 1
    return "".join(BARS[round(top * ((ns - fastest) / span))] if _is_time(ns) else "?" for ns in times_ns)


def _is_time(ns: float) -> bool:
    return math.isfinite(ns) and ns > 0
