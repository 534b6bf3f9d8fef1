"""Bundles that rows name and the store does not hold: where they are.

Decides nothing: whoever stored the run said so.
"""

from __future__ import annotations

from pathlib import Path

from opsdebug_ci.store.sql.query import query

_ELSEWHERE = """
    select sha256, max_by(place, started_at) from (
        select unnest(map_keys(bundles_elsewhere)) as sha256, unnest(map_values(bundles_elsewhere)) as place, started_at
        from runs where bundles_elsewhere is not null
    ) where starts_with(sha256, ?) group by 1
"""


def bundles_elsewhere(root: Path, prefix: str) -> dict[str, str]:
    """sha256 -> where that bundle is, in words, for those that begin with `prefix`; the newest run's word counts."""
    return {str(sha256): str(place) for sha256, place in query(root, _ELSEWHERE, (prefix.lower(),)).rows}
