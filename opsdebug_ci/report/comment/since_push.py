"""What changed since the last push of the pull request: new, fixed, still there, not judged; and what of the baseline's
failures is fixed; each by name."""

from __future__ import annotations

from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.comment.amount import UNFOLDED, Amount
from opsdebug_ci.report.comment.names import with_causes
from opsdebug_ci.report.comment.places import commit_link


def fixed_blocks(publication: Publication, amount: Amount) -> list[str]:
    """`2 fixed since the baseline, 3fa9c21: halved (tail_mask) and softmax (oob_read).`; nothing where none is, and
    where there is room for what gates alone."""
    if not publication.fixed or not amount.lines:
        return []
    names = with_causes(((key.operator, key.cause) for key in publication.fixed), min(UNFOLDED, amount.entries))
    document = publication.document
    at = commit_link(publication.links, "" if document is None else document.baseline or "")
    return [f"{fixed_words(publication)}{f', {at}' if at else ''}: {names}."]


def fixed_words(publication: Publication) -> str:
    """`2 fixed since the baseline`: no text of others; empty where nothing is."""
    return f"{len(publication.fixed):,} fixed since the baseline" if publication.fixed else ""


def change_blocks(publication: Publication, amount: Amount) -> list[str]:
    """One line per kind of change; nothing where nothing failed before and nothing fails now."""
    changes = publication.changes
    if changes is None:
        return []
    kinds = {
        "new": changes.new,
        "new, or known then": changes.doubtful,
        "fixed": changes.fixed,
        "still there": changes.still,
        "not judged this time": changes.unjudged,
    }
    most = min(UNFOLDED, amount.entries)
    lines = [
        f"- {len(keys):,} {words}: {with_causes(((key.operator, key.cause) for key in keys), most)}"
        for words, keys in kinds.items()
        if keys
    ]
    at = commit_link(publication.links, changes.since)
    push = f"{_PUSH}, {at}" if at else _PUSH
    return ["\n".join([f"Since {push}:", "", *lines])] if lines else []


_PUSH = "the last push judged whole"
"""There may be newer ones, of which a shard is missing."""
