"""A run as markdown, for the pull-request comment and the job summary.

Decides what is kept when space runs out. Everything that came from the code under test passes through `md_text` or
`md_code`; the hidden marker and the verdict survive every rung.
"""

from __future__ import annotations

import re

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.vocabulary import Verdict
from opsdebug_ci.report import figures, rollup
from opsdebug_ci.report.escape import md_code, md_text
from opsdebug_ci.report.performance import performance_blocks
from opsdebug_ci.report.text import HEADER

COMMENT_LIMIT = 65_000
"""Bytes of UTF-8: GitHub names 65,536 characters as its limit."""

STATEMENT_LIMIT = 400
"""Characters of a statement: it holds a count, an index and three numbers beside a name."""

_GROUPS, _ROWS = 50, 200
"""Groups and lines of a list that a rung shows at most."""

_FEW = 10
"""Groups that the last rung but one shows."""


def markdown(document: RunDocument, marker: str = "default", limit: int = COMMENT_LIMIT) -> str:
    """The fullest rung that fits into `limit` bytes: everything, no details, only failures, counts.

    Args:
        document: the run.
        marker: which of several comments this is; anything but letters, digits, `.`, `_` and `-` becomes `-`.
        limit: bytes of UTF-8. The last rung is under 1,000 bytes and is returned whatever the limit.
    """
    failures, unsettled, skipped = _failures(document, _GROUPS), _unsettled(document), _skipped(document)
    speed, slower = (performance_blocks(document.performance, _GROUPS, folded=folded) for folded in (True, False))
    head, end = [marker_line(marker), _verdict(document)], [*_next(document)]
    rungs = (
        [*head, *failures, *speed, *unsettled, *skipped, *_details(document), *end],
        [*head, *failures, *slower, *unsettled, *skipped, *end],
        [
            *head,
            *_failures(document, _FEW),
            *performance_blocks(document.performance, _FEW, folded=False),
            "Details do not fit here: they are in the run's JSON.",
        ],
        [*head, "Failures do not fit here: they are in the run's JSON."],
    )
    texts = ("\n\n".join(blocks) + "\n" for blocks in rungs)
    *fuller, last = texts
    return next((text for text in fuller if len(text.encode()) <= limit), last)


def marker_line(marker: str) -> str:
    """The hidden first line by which the comment is found again."""
    return f"<!-- opsdebug-ci:v1 id={re.sub('[^A-Za-z0-9._-]', '-', marker)[:64] or 'default'} -->"


def _verdict(document: RunDocument) -> str:
    stage = f" · {document.stage}" if document.stage else ""
    commit = f" · {md_text(document.run.commit[:12])}" if document.run.commit else ""
    return f"**opsdebug: {document.summary.verdict}**{stage}{commit}: {rollup.conclusion(document)}."


def _failures(document: RunDocument, most: int) -> list[str]:
    groups = document.summary.groups
    blocks = [_group(document, group) for group in groups[:most]]
    if len(groups) > most:
        blocks.append(f"and {len(groups) - most:,} more groups of failures.")
    return ["### Failures", *blocks] if blocks else []


def _group(document: RunDocument, group: Group) -> str:
    case = rollup.representative(document, group)
    finding = case.findings[0] if case is not None and case.findings else None
    blame = f", blames the {finding.blame}" if finding is not None else ""
    known = f", {md_text(rollup.recorded(group))}" if group.known else ""
    lines = [
        f"- **{md_text(group.operator)}**: {group.cause}{blame}, {group.count:,}x{known}. "
        f"{md_text(group.statement, STATEMENT_LIMIT)}"
    ]
    lines += [f"  {md_text(fact, STATEMENT_LIMIT)}" for fact in rollup.group_facts(group)]
    again = group.replay or (finding.next if finding is not None else None)
    if again is not None:
        lines.append(f"  Reproduce: {md_code(again)}")
    return "  \n".join(lines)


def _unsettled(document: RunDocument) -> list[str]:
    return _list("### Not settled", document, rollup.UNSETTLED)


def _skipped(document: RunDocument) -> list[str]:
    never = rollup.never_judged(document)
    note = [f"Never judged: {_names(never)} (every case skipped)."] if never else []
    return [*_list("### Skipped", document, (Verdict.SKIPPED,)), *note]


def _list(title: str, document: RunDocument, verdicts: tuple[Verdict, ...]) -> list[str]:
    items = rollup.reasons(document, verdicts)
    lines = [
        f"- {item.verdict}, {item.count:,}x {md_text(item.operator)}: {md_text(item.reason, STATEMENT_LIMIT)}"
        for item in items[:_ROWS]
    ]
    if len(items) > _ROWS:
        lines.append(f"- and {len(items) - _ROWS:,} more.")
    return [title, "\n".join(lines)] if lines else []


def _details(document: RunDocument) -> list[str]:
    rows = rollup.operator_rows(document)
    if not rows:
        return []
    lines = ["| " + " | ".join(HEADER) + " |", "|---|" + "---:|" * (len(HEADER) - 1), *map(_row, rows[:_ROWS])]
    notes = _notes(document)
    more = [f"and {len(rows) - _ROWS:,} more operators."] if len(rows) > _ROWS else []
    return ["<details><summary>All operators</summary>", "\n".join(lines), *more, *notes, "</details>"]


def _row(row: rollup.OperatorRow) -> str:
    numbers = (row.cases, row.passed, row.failed, row.other)
    cells = [
        md_text(row.operator),
        *map(figures.count, numbers),
        figures.error_size(row.worst),
        figures.count(row.ulp_p99),
    ]
    return f"| {' | '.join(cells)} |"


def _notes(document: RunDocument) -> list[str]:
    amber, causes = rollup.amber_cases(document), figures.tally(rollup.amber_causes(document))
    overridden, unchanged = rollup.overridden_operators(document), document.unchanged
    unavailable = tuple(item.operator for item in document.unavailable)
    how = md_text(document.baseline_how, STATEMENT_LIMIT)
    return [
        *([f"{how[:1].upper()}{how[1:]}."] if how else []),
        *([f"Amber, passing within the worst case: {amber:,}{causes}."] if amber else []),
        *([f"Judged by their own tolerance: {_names(overridden)}."] if overridden else []),
        *([f"Unchanged, not run: {_names(unchanged)}."] if unchanged else []),
        *(f"Note: {md_text(note, STATEMENT_LIMIT)}." for note in document.notes[:_ROWS]),
        *([f"Not on this machine: {_names(unavailable)}."] if unavailable else []),
    ]


def _names(operators: tuple[str, ...]) -> str:
    more = f" and {len(operators) - _ROWS:,} more" if len(operators) > _ROWS else ""
    return ", ".join(md_text(operator) for operator in operators[:_ROWS]) + more


def _next(document: RunDocument) -> list[str]:
    return [f"Next: {md_code(document.next[0])}"] if document.next else []
