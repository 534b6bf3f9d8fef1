"""A run as markdown, for the job summary of its own job and for `opsdebug report markdown`.

Decides what is kept when space runs out; the verdict survives every form. The parts are those of the comment, which
tells of all shards and of what changed, and which alone bears the bot's hidden marker.
"""

from __future__ import annotations

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.report import rollup
from opsdebug_ci.report.blocks import fold
from opsdebug_ci.report.comment.amount import EVERYTHING, OPEN, URGENT, Amount
from opsdebug_ci.report.comment.details import operator_table, remarks
from opsdebug_ci.report.comment.failures import cause_list, failures_title, known_blocks, new_groups
from opsdebug_ci.report.comment.unsettled import skipped_blocks, unsettled_blocks
from opsdebug_ci.report.escape import md_code, md_text
from opsdebug_ci.report.figures import counted
from opsdebug_ci.report.performance import performance_blocks

COMMENT_LIMIT = 65_000
"""Bytes of UTF-8: GitHub names 65,536 characters as its limit."""


def markdown(document: RunDocument, limit: int = COMMENT_LIMIT) -> str:
    """The fullest rung that fits into `limit` bytes: everything, no details, only failures, counts.

    Args:
        document: the run.
        limit: bytes of UTF-8. The last rung is under 1,000 bytes and is returned whatever the limit.
    """
    unsettled, skipped = _unsettled(document), _skipped(document)
    entries = EVERYTHING.entries
    speed, slower = (performance_blocks(document.performance, entries, folded=folded) for folded in (True, False))
    head, end = [_verdict(document)], [*_next(document)]
    rungs = (
        [*head, *_failures(document, EVERYTHING), *speed, *unsettled, *skipped, *_details(document), *end],
        [*head, *_failures(document, OPEN), *slower, *unsettled, *skipped, *end],
        [
            *head,
            *_failures(document, URGENT),
            *performance_blocks(document.performance, URGENT.entries, folded=False),
            "Details do not fit here: they are in the run's JSON.",
        ],
        [*head, "Failures do not fit here: they are in the run's JSON."],
    )
    texts = ("\n\n".join(blocks) + "\n" for blocks in rungs)
    *fuller, last = texts
    return next((text for text in fuller if len(text.encode()) <= limit), last)


def _verdict(document: RunDocument) -> str:
    stage = f" · {document.stage}" if document.stage else ""
    commit = f" · {md_text(document.run.commit[:12])}" if document.run.commit else ""
    return f"**opsdebug: {document.summary.verdict}**{stage}{commit}: {rollup.conclusion(document)}."


def _failures(document: RunDocument, amount: Amount) -> list[str]:
    """All new causes, then those that were known."""
    new = new_groups(document)
    hidden = len(new) - amount.entries
    more = [f"and {counted(hidden, 'more cause')} of failure."] if hidden > 0 else []
    causes = [failures_title(new), *cause_list(document, new[: amount.entries]), *more] if new else []
    return [*causes, *known_blocks(document, amount)]


def _unsettled(document: RunDocument) -> list[str]:
    return unsettled_blocks(document, EVERYTHING.lines)


def _skipped(document: RunDocument) -> list[str]:
    return skipped_blocks(document, EVERYTHING.lines)


def _details(document: RunDocument) -> list[str]:
    table = operator_table(document, EVERYTHING.lines)
    return fold("All operators", [*table, *remarks(document, EVERYTHING.lines)]) if table else []


def _next(document: RunDocument) -> list[str]:
    return [f"Next: {md_code(document.next[0])}"] if document.next else []
