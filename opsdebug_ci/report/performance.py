"""What a run says of speed, as a section of its text and of its markdown.

Decides what is shown before details are asked for: regressions, what could not be told, suspicions of the history, and
of profiles only cliffs and the worst use of the device. `opsdebug compare` and `opsdebug profile` show the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.history import ComparableRuns, HistoryReading, LeftOut, Trend
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.profile_document import ProfileEntry
from opsdebug_ci.model.speed import ComparisonRun, SpeedVerdict
from opsdebug_ci.report import compare, speed
from opsdebug_ci.report.blocks import fold, listing
from opsdebug_ci.report.escape import md_text, plain
from opsdebug_ci.report.trend import trend_line

LINES_SHOWN = 10
"""Lines of a list unless more detail is asked for."""

WORST_SHOWN = 3
"""Profiled cases that are named for using little of the device."""

REASONS_SHOWN = 2
"""Groups of other machines, and facts in which each differs, that a line names."""

ALARMING = (SpeedVerdict.REGRESSED, SpeedVerdict.INCONCLUSIVE)
"""Verdicts whose operators a comment lists openly; the others are folded."""

MORE_TIME = "It had too little time: `budget` in the configuration gives it more."
"""What to do where operators could not be told within it."""

LINE_LIMIT = 400
"""Characters of a line in markdown: a sentence with names and numbers."""


def performance_sections(performance: PerformanceDocument | None, verbosity: int) -> list[list[str]]:
    """Sections of the text report; none where speed was not asked about."""
    if performance is None:
        return []
    run = performance.comparison
    return [
        [f"performance: {conclusion(performance)}"],
        *([] if run is None else _compared(run, verbosity)),
        _titled("trend:", trend_lines(performance.trends), verbosity),
        _titled("history:", history_lines(performance.history), verbosity),
        _titled("profile:", profile_lines(performance.profiles), verbosity),
        _ending(performance),
    ]


def performance_blocks(performance: PerformanceDocument | None, most: int, *, folded: bool = True) -> list[str]:
    """Blocks of markdown: regressions and what could not be told, at most so many lines each; the rest folded away."""
    if performance is None:
        return []
    details = detail_blocks(performance, most) if folded else []
    return [
        "#### Performance",
        f"{md_text(conclusion(performance), LINE_LIMIT)}.",
        *_listing(compare.TITLES[SpeedVerdict.REGRESSED], _groups(performance, SpeedVerdict.REGRESSED), most),
        *_listing("trend:", trend_lines(performance.trends), most),
        *untold_blocks(performance, most),
        *fold("Performance in detail", details),
    ]


def untold_blocks(performance: PerformanceDocument, most: int) -> list[str]:
    """What could not be told of speed, and why nothing is believed."""
    run = performance.comparison
    untold = _groups(performance, SpeedVerdict.INCONCLUSIVE)
    doubts = [] if run is None else compare.doubt_lines(run)
    return [
        *_listing(compare.TITLES[SpeedVerdict.INCONCLUSIVE], untold, most),
        *([MORE_TIME] if untold and run is not None and not run.complete else []),
        *_listing("contaminated:", doubts, most),
    ]


def detail_blocks(performance: PerformanceDocument, most: int) -> list[str]:
    """What nobody need look at first, at most so many lines of each kind."""
    calm = [verdict for verdict in SpeedVerdict if verdict not in ALARMING]
    return [
        *(block for one in calm for block in _listing(f"{one}:", _groups(performance, one), most)),
        *_listing("history:", history_lines(performance.history), most),
        *_listing("profile:", profile_lines(performance.profiles), most),
        *_listing("how far this can be believed:", _ending(performance), most),
    ]


def conclusion(performance: PerformanceDocument) -> str:
    """What is said of speed, in one sentence."""
    run = performance.comparison
    if run is not None and run.comparisons:
        return f"{str(run.comparisons[0].verdict).upper()}: {speed.conclusion(run)}"
    profiled, imported = len(performance.profiles), len(performance.imported)
    said = ["nothing was compared"]
    said += [f"{profiled:,} case{'' if profiled == 1 else 's'} profiled"] if profiled else []
    if imported:
        sources = ", ".join(dict.fromkeys(plain(one.source) for one in performance.imported))
        said.append(f"{imported:,} time{'' if imported == 1 else 's'} imported from {sources}")
    return "; ".join(said)


def trend_lines(trends: Sequence[Trend]) -> list[str]:
    """How each operator that regressed stood in the newest stored runs."""
    return [f"{plain(one.case.name)}: {trend_line(one)}" for one in trends]


def history_lines(history: Sequence[HistoryReading]) -> list[str]:
    """Series that are suspected or drift, then those whose level changed."""
    doubtful = [one for one in history if one.suspected or one.drifting is not None]
    changed = [one for one in history if one.changes and one not in doubtful]
    lines = [f"{plain(one.case.name)}: {plain(one.statement)}" for one in doubtful]
    return lines + [f"{plain(one.case.name)}: {_change(one)}" for one in changed]


def comparable_line(comparable: ComparableRuns) -> str:
    """Which stored runs the history counted, and why not the others."""
    runs = _counted(comparable.counted, "stored run")
    counted = f"{runs} of this machine {plain(comparable.machine_key)}"
    if not comparable.counted:
        counted = f"no stored run of this machine {plain(comparable.machine_key)} yet: recording the first"
    if not comparable.left_out:
        return f"history: {counted}"
    others = _counted(comparable.other_machines, "other machine")
    return f"history: {counted}; {comparable.left_out:,} of {others} left out ({_reasons(comparable)})"


def _reasons(comparable: ComparableRuns) -> str:
    """What differs; with its number of runs where there are several reasons."""
    shown = comparable.why[:REASONS_SHOWN]
    if len(shown) == 1 and shown[0].runs == comparable.left_out:
        return _differs(shown[0])
    rest = comparable.left_out - sum(one.runs for one in shown)
    told = [f"{_counted(one.runs, 'run')}: {_differs(one)}" for one in shown]
    return "; ".join([*told, *([f"{_counted(rest, 'run')}: others"] if rest else [])])


def _differs(one: LeftOut) -> str:
    shown = [plain(words) for words in one.differs[:REASONS_SHOWN]]
    more = len(one.differs) - len(shown)
    return "; ".join(shown) + (f" and {_counted(more, 'more fact')}" if more else "")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def profile_lines(profiles: Sequence[ProfileEntry]) -> list[str]:
    """Findings, then the cases that use least of what the device could do."""
    found = [f"{plain(one.case.name)}: {plain(finding.statement)}" for one in profiles for finding in one.findings]
    rated = sorted(
        ((one.utilisation, plain(one.case.name), plain(one.advice)) for one in profiles if one.utilisation is not None),
    )
    return found + [
        f"{name} at {100 * used:.0f} % of its floor: {advice}" for used, name, advice in rated[:WORST_SHOWN]
    ]


def _change(reading: HistoryReading) -> str:
    """The newest change of its level, with the commits it lies between."""
    newest = reading.changes[-1]
    where = f"between {newest.before[:7]} and {newest.after[:7]}"
    return f"its level changed by {100 * (newest.ratio - 1):+.0f} % {where} (p {newest.p_value:.1g})"


def _compared(run: ComparisonRun, verbosity: int) -> list[list[str]]:
    table = compare.comparison_table(run, verbosity) if verbosity else []
    return [table, *compare.verdict_sections(run, verbosity)]


def _ending(performance: PerformanceDocument) -> list[str]:
    run = performance.comparison
    compared = (
        []
        if run is None
        else [
            *compare.doubt_lines(run),
            speed.control_line(run, performance.alarms),
            f"cost: {speed.cost_line(run)}",
            *(f"note: {plain(note)}" for note in run.notes),
        ]
    )
    counted = [] if performance.comparable is None else [comparable_line(performance.comparable)]
    return [*compared, *counted, *(f"note: {plain(note)}" for note in performance.notes)]


def _titled(title: str, lines: list[str], verbosity: int) -> list[str]:
    shown = lines if verbosity else lines[:LINES_SHOWN]
    hidden = len(lines) - len(shown)
    more = [f"  ... and {hidden:,} more: -v lists them"] if hidden else []
    return [title, *(f"  {line}" for line in shown), *more] if lines else []


def _groups(performance: PerformanceDocument, verdict: SpeedVerdict) -> list[str]:
    run = performance.comparison
    if run is None:
        return []
    return [speed.verdict_line(group, run.arms) for group in speed.by_operator(run.comparisons, verdict)]


def _listing(title: str, lines: Sequence[str], most: int) -> list[str]:
    return listing(title.capitalize(), [md_text(line, LINE_LIMIT) for line in lines], most)
