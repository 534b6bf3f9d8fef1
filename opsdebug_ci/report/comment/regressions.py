"""Operators that became slower: by how much, against what, since when; and who has accepted it.

Decides that a regression is told with its interval, its threshold and its past, and how a person accepts it. What else
is known of speed is folded away, except what could not be told.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.instruction import instruction_for
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.publication import AcceptedRegression, Publication
from opsdebug_ci.model.speed import SpeedVerdict
from opsdebug_ci.report import speed
from opsdebug_ci.report.blocks import fold, listing
from opsdebug_ci.report.comment.amount import STATEMENT_LIMIT, Amount
from opsdebug_ci.report.escape import md_code, md_text, plain
from opsdebug_ci.report.figures import counted
from opsdebug_ci.report.performance import detail_blocks, untold_blocks
from opsdebug_ci.report.trend import trend_line

_DAY = 10
"""Characters of the day in an ISO 8601 instant."""

COMMAND_LIMIT = 120
"""Characters of an operator's name inside a command that is to be copied."""


def regression_blocks(publication: Publication, amount: Amount) -> list[str]:
    """What needs a person, what has one, and how to answer."""
    waiting = waiting_regressions(publication)
    needs = f"#### Slower, needs a person: {counted(len(waiting), 'operator')}"
    return [
        *listing(needs, [_regression(publication, operator) for operator in waiting[: amount.entries]], amount.entries),
        *_unseen(len(waiting) - amount.entries),
        *_question(waiting),
        *_accepted(publication, amount),
    ]


def speed_blocks(publication: Publication, amount: Amount) -> list[str]:
    """What could not be told of speed; then, folded, everything else."""
    performance = None if publication.document is None else publication.document.performance
    if performance is None:
        return []
    untold = untold_blocks(performance, amount.lines) if amount.lines else []
    details = detail_blocks(performance, amount.lines) if amount.folded else []
    return [*(["#### Speed", *untold] if untold else []), *fold("Speed in detail", details)]


def waiting_regressions(publication: Publication) -> tuple[str, ...]:
    """Operators that became slower and that nobody has accepted."""
    accepted = {one.operator for one in publication.accepted}
    return tuple(operator for operator in _regressed(publication) if operator not in accepted)


def _regressed(publication: Publication) -> tuple[str, ...]:
    return () if publication.document is None else publication.document.regressions


def _unseen(hidden: int) -> list[str]:
    return [f"and {counted(hidden, 'more operator')} slower, not shown here."] if hidden > 0 else []


def _regression(publication: Publication, operator: str) -> str:
    """One operator: its worst case against each arm, the threshold, its past."""
    performance = publication.document.performance if publication.document is not None else None
    said = _said(performance, operator) if performance is not None else []
    lines = [md_text(line, STATEMENT_LIMIT) for line in said]
    return "  \n  ".join([f"**{md_text(operator)}**: {lines[0] if lines else 'slower'}", *lines[1:]])


def _said(performance: PerformanceDocument, operator: str) -> list[str]:
    run = performance.comparison
    comparisons = [] if run is None else [one for one in run.comparisons if one.case.operator == operator]
    groups = speed.by_operator(comparisons, SpeedVerdict.REGRESSED)
    arms = () if run is None else run.arms
    lines = [
        f"{speed.verdict_words(group.worst, arms)} at {speed.subject(group.worst)}{speed.others(group)}; "
        f"threshold {100 * group.worst.threshold:.3g} %"
        for group in groups
    ]
    return [*lines, *(trend_line(trend) for trend in performance.trends if trend.case.operator == operator)]


def _question(waiting: Sequence[str]) -> list[str]:
    """How a maintainer answers."""
    if not waiting:
        return []
    command = f"{instruction_for(plain(waiting[0], COMMAND_LIMIT))} REASON"
    each = "" if len(waiting) == 1 else ", and so on for each"
    return [f"If it is worth it, somebody with write permission comments {md_code(command)}{each}."]


def _accepted(publication: Publication, amount: Amount) -> list[str]:
    lines = [_acceptance(publication, one) for one in publication.accepted[: amount.entries]]
    hidden = len(publication.accepted) - len(lines)
    return [*listing("#### Slower, and accepted", lines, amount.entries), *_unseen(hidden)]


def _acceptance(publication: Publication, one: AcceptedRegression) -> str:
    """Who, when, how long, why; then what was accepted."""
    until = f" until {md_text(one.until[:_DAY])}" if one.until else ""
    reason = f": {md_text(one.reason, STATEMENT_LIMIT)}" if one.reason else ", without a reason"
    who = f"accepted by {md_text(one.by)} on {md_text(one.at[:_DAY])}{until}{reason}"
    return f"{_regression(publication, one.operator)}  \n  {who}"
