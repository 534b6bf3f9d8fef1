"""Whether a Parquet file is what a file of a table can be, from its footer alone.

Decides the bounds: a footer that promises more than any writer of ours puts into a file is not followed, because what
it promises is what a reader makes room for. Reads no rows.
"""

from __future__ import annotations

from datetime import date, datetime, timezone

import pyarrow as pa
import pyarrow.parquet as pq

from opsdebug_ci.store.column import TEXT, Table
from opsdebug_ci.store.files.contents import ROOT_TABLE

MOST_GROUP_BYTES = 2 << 30
"""Uncompressed bytes of one row group: Parquet's own bound of one page, and forty times our largest pack's."""

MOST_GROUP_ROWS = 1 << 24
"""Rows of one row group: sixteen times what common writers put into one. A run-length code makes any number of rows of
a few bytes, so bytes alone do not bound them."""

MOST_GROUPS = 1 << 15
"""Row groups of one file: with ours, two thousand million rows."""


def identity_column(table: Table) -> str | None:
    """Column that says which run a row belongs to; None: rows of this table belong to none."""
    if table.name == ROOT_TABLE:
        return "id"
    return "run_id" if table.of_run else None


def footer_fault(metadata: pq.FileMetaData, size_bytes: int) -> str | None:
    """What a footer promises that cannot be; None: nothing.

    Args:
        metadata: the footer.
        size_bytes: size of its file.
    """
    if not 0 < metadata.num_row_groups <= MOST_GROUPS:
        return f"promises {metadata.num_row_groups:,} row groups; wanted 1 to {MOST_GROUPS:,}"
    rows = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows += group.num_rows
        if not 0 < group.num_rows <= MOST_GROUP_ROWS:
            return f"promises a row group of {group.num_rows:,} rows; wanted 1 to {MOST_GROUP_ROWS:,}"
        if not 0 < group.total_byte_size <= MOST_GROUP_BYTES:
            return f"promises a row group of {group.total_byte_size:,} bytes; wanted 1 to {MOST_GROUP_BYTES:,}"
    if rows != metadata.num_rows:
        return f"promises {metadata.num_rows:,} rows, and {rows:,} in its row groups"
    if metadata.serialized_size >= size_bytes:
        return f"promises a footer of {metadata.serialized_size:,} bytes in a file of {size_bytes:,}"
    return None


def schema_fault(table: Table, schema: pa.Schema) -> str | None:
    """Why a file with this schema is none of the table's, of any version; None: it is one.

    Columns may be lacking, for older programs did not write them all, and there may be others, for newer ones do.
    """
    identity = identity_column(table) or table.columns[0].name
    if identity not in schema.names:
        return f"lacks column `{identity}`"
    for column in table.columns:
        positions = schema.get_all_field_indices(column.name)
        if len(positions) > 1:
            return f"has column `{column.name}` {len(positions)} times"
        if positions and not _fits(schema.field(positions[0]).type, column.type):
            return f"has `{schema.field(positions[0]).type}` in column `{column.name}`; wanted `{column.type}`"
    return None


def leaf_of(metadata: pq.FileMetaData, column: str) -> int | None:
    """Position of a plain column among the columns as Parquet counts them; None: it is not there."""
    paths = (metadata.schema.column(number).path for number in range(metadata.num_columns))
    return next((number for number, path in enumerate(paths) if path == column), None)


def only_value(metadata: pq.FileMetaData, leaf: int) -> object | None:
    """The only value of a column, as the footer tells; None: there are several, or the footer does not tell."""
    found = set()
    for number in range(metadata.num_row_groups):
        told = metadata.row_group(number).column(leaf).statistics
        if told is None or not told.has_min_max or told.null_count != 0:
            return None
        found |= {told.min, told.max}
    return found.pop() if len(found) == 1 else None


def utc_day(instant: object) -> date | None:
    """UTC day of an instant; None: it is none."""
    return instant.astimezone(timezone.utc).date() if isinstance(instant, datetime) else None


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """A column of type `found` may be read as `wanted`: the same, but for members of structs that one of them lacks."""
    if pa.types.is_dictionary(found):
        return bool(wanted == TEXT and found.value_type == TEXT)
    if pa.types.is_struct(wanted) and pa.types.is_struct(found):
        members = {wanted.field(number).name: wanted.field(number).type for number in range(wanted.num_fields)}
        there = [found.field(number) for number in range(found.num_fields)]
        shared = [field for field in there if field.name in members]
        return bool(shared) and all(_fits(field.type, members[field.name]) for field in shared)
    if pa.types.is_map(wanted) and pa.types.is_map(found):
        return _fits(found.key_type, wanted.key_type) and _fits(found.item_type, wanted.item_type)
    if pa.types.is_list(wanted) and pa.types.is_list(found):
        return _fits(found.value_type, wanted.value_type)
    return bool(found == wanted)
