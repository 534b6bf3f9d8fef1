"""Failures by cause: how often, what with numbers, a case that shows it, how to see it again.

Decides the words of one cause, for the comment and for the summary of a single run alike, and that causes known at the
baseline are folded away: they are not of this change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.publication import Publication, RunLinks
from opsdebug_ci.report import rollup
from opsdebug_ci.report.blocks import fold
from opsdebug_ci.report.comment.again import again_line
from opsdebug_ci.report.comment.amount import STATEMENT_LIMIT, UNFOLDED, Amount
from opsdebug_ci.report.escape import md_prose, md_text
from opsdebug_ci.report.figures import counted

FACTS_SHOWN = 2
"""Of where a cause shows: the boundary, and what separates failing from passing cases best."""


def failure_blocks(publication: Publication, amount: Amount) -> list[str]:
    """New causes, the first of them open; then, folded, those that were known."""
    document = publication.document
    if document is None:
        return []
    new = new_groups(document)
    open_ = min(UNFOLDED, amount.entries)
    folded = new[open_ : amount.entries] if amount.folded else ()
    fetched = bool(publication.links.bundles)
    blocks = [
        *cause_list(document, new[:open_], fetched=fetched),
        *fold(f"{counted(len(folded), 'more cause')} of failure", cause_list(document, folded, fetched=fetched)),
        *_unseen(len(new) - open_ - len(folded)),
        *_bundles(publication.links, new),
    ]
    title = [failures_title(new)] if new else []
    return [*title, *blocks, *known_blocks(document, amount, fetched=fetched)]


def failures_title(groups: Sequence[Group]) -> str:
    """How many there are."""
    cases = sum(group.count for group in groups)
    return f"#### Failures: {counted(len(groups), 'cause')}, {counted(cases, 'case')}"


def new_groups(document: RunDocument) -> tuple[Group, ...]:
    """Failures that were not known at the baseline."""
    return tuple(group for group in document.summary.groups if not group.known)


def cause_list(document: RunDocument, groups: Iterable[Group], *, fetched: bool = True) -> list[str]:
    """One block per cause.

    Args:
        document: the run.
        groups: failures by cause.
        fetched: whoever reads this has the bundles, or can have them: `opsdebug replay` finds them.
    """
    return [_cause(document, group, fetched=fetched) for group in groups]


def _cause(document: RunDocument, group: Group, *, fetched: bool) -> str:
    case = rollup.representative(document, group)
    finding = case.findings[0] if case is not None and case.findings else None
    blame = f", blames the {finding.blame}" if finding is not None else ""
    known = f", {md_text(rollup.recorded(group))}" if group.known else ""
    what = f"`{group.cause}`{blame}, {counted(group.count, 'case')}{known}"
    lines = [f"- **{md_text(group.operator)}**: {what}", md_prose(group.statement, STATEMENT_LIMIT)]
    example = [] if case is None else [f"for example {case.case.name.removeprefix(group.operator)}"]
    facts = [md_prose(fact, STATEMENT_LIMIT) for fact in (*example, *_facts(group))]
    lines.append("; ".join(facts))
    lines.append(again_line(case, group, fetched=fetched))
    return "  \n  ".join(line for line in lines if line)


def _facts(group: Group) -> tuple[str, ...]:
    """Where it fails; where that is not known, what its failures have in common."""
    where = rollup.group_where(group)[:FACTS_SHOWN]
    if where or group.count == 1 or not group.why:
        return where
    shared, _, _ = group.why.partition("; ")  # behind it: how many cases, and what was merged
    return (f"in common: {shared}",)


def _unseen(hidden: int) -> list[str]:
    return [f"and {counted(hidden, 'more cause')} of failure, not shown here."] if hidden > 0 else []


def _bundles(links: RunLinks, groups: Sequence[Group]) -> list[str]:
    there = links.bundles and any(group.replay for group in groups)
    return [f"Bundles to replay: {md_prose(links.bundles, STATEMENT_LIMIT)}."] if there else []


def known_blocks(document: RunDocument, amount: Amount, *, fetched: bool = True) -> list[str]:
    """Causes that were known at the baseline, folded; in a short form their number alone."""
    groups = tuple(group for group in document.summary.groups if group.known)
    if not groups:
        return []
    words = f"{counted(len(groups), 'cause')} known already, not of this change"
    if not amount.folded:
        return [f"{words}."]
    causes = cause_list(document, groups[: amount.entries], fetched=fetched)
    hidden = len(groups) - len(causes)
    return fold(words, [*causes, *([f"and {hidden:,} more."] if hidden > 0 else [])])
