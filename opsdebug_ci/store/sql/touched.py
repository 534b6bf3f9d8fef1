"""Which tables a query may read, from its words alone.

Decides which files are opened: those of every table that is named in the query, or in what it names. A word too many
costs time; a table that is read without being named is never taken for an empty one (`dataset` sees to that).
"""

from __future__ import annotations

from opsdebug_ci.store.schema import TABLES
from opsdebug_ci.store.sql.macros import MACROS
from opsdebug_ci.store.sql.views import DERIVED_VIEWS
from opsdebug_ci.store.tables import runs

INDIRECT = ("query", "execute")
"""Parts of names of functions that take SQL, or a table's name, as text: it may be put together from parts."""


def touched_tables(sql: str) -> frozenset[str]:
    """Names of the tables that `sql` may read."""
    text = sql.lower()
    names = {table.name for table in TABLES}
    if any(word in text for word in INDIRECT):
        return frozenset(names)
    meaning = {view.name: view.sql.lower() for view in DERIVED_VIEWS} | {m.name: m.sql.lower() for m in MACROS}
    found: set[str] = set()
    while more := {name for name in meaning if name in text} - found:
        found |= more
        text = " ".join([text, *(meaning[name] for name in more)])
    touched = {table.name for table in TABLES if table.name in text}
    if any(table.of_run and table.name in touched for table in TABLES):
        touched.add(runs.TABLE.name)
    return frozenset(touched)
