"""What is missing from a publication: shards that were not taken, and why; why nothing can be said."""

from __future__ import annotations

from opsdebug_ci.model.publication import Publication, ShardState
from opsdebug_ci.report.blocks import listing
from opsdebug_ci.report.comment.amount import STATEMENT_LIMIT, UNFOLDED, Amount
from opsdebug_ci.report.escape import md_prose

_STATES = {
    ShardState.MISSING: "left nothing",
    ShardState.REJECTED: "left what cannot be taken",
    ShardState.FAILED: "has no run",
}


def missing_blocks(publication: Publication, amount: Amount) -> list[str]:
    """Each shard that is not part of what is said, then the reasons that are of none of these."""
    total = len(publication.shards)
    lost = [shard for shard in publication.shards if shard.state is not ShardState.TAKEN]
    shards = [f"shard {shard.shard} of {total} {_STATES[shard.state]}{_because(shard.reason)}" for shard in lost]
    told = tuple(f"shard {shard.shard} " for shard in lost)  # as merging begins what it says of one
    reasons = [md_prose(reason, STATEMENT_LIMIT) for reason in publication.reasons if not reason.startswith(told)]
    return listing("#### Not everything was judged", [*shards, *reasons], min(amount.lines or UNFOLDED, UNFOLDED))


def _because(reason: str) -> str:
    return f": {md_prose(reason, STATEMENT_LIMIT)}" if reason else ""
