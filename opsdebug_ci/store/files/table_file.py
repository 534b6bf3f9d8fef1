"""One file of a table, opened for reading: that it is what was recorded of it, and what a file of its table can be.

Decides what is looked at before any row of it counts: its hash where one is recorded, its footer, its columns, and that
it holds rows of no other run than its name says. What is opened stays readable when the file is removed meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import final

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from opsdebug_ci.errors import DamagedFileError
from opsdebug_ci.store.column import TEXT, Table
from opsdebug_ci.store.files.contents import ROOT_TABLE, FileFacts, LiveFile
from opsdebug_ci.store.files.encoding import PAGES_KEY
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.layout import PARTITION
from opsdebug_ci.store.files.soundness import footer_fault, identity_column, leaf_of, only_value, schema_fault, utc_day

IN_MEMORY_BYTES = 1 << 20
"""Size up to which a file is read once, as a whole; larger ones are hashed piece by piece, and read where they are."""

PIECE_BYTES = 1 << 20
"""Bytes hashed at once: enough that the interpreter does not count."""

TEXT_ONCE = pa.dictionary(pa.int32(), TEXT)
"""How text is read: each distinct value once, which halves the time of an aggregate over millions of rows."""

SOUGHT = "operator"
"""Column that is read as plain text: Arrow leaves out row groups by their smallest and largest value only so. A query
about one operator of 30 takes a third of the time for it, one about all of them twice."""

FOOTER_END = 8
"""Bytes after a footer: its length, and the magic word."""


STARTED_AT = "started_at"
"""Column of table `runs` that says in which directory a file must lie."""

DAY, MONTH = 10, 7
"""Characters of an ISO 8601 day, and of its month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a file must be."""

    facts: FileFacts | None = None
    """What was recorded of it; None: nothing was."""

    runs: frozenset[str] | None = None
    """Runs of which it may hold rows; None: its table has none."""

    every_run: bool = False
    """It must hold rows of each of them, one."""

    decode: bool = False
    """Every page of it is decoded, if no hash says that they are as they were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """A file whose rows may be read."""

    file: LiveFile
    """Which."""

    fragment: pads.ParquetFileFragment
    """Its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where the bytes of a file are."""

    place: pa.Buffer | pa.NativeFile
    """In memory, or open."""

    size_bytes: int
    """How many."""

    path: Path
    """Its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """Columns of a file, of which it is known that its table may have them."""

    schema: pa.Schema
    """Its columns."""

    leaves: Mapping[str, int | None]
    """Where the columns are that are looked at before the rest; None: it lacks this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A file that is being looked at."""

    source: _Source
    """Its bytes."""

    metadata: pq.FileMetaData
    """Its footer."""

    shape: _Shape
    """Its columns."""


@final
class TableReader:
    """Opens files of one table.

    Args:
        root: the store.
        table: the table.
    """

    def __init__(self, root: Path, table: Table) -> None:
        self._root = root
        self._table = table
        fields = [
            pa.field(field.name, TEXT_ONCE if field.type == TEXT and field.name != SOUGHT else field.type)
            for field in table.schema
        ]
        self.schema: pa.Schema = pa.schema([*fields, pa.field(PARTITION, pa.date32())])
        self.format = pads.ParquetFileFormat(
            dictionary_columns=[field.name for field in fields if field.type == TEXT_ONCE],
            default_fragment_scan_options=pads.ParquetFragmentScanOptions(page_checksum_verification=True),
        )
        self._identity = identity_column(table)
        self._known: _Shape | None = None

    def open(self, file: LiveFile, expected: Expected) -> OpenedFile | FileFault:
        """Open a file, or say what is wrong with it. Raises FileNotFoundError when it is gone."""
        try:
            return OpenedFile(file=file, fragment=self._open(file, expected))
        except FileNotFoundError:
            raise
        except DamagedFileError as error:
            return FileFault(path=str(file.path), found=error.message)
        except OSError as error:
            return FileFault(path=str(file.path), found=f"cannot be read: {error.strerror or error}")
        except (pa.ArrowException, ValueError, OverflowError) as error:
            return FileFault(path=str(file.path), found=f"is not Parquet that can be read: {error}")

    def dataset(self, opened: Sequence[OpenedFile]) -> pads.Dataset:
        """The rows of some files."""
        return pads.FileSystemDataset([one.fragment for one in opened], self.schema, self.format)

    def _open(self, file: LiveFile, expected: Expected) -> pads.ParquetFileFragment:
        source = _source(self._root / str(file.path), expected.facts)
        fragment = self.format.make_fragment(source.place, partition_expression=self._guarantee(file))
        metadata = _metadata(fragment)
        fault = footer_fault(metadata, source.size_bytes)
        if fault is not None:
            raise DamagedFileError(fault)
        shape = self._shape(fragment.physical_schema, metadata)
        if expected.facts is not None:
            if metadata.num_rows != expected.facts.rows:
                raise DamagedFileError(f"holds {metadata.num_rows:,} rows; {expected.facts.rows:,} are recorded")
        elif not _pages_as_written(source, metadata) and expected.decode:
            pq.ParquetFile(source.place, page_checksum_verification=True).read()
        if expected.runs is not None:
            self._check_runs(file, _Opened(source=source, metadata=metadata, shape=shape), expected)
        return fragment

    def _guarantee(self, file: LiveFile) -> pads.Expression:
        """What holds for every row of a file, whatever is in it: its day and, unless it is of a pack, its run."""
        known = pads.field(PARTITION) == pa.scalar(date.fromisoformat(file.path.day), pa.date32())
        if self._identity is None or file.path.packed:
            return known
        return known & (pads.field(self._identity) == file.path.name)

    def _shape(self, schema: pa.Schema, metadata: pq.FileMetaData) -> _Shape:
        """The shape of a file, if its table has it; files one after another mostly have the same, judged once."""
        known = self._known
        if known is not None and schema.equals(known.schema):
            return known
        fault = schema_fault(self._table, schema)
        if fault is not None:
            raise DamagedFileError(fault)
        leaves = {column: leaf_of(metadata, column) for column in (self._identity or "", STARTED_AT)}
        self._known = _Shape(schema=schema, leaves=leaves)
        return self._known

    def _check_runs(self, file: LiveFile, opened: _Opened, expected: Expected) -> None:
        assert self._identity is not None  # noqa: S101 - asked of tables whose rows belong to runs
        assert expected.runs is not None  # noqa: S101 - as above
        rows = opened.metadata.num_rows
        if expected.every_run and rows != len(expected.runs):
            raise DamagedFileError(f"holds {rows:,} rows; wanted one of each of {_runs_text(expected.runs)}")
        found = _values(opened, self._identity)
        strange = sorted(found - expected.runs, key=str)
        if strange:
            raise DamagedFileError(f"holds rows of run `{strange[0]}`; wanted those of {_runs_text(expected.runs)}")
        if expected.every_run and len(found) != len(expected.runs):
            raise DamagedFileError(f"lacks run `{min(expected.runs - found)}`")
        if self._table.name == ROOT_TABLE and opened.shape.leaves[STARTED_AT] is not None:
            precision = MONTH if file.path.packed else DAY
            started = {str(utc_day(instant))[:precision] for instant in _values(opened, STARTED_AT)}
            if started != {file.path.day[:precision]}:
                raise DamagedFileError(f"is of {min(started)}, and lies in the directory of {file.path.day}")


def _source(path: Path, facts: FileFacts | None) -> _Source:
    """The bytes of a file, if they are what was recorded of them."""
    size = path.stat().st_size
    if facts is not None and size != facts.size_bytes:
        raise DamagedFileError(f"has {size:,} bytes; {facts.size_bytes:,} are recorded")
    small = path.read_bytes() if size <= IN_MEMORY_BYTES else None
    place = pa.OSFile(str(path)) if small is None else pa.py_buffer(small)
    if facts is not None:
        got = _sha256(path, size) if small is None else hashlib.sha256(small).hexdigest()
        if got != facts.sha256:
            raise DamagedFileError(f"has sha256 `{got[:12]}…`; `{facts.sha256[:12]}…` is recorded")
    return _Source(place=place, path=path, size_bytes=size)


def _sha256(path: Path, length: int) -> str:
    """Hash of the first bytes of a file."""
    found, piece = hashlib.sha256(), memoryview(bytearray(PIECE_BYTES))
    with path.open("rb", buffering=0) as file:
        while length > 0 and (got := file.readinto(piece[: min(length, PIECE_BYTES)])):
            found.update(piece[:got])
            length -= got
    return found.hexdigest()


def _metadata(fragment: pads.ParquetFileFragment) -> pq.FileMetaData:
    fragment.ensure_complete_metadata()
    return fragment.metadata


def _pages_as_written(source: _Source, metadata: pq.FileMetaData) -> bool:
    """The pages hash to what the file says of them; False: it says nothing, as older ones."""
    told = (metadata.metadata or {}).get(PAGES_KEY.encode())
    if told is None:
        return False
    length = source.size_bytes - metadata.serialized_size - FOOTER_END
    if isinstance(source.place, pa.Buffer):
        got = hashlib.sha256(memoryview(source.place)[:length]).hexdigest()
    else:
        got = _sha256(source.path, length)
    if got != told.decode(errors="replace"):
        raise DamagedFileError(f"has pages of sha256 `{got[:12]}…`, which is not what it says of itself")
    return True


def _values(opened: _Opened, column: str) -> set[object]:
    """Every value of a column: as the footer tells, where it has only one."""
    leaf = opened.shape.leaves[column]
    told = None if leaf is None else only_value(opened.metadata, leaf)
    if told is not None:
        return {told}
    file = pq.ParquetFile(opened.source.place, read_dictionary=[column], page_checksum_verification=True)
    return set(file.read(columns=[column])[column].unique().to_pylist())


def _runs_text(run_ids: frozenset[str]) -> str:
    return f"`{min(run_ids)}`" if len(run_ids) == 1 else f"its {len(run_ids):,} runs"
