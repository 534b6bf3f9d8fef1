"""The same publication, said ever more shortly, so that one of the forms fits.

Decides what is given up first: what is folded away, then what is not settled or skipped, then all but the first causes,
at last everything but the verdict and its counts. Each form stands by itself; the last one is under 1,000 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.publication import Publication
from opsdebug_ci.model.vocabulary import Verdict
from opsdebug_ci.report import figures
from opsdebug_ci.report.blocks import fold
from opsdebug_ci.report.comment.amount import EVERYTHING, OPEN, URGENT, Amount
from opsdebug_ci.report.comment.details import machine_line, operator_table, remarks
from opsdebug_ci.report.comment.doubt import doubt_blocks
from opsdebug_ci.report.comment.failures import failure_blocks
from opsdebug_ci.report.comment.footer import footer
from opsdebug_ci.report.comment.headline import verdict_block
from opsdebug_ci.report.comment.regressions import regression_blocks, speed_blocks
from opsdebug_ci.report.comment.shards import missing_blocks
from opsdebug_ci.report.comment.since_push import change_blocks, fixed_blocks
from opsdebug_ci.report.comment.unsettled import skipped_blocks, unsettled_blocks

FORMS = (EVERYTHING, OPEN, URGENT, replace(URGENT, entries=3))
"""Amounts from the fullest on; the counts come after them."""

NOT_ALL = "This is not all: the rest is in the report of the CI run."
"""What a form says that leaves something out."""


def rungs(publication: Publication, *, limit_bytes: int, silence: bool = True) -> tuple[str, ...]:
    """The visible markdown, fullest first; none longer than the one before, none above the limit but for the last.

    Args:
        publication: what is said.
        limit_bytes: bytes of UTF-8 of one form.
        silence: the last line says how to turn the comment off.

    Returns:
        Every form that fits; of a form that does not, the same with fewer entries, unless it is the fullest. The last
        is under 1,000 bytes whatever the publication and the limit.
    """
    whole, end = _blocks(publication, EVERYTHING), footer(publication, silence=silence)
    found: list[str] = []
    room = limit_bytes
    for form in FORMS:
        shorter = (_blocks(publication, amount) for amount in _ever_less(form))
        texts = (_joined([*blocks, *([] if blocks == whole else [NOT_ALL]), end]) for blocks in shorter)
        fitting = next((text for text in texts if len(text.encode()) <= room), None)
        if fitting is not None:
            found.append(fitting)
            room = len(fitting.encode())
    return (*found, _joined([verdict_block(publication, named=False), NOT_ALL, end]))


def _ever_less(form: Amount) -> Iterator[Amount]:
    """The form, then with half as many entries and lines, until one of each is left; what is folded goes before."""
    yield form
    while not form.folded and (form.entries > 1 or form.lines > 1):
        form = replace(form, entries=max(1, form.entries // 2), lines=min(form.lines, max(1, form.lines // 2)))
        yield form


def _blocks(publication: Publication, amount: Amount) -> list[str]:
    document = publication.document
    return [
        verdict_block(publication),
        *doubt_blocks(publication),
        *change_blocks(publication, amount),
        *fixed_blocks(publication, amount),
        *failure_blocks(publication, amount),
        *regression_blocks(publication, amount),
        *speed_blocks(publication, amount),
        *(unsettled_blocks(document, amount.lines) if document is not None and amount.lines else []),
        *missing_blocks(publication, amount),
        *(_folded(document, amount) if document is not None and amount.folded else []),
    ]


def _folded(document: RunDocument, amount: Amount) -> list[str]:
    table, notes = operator_table(document, amount.lines), remarks(document, amount.lines)
    skipped = figures.counted(document.summary.counts.get(str(Verdict.SKIPPED), 0), "case")
    return [
        *fold(f"Skipped: {skipped}", skipped_blocks(document, amount.lines, title="")),
        *fold("All operators, machine, notes", [*table, machine_line(document.run.machine), *notes]),
    ]


def _joined(blocks: list[str]) -> str:
    return "\n\n".join(blocks) + "\n"
