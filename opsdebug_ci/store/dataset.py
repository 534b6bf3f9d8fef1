"""The files of a table as one Arrow dataset.

Decides how files of several versions become one table: the schema of this program rules, a column an older file
lacks is null. Opens no file before rows are asked for.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs

from opsdebug_ci.store.column import TEXT, Table
from opsdebug_ci.store.layout import PARTITION, SUFFIX

_DICTIONARY = pa.dictionary(pa.int32(), TEXT)
"""How text is read: each distinct value once, which halves the time of an aggregate over millions of rows."""

_DAY = pa.field(PARTITION, pa.date32())


def table_dataset(root: Path, table: Table) -> pads.Dataset | pa.Table:
    """Every stored row of `table` below `root`, with its day; the files are those there now."""
    schema = pa.schema([_read_as(field) for field in table.schema] + [_DAY])
    paths = sorted(str(path) for path in (root / table.name).glob(f"{PARTITION}=*/*{SUFFIX}"))
    if not paths:
        return schema.empty_table()
    options = pads.FileSystemFactoryOptions(
        partition_base_dir=str(root / table.name), partitioning=pads.partitioning(pa.schema([_DAY]), flavor="hive")
    )
    texts = [field.name for field in schema if field.type == _DICTIONARY]
    files = pads.ParquetFileFormat(dictionary_columns=texts)
    return pads.FileSystemDatasetFactory(pafs.LocalFileSystem(), paths, files, options).finish(schema)


def _read_as(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _DICTIONARY if field.type == TEXT else field.type)
