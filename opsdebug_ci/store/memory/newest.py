"""Which stored run is the newest: the one that SQL's `latest_run()` names, for everybody.

Decides nothing of its own; only that damaged files, which may hold a run, are not taken for there being none.
"""

from __future__ import annotations

from pathlib import Path

from opsdebug_ci.store.files.recall import damaged
from opsdebug_ci.store.sql.query import query


def newest(root: Path) -> str | None:
    """Id of the newest run of the store in directory `root`; None: there is none that counts.

    Raises:
        StoreError: there is none, and files are damaged that may hold one.
    """
    answer = query(root, "select latest_run()")
    ((run_id,),) = answer.rows
    if run_id is None and answer.faults:
        raise damaged(root, answer.faults[0])
    return None if run_id is None else str(run_id)
