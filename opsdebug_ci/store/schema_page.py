"""The tables and columns as markdown, so that the documentation cannot disagree with the files.

`python -m opsdebug_ci.store.schema_page docs/store.md` rewrites the part of the page between its two marks.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.column import Table, sql_type
from opsdebug_ci.store.files.layout import PARTITION
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.schema import FORMAT_VERSION, TABLES
from opsdebug_ci.store.sql.examples import EXAMPLES
from opsdebug_ci.store.sql.macros import MACROS, Macro
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.sql.views import DERIVED_VIEWS

BEGIN = "<!-- generated from opsdebug_ci/store: begin -->"
END = "<!-- generated from opsdebug_ci/store: end -->"


def render() -> str:
    """Everything between the marks."""
    sections = [f"Format version {FORMAT_VERSION}.", *(_table(table) for table in TABLES)]
    sections += [f"### `{view.name}` (view)\n\n{view.comment}" for view in DERIVED_VIEWS]
    sections.append(
        "\n".join(
            (
                "### Functions",
                "",
                *(f"* `{macro.call}`: {macro.comment} {macro.detail}".rstrip() + _answered(macro) for macro in MACROS),
            )
        )
    )
    sections.append("### Example queries\n\n" + "\n\n".join(f"{e.title}:\n\n    {e.sql}" for e in EXAMPLES))
    return "\n\n".join(sections)


def updated(page: str) -> str:
    """The page with what is between its marks rendered anew. Raises UsageError when the marks are missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"the page has no lines `{BEGIN}` and `{END}`; wanted both, in this order")
    return f"{before}{BEGIN}\n\n{render()}\n\n{END}{after}"


def main(arguments: Sequence[str]) -> None:
    """Rewrite the page named by the only argument."""
    path = Path(arguments[0])
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")


def _answered(macro: Macro) -> str:
    """Its columns, as a store without rows describes them; nothing for a single value."""
    if macro.scalar:
        return ""
    given = ", ".join("now()" if parameter == "moment" else "''" for parameter in macro.parameters)
    with tempfile.TemporaryDirectory() as place:
        open_store(place).backend.add(())
        described = query(place, f"describe from {macro.name}({given})").rows
    return f" Columns: {', '.join(f'`{name}`' for name, *_ in described)}."


def _table(table: Table) -> str:
    lines = [f"### `{table.name}`", "", table.comment, "", "| column | type | unit | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{column.name}` | {sql_type(column.type)} | {column.unit} | {_cell(column.comment)} |"
        for column in table.columns
    ]
    return "\n".join([*lines, f"| `{PARTITION}` | DATE | UTC | day the run started, from the directory's name |"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main(sys.argv[1:])
