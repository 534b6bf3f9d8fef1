"""Trends in one line: heights, first and last time, how many and since when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_notation import demo
from speed_notation import REGRESSED, compared_run

from opsdebug_ci.model.history import Trend, TrendPoint
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.report import decode, encode, markdown, text
from opsdebug_ci.report.escape import md_text
from opsdebug_ci.report.trend import sparkline, trend_line


def trend(*times_ns: float, now: float | None = None, day: int = 10) -> Trend:
    points = tuple(
        TrendPoint(commit=f"{at:040x}", ns=ns, at=f"2026-11-{day + at:02}T03:00:00+00:00")
        for at, ns in enumerate(times_ns)
    )
    return Trend(case=REGRESSED[0].case, now_ns=now, points=points)


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (trend(), "no trend: no stored run of this machine"),
        (trend(now=5.0), "no trend: no stored run of this machine"),
        (trend(812_000.0), "▁ 810 us over 1 stored run, 2026-11-10"),
        (
            trend(812_000.0, 815_000.0, 810_000.0, now=1_030_000.0),
            "▁▁▁ 810 us → 810 us over 3 stored runs, 2026-11-10 to 2026-11-12; now █ 1 ms",
        ),
        (trend(100.0, 110.0, 120.0, 170.0), "▁▂▃█ 100 ns → 170 ns over 4 stored runs, 2026-11-10 to 2026-11-13"),
    ],
)
def test_the_line(shown: Trend, line: str) -> None:
    assert trend_line(shown) == line


@pytest.mark.parametrize(
    ("times", "bars"),
    [
        ([100.0, 101.0, 100.5], "▁▂▁"),  # 1 % of noise is one height, a tenth is all seven
        ([100.0, 110.0], "▁█"),
        ([100.0, 200.0, 150.0], "▁█▅"),
        ([5.0] * 3, "▁▁▁"),
        ([0.0, -1.0, float("nan"), float("inf")], "????"),
        ([0.0, 100.0, float("inf"), 110.0], "?▁?█"),
        ([5e-324, 1.7e308], "▁█"),
        ([], ""),
    ],
)
def test_heights_show_slowdowns_and_not_noise(times: list[float], bars: str) -> None:
    assert sparkline(times) == bars


def test_both_reports_show_it_and_it_survives_json() -> None:
    shown = trend(812_000.0, 815_000.0, now=1_030_000.0)
    document = replace(demo(), performance=PerformanceDocument(comparison=compared_run(*REGRESSED), trends=(shown,)))
    assert f"\ntrend:\n  {shown.case.name}: {trend_line(shown)}\n" in text(document)
    assert f"\nTrend:\n\n- {md_text(shown.case.name)}: {trend_line(shown)}" in markdown(document)
    assert decode(encode(document)) == document


def test_without_a_regression_nothing_is_said_of_trends() -> None:
    document = replace(demo(), performance=PerformanceDocument(comparison=compared_run(*REGRESSED)))
    assert "trend" not in text(document).lower() + markdown(document).lower()


def test_days_that_are_none_are_harmless() -> None:
    point = TrendPoint(commit="", ns=1.0, at="\x1b[31m\n`|<b>")
    line = trend_line(Trend(case=REGRESSED[0].case, now_ns=None, points=(point,)))
    assert "\x1b" not in line and "\n" not in line
