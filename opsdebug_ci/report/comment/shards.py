"""What is missing from a publication: shards that were not taken, and why; why nothing can be said."""

from __future__ import annotations

from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.blocks import listing
from opsdebug_ci.report.comment.amount import STATEMENT_LIMIT, UNFOLDED, Amount
from opsdebug_ci.report.comment.lacking import STATES, lost_shards, which_shard
from opsdebug_ci.report.escape import md_prose


def missing_blocks(publication: Publication, amount: Amount) -> list[str]:
    """Each shard that is not part of what is said, then the reasons that are of none of these."""
    lost = lost_shards(publication)
    shards = [f"{which_shard(publication, one)} {STATES[one.state]}{_because(one.reason)}" for one in lost]
    told = tuple(f"shard {shard.shard} " for shard in lost)  # as merging begins what it says of one
    reasons = [md_prose(reason, STATEMENT_LIMIT) for reason in publication.reasons if not reason.startswith(told)]
    return listing("#### Not everything was judged", [*shards, *reasons], min(amount.lines or UNFOLDED, UNFOLDED))


def _because(reason: str) -> str:
    return f": {md_prose(reason, STATEMENT_LIMIT)}" if reason else ""
