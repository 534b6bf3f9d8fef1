"""Cases nothing can be said of, by reason: not settled, or skipped.

Decides that each is counted and has its reason. The summary of a single run lists them in the same words.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.vocabulary import Verdict
from opsdebug_ci.report import rollup
from opsdebug_ci.report.blocks import listing
from opsdebug_ci.report.comment.amount import STATEMENT_LIMIT
from opsdebug_ci.report.escape import md_prose, md_text
from opsdebug_ci.report.figures import counted


def unsettled_blocks(document: RunDocument, most: int) -> list[str]:
    """Cases whose references disagree, or whose inputs or references broke."""
    return listing("#### Not settled", _lines(document, rollup.UNSETTLED), most)


def skipped_blocks(document: RunDocument, most: int, title: str = "#### Skipped") -> list[str]:
    """Cases that did not run, and operators none of whose cases did."""
    never = rollup.never_judged(document)
    note = [f"Never judged: {operators(never, most)} (every case skipped)."] if never else []
    return [*listing(title, _lines(document, (Verdict.SKIPPED,)), most), *note]


def operators(names: Sequence[str], most: int) -> str:
    """Names in a row, at most so many."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(md_text(name) for name in names[:most]) + more


def _lines(document: RunDocument, verdicts: tuple[Verdict, ...]) -> list[str]:
    return [
        f"{item.verdict}, {counted(item.count, 'case')} of {md_text(item.operator)}: "
        f"{md_prose(item.reason, STATEMENT_LIMIT)}"
        for item in rollup.reasons(document, verdicts)
    ]
