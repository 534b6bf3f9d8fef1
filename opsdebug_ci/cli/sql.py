"""`opsdebug sql`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opsdebug_ci.cli.options import config_option, json_option, store_option
from opsdebug_ci.cli.output import tell
from opsdebug_ci.cli.store_location import store_location
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.table import aligned

if TYPE_CHECKING:
    from opsdebug_ci.store.query import StoreListing


@click.command()
@click.argument("query", required=False)
@store_option
@config_option
@json_option
def command(query: str | None, store: str | None, config: Path | None, as_json: bool) -> int:
    """Answer one SELECT over the baseline store; without QUERY, list its tables and queries to start from."""
    from opsdebug_ci.store import query as sql  # noqa: PLC0415 - duckdb: only when there is something to ask

    location = store_location(store, config)
    if query is None:
        tell(_listing(sql.tables(location), as_json=as_json))
        return 0
    result = sql.query(location, query)
    if as_json:
        names = _distinct(result.columns)
        rows = [dict(zip(names, map(_finite, row), strict=True)) for row in result.rows]
        tell(json.dumps(rows, default=str, allow_nan=False))
    else:
        tell(_table(result.columns, result.rows))
    return 0


def _listing(listing: StoreListing, *, as_json: bool) -> str:
    if as_json:
        return json.dumps({table.name: {"rows": table.rows, "comment": table.comment} for table in listing.tables})
    tables = aligned(("table", "holds", "rows"), [(t.name, t.comment, str(t.rows)) for t in listing.tables], left=2)
    examples = [line for example in listing.examples for line in ("", f"-- {example.title}", example.sql.strip())]
    return "\n".join([f"store {listing.location}", "", *tables, "", "Queries to start from:", *examples])


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = [["NULL" if value is None else plain(str(value)) for value in row] for row in rows]
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return "\n".join([*aligned(columns, cells), f"({count})"])


def _distinct(names: Sequence[str]) -> list[str]:
    """`names` with a number behind each repeated one, as keys of one object."""
    return [name if name not in names[:i] else f"{name}_{i + 1}" for i, name in enumerate(names)]


def _finite(value: object) -> object:
    """`value` without the numbers JSON has no spelling for, which become null as in every document of ours."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return value
