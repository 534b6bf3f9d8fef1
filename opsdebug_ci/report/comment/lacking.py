"""Which part of the whole is not there, in words of our own and, apart from them, why.

Decides which shard is named: one that says why it has no run before others, and the first of equals.
"""

from __future__ import annotations

import re

from opsdebug_ci.model.publication import Conclusion, Publication, ShardOutcome, ShardState
from opsdebug_ci.report.comment.brief import brief

STATES = {
    ShardState.MISSING: "left nothing",
    ShardState.REJECTED: "left what cannot be taken",
    ShardState.FAILED: "has no run",
}
"""What became of a shard that is not part of what is said."""

REASON_LIMIT = 160
"""Characters of why: the file, what it holds, what was wanted."""

_ENDED = re.compile(r"opsdebug ended with \d+: (opsdebug \[[\w.-]+\]: )?")
"""How a job begins that hands on the last words of its command; the list of what is missing has them whole."""


def lacking_words(publication: Publication) -> str:
    """`shard 2 of 3 left nothing`: without text of others; empty: nothing is missing."""
    if publication.conclusion not in (Conclusion.ERROR, Conclusion.INCOMPLETE):
        return ""
    lost = lost_shards(publication)
    if not lost:
        return _unlike(publication)
    first = _first(lost)
    return f"{which_shard(publication, first)} {STATES[first.state]}{_others(lost)}"


def which_shard(publication: Publication, shard: ShardOutcome) -> str:
    """`shard 2 of 3`; of a run in one part, not which part it is."""
    total = len(publication.shards)
    return f"shard {shard.shard} of {total}" if total > 1 else "the only job"


def lacking_sentence(publication: Publication) -> str:
    """The same with the reason, as inert markdown."""
    lost = lost_shards(publication)
    if publication.conclusion not in (Conclusion.ERROR, Conclusion.INCOMPLETE):
        return ""
    if not lost:
        return brief(publication.reasons[0], REASON_LIMIT) if publication.reasons else _unlike(publication)
    first = _first(lost)
    reason = brief(_ENDED.sub("", first.reason or _told(publication, first), count=1), REASON_LIMIT)
    return f"{which_shard(publication, first)} {STATES[first.state]}{f': {reason}' if reason else ''}{_others(lost)}"


def lost_shards(publication: Publication) -> list[ShardOutcome]:
    """Shards that are not part of what is said."""
    return [shard for shard in publication.shards if shard.state is not ShardState.TAKEN]


def _first(lost: list[ShardOutcome]) -> ShardOutcome:
    return next((shard for shard in lost if shard.state is ShardState.FAILED), lost[0])


def _others(lost: list[ShardOutcome]) -> str:
    more = len(lost) - 1
    return f"; {more} more {'is' if more == 1 else 'are'} not there" if more else ""


def _told(publication: Publication, shard: ShardOutcome) -> str:
    """What merging says of it."""
    told = (reason for reason in publication.reasons if reason.startswith(f"shard {shard.shard} "))
    return next(told, "").partition(": ")[2]


def _unlike(publication: Publication) -> str:
    """Every shard is there, and together they are not what was planned."""
    document = publication.document
    if document is None:
        return "there is no run" if publication.conclusion is Conclusion.ERROR else "there is no result"
    if document.plan is not None and len(document.observations) < document.plan.cases:
        return f"{len(document.observations):,} of {document.plan.cases:,} planned cases were judged"
    return "not every planned case was judged"
