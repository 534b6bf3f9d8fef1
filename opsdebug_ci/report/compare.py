"""`opsdebug compare` as text: conclusion, one table, what needs a person, how far it can be believed, what it cost.

Decides order, columns and how much is shown. Columns are fixed and rows stand worst first; times have two significant
digits, so that most of them come again.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.speed import CompareDocument, Comparison, ComparisonRun, LaunchTime, SpeedVerdict
from opsdebug_ci.report import figures, speed
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.profile import duration
from opsdebug_ci.report.subject import ending_lines
from opsdebug_ci.report.table import aligned

HEADER = (
    "operator",
    "dims",
    "dtype",
    "against",
    "base",
    "head",
    "change",
    "detectable",
    "launches",
    "cost",
    "verdict",
)

LAUNCH_HEADER = ("launch", "arm", "min", "p10", "median", "samples", "calls", "clocks")

ROWS_SHOWN = 50
"""Rows of the table unless more detail is asked for."""

GROUPS_SHOWN = 20
"""Operators listed under one verdict unless more detail is asked for."""

TITLES = {
    SpeedVerdict.REGRESSED: "regressed, needs a person:",
    SpeedVerdict.SUSPECTED: "suspected:",
    SpeedVerdict.INCONCLUSIVE: "inconclusive:",
    SpeedVerdict.MISSING: "missing:",
    SpeedVerdict.NEW: "new:",
}
"""Verdicts that are listed, in this order; the others are rows of the table."""


def compare_text(document: CompareDocument, verbosity: int = 0) -> str:
    """The answer, ending in a newline.

    Args:
        document: the comparison.
        verbosity: 0 conclusion and key numbers; 1 every row and sentence; 2 every launch.
    """
    run = document.run
    sections = [
        [f"{str(document.verdict).upper()}: {speed.conclusion(run)}"],
        comparison_table(run, verbosity),
        *verdict_sections(run, verbosity),
        _sentences(run, verbosity),
        _launches(run, verbosity),
        [
            *doubt_lines(run),
            speed.control_line(run, document.alarms),
            *(f"note: {plain(note)}" for note in run.notes),
            f"cost: {speed.cost_line(run)}",
        ],
        ending_lines(document.next),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def comparison_table(run: ComparisonRun, verbosity: int) -> list[str]:
    """Every comparison, worst first, as many as the verbosity allows."""
    shown = run.comparisons if verbosity else run.comparisons[:ROWS_SHOWN]
    hidden = len(run.comparisons) - len(shown)
    more = [f"... and {hidden:,} more: -v lists them"] if hidden else []
    return [*aligned(HEADER, [_row(run, one) for one in shown], left=4), *more] if shown else []


def verdict_sections(run: ComparisonRun, verbosity: int) -> list[list[str]]:
    """What is listed, verdict by verdict, operators with their worst shape first."""
    return [_group_lines(run, verdict, verbosity) for verdict in TITLES]


def doubt_lines(run: ComparisonRun) -> list[str]:
    """Why nothing is called regressed in this run."""
    if run.contaminated is None:
        return []
    return [f"contaminated: {plain(run.contaminated)}; nothing is called regressed in this run"]


def _row(run: ComparisonRun, one: Comparison) -> tuple[str, ...]:
    rounds = [effect.launches for effect in (one.screen, one.confirm) if effect is not None]
    return (
        plain(one.case.operator, speed.NAME_WIDTH),
        speed.axes(one.case) or figures.MISSING,
        plain(one.case.dtype),
        speed.arm_name(run.arms, one.base),
        duration(one.base_ns),
        duration(one.head_ns),
        figures.MISSING if one.effect is None else speed.change(one.effect),
        speed.detectable(one.effect),
        "+".join(map(str, rounds)) or figures.MISSING,
        f"{one.cost_s:.1f} s",
        str(one.verdict),
    )


def _group_lines(run: ComparisonRun, verdict: SpeedVerdict, verbosity: int) -> list[str]:
    groups = speed.by_operator(run.comparisons, verdict)
    shown = groups if verbosity else groups[:GROUPS_SHOWN]
    hidden = len(groups) - len(shown)
    more = [f"  ... and {hidden:,} more: -v lists them"] if hidden else []
    return [TITLES[verdict], *(f"  {speed.verdict_line(group, run.arms)}" for group in shown), *more] if groups else []


def _sentences(run: ComparisonRun, verbosity: int) -> list[str]:
    """The sentence of every comparison and control."""
    if not verbosity:
        return []
    return [f"{plain(one.case.name)} ({one.why}): {plain(one.statement)}" for one in (*run.comparisons, *run.controls)]


def _launches(run: ComparisonRun, verbosity: int) -> list[str]:
    if verbosity < 2:
        return []
    lines = []
    for one in (*run.comparisons, *run.controls):
        table = aligned(LAUNCH_HEADER, _launch_rows(one.launches), left=2)
        lines += [f"{plain(one.case.name)} ({one.why})", *(f"  {line}" for line in table)] if one.launches else []
    return lines


def _launch_rows(launches: Sequence[LaunchTime]) -> list[tuple[str, ...]]:
    return [
        (
            f"{launch.round} {launch.launch}",
            launch.arm,
            duration(launch.min_ns),
            duration(launch.p10_ns),
            duration(launch.median_ns),
            figures.count(launch.samples),
            figures.count(launch.calls),
            "held down" if launch.throttled else figures.MISSING,
        )
        for launch in launches
    ]
