"""Which commits of a line the store holds a record of, by their hash or by their files.

Decides how a record is looked up. Which runs are a record, and which commits are in the line, is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from opsdebug_ci.model.baseline import Ancestor, Recorded
from opsdebug_ci.store.memory.recording import RECORD
from opsdebug_ci.store.places.marker import is_store
from opsdebug_ci.store.sql.query import query

# NOTE: `tree` is that of `head_commit`; a run may be stored under another commit.
_RECORDED = f"""
    with records as (
        select id, "commit", case when "commit" = head_commit then coalesce(tree, '') else '' end as tree
        from runs where {RECORD}
    )
    select "commit", tree from records
    where (list_contains(?::varchar[], "commit") or list_contains(?::varchar[], tree)) and "commit" <> ?
    group by "commit", tree order by max(id)
"""  # noqa: S608 - our own text


def recorded(location: str | os.PathLike[str], line: Sequence[Ancestor], *, but: str = "") -> tuple[Recorded, ...]:
    """Commits of `line`, and others with the files of one of them, that the store holds a record of.

    Args:
        location: the store; one that does not exist yet has no record.
        line: commits with their trees.
        but: commit whose records do not count; empty: all do.

    Returns:
        One value a commit, the one that was recorded last at the end.
    """
    if not line or not is_store(location):
        return ()
    commits, trees = [at.commit for at in line], [at.tree for at in line if at.tree]
    rows = query(location, _RECORDED, (commits, trees, but)).rows
    return tuple(Recorded(commit=str(commit), tree=str(tree)) for commit, tree in rows)
