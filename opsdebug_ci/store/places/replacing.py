"""Which files that are there already may be replaced by others of the same path.

Decides that a run whose `runs` file is not there was never stored: what a killed writer left of it belongs to nobody,
and whoever brings the run may replace it. Everything else is never overwritten, but a bundle, whose name tells that it
is damaged. Two writers of one run id cannot be told apart from that; ids are unique.
"""

from __future__ import annotations

from collections.abc import Collection

from opsdebug_ci.store.files.contents import OWN_TABLES, ROOT_TABLE
from opsdebug_ci.store.files.layout import read_bundle_path, read_table_path


def replaceable(paths: Collection[str], there: Collection[str]) -> frozenset[str]:
    """Those of `paths`, which are added together, that may be replaced.

    Args:
        paths: of the files that are added.
        there: those of them that are in the store already, whatever their bytes.
    """
    tables = {path: found for path in paths if (found := read_table_path(path)) is not None}
    unseen = {one.name for path, one in tables.items() if one.table == ROOT_TABLE and path not in there}
    of_nobody = {path for path, one in tables.items() if one.table not in OWN_TABLES and one.name in unseen}
    return frozenset(of_nobody).union(path for path in paths if read_bundle_path(path) is not None)
