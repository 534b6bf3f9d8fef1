"""What changed since the last push of the pull request: new, fixed, still there, not judged; each by name."""

from __future__ import annotations

from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.comment.amount import UNFOLDED, Amount
from opsdebug_ci.report.comment.names import listed, with_cause
from opsdebug_ci.report.comment.places import commit_link


def change_blocks(publication: Publication, amount: Amount) -> list[str]:
    """One line per kind of change; nothing where nothing failed before and nothing fails now."""
    changes = publication.changes
    if changes is None:
        return []
    kinds = {
        "new": changes.new,
        "fixed": changes.fixed,
        "still there": changes.still,
        "not judged this time": changes.unjudged,
    }
    most = min(UNFOLDED, amount.entries)
    lines = [
        f"- {len(keys):,} {words}: {listed([with_cause(key) for key in keys], most)}"
        for words, keys in kinds.items()
        if keys
    ]
    at = commit_link(publication.links, changes.since)
    push = f"the last push, {at}" if at else "the last push"
    return ["\n".join([f"Since {push}:", "", *lines])] if lines else []
