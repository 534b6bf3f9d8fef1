"""Few files instead of many: which runs of a store become packs, and how the packs take their place.

Decides by month: runs with files of their own, and packs that are still small, become packs of at most so many bytes.
The new pack is added whole before anything is removed, so a reader sees every run once at every moment (`contents`),
and a writer is never waited for: what it adds meanwhile is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from opsdebug_ci.errors import StoreUnreachableError
from opsdebug_ci.store.files.contents import OWN_TABLES, ROOT_TABLE, Contents
from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import Inventory, take_inventory
from opsdebug_ci.store.files.layout import PACK_PREFIX, read_table_path
from opsdebug_ci.store.files.packing import Packed, Selected, pack
from opsdebug_ci.store.files.sources import files_by_name, read_source
from opsdebug_ci.store.files.table_file import TableReader
from opsdebug_ci.store.places.backend import Backend, StoreEntry, Told, untold
from opsdebug_ci.store.schema import TABLES

FEWEST = 10
"""Runs with files of their own in one month before they are packed: fewer cost a query a hundredth of a second."""

MOST_BYTES = 64 * 1024 * 1024
"""Size of the sources of one pack: compressed at about 28 bytes a row, some two million rows, which lie uncompressed in
memory while they are sorted. A pack of more than half of it is left as it is."""

ABANDONED_DAYS = 30
"""Age from which files of a run without its `runs` file belong to nobody: nobody takes longer to add one."""

_KNOWN = {table.name for table in TABLES}
"""Tables of this program; what a newer one keeps in others is not ours to remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """What is packed."""

    fewest: int = FEWEST
    """Runs of a month with files of their own, below which they stay so."""

    most_bytes: int = MOST_BYTES
    """Bytes of the files that become one pack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What a compaction did."""

    packs: int
    """Packs made."""

    runs: int
    """Runs in them."""

    files_before: int
    """Files of tables there were."""

    files_after: int
    """Files of tables there are."""

    removed: int
    """Files removed, those among them that earlier compactions left."""

    faults: tuple[FileFault, ...]
    """Files that are damaged, or that only a newer program knows: their runs were left as they are."""


def compact(
    backend: Backend,
    *,
    today: date,
    entropy: str,
    rules: CompactionRules = CompactionRules(),
    told: Told = untold,
) -> Compaction:
    """Pack what can be packed, and remove what packs stand for.

    Args:
        backend: the place of the store.
        today: the day, in UTC.
        entropy: text that no other compaction has; part of the packs' names, after the day, so that they sort by age.
        rules: what is packed.
        told: who hears how many packs are made.

    Raises:
        StoreError: the place cannot be read or written.
    """
    inventory = take_inventory(current(backend))
    entries = backend.entries()
    sizes = {entry.path: entry.size_bytes for entry in entries if entry.size_bytes is not None}
    chosen = list(select(inventory.contents, sizes, rules, f"{today:%Y%m%d}-{entropy}"))
    packed: list[Packed] = []
    for number, selected in enumerate(chosen):
        told("packs made", number, len(chosen))
        try:
            made = pack(inventory, selected)
        except FileNotFoundError:  # another compaction or pruning was faster; what it left is for the next one
            continue
        if made.files:
            backend.exchange(made.files, files_of_sources(inventory.contents, made.sources))
        packed.append(made)
    told("packs made", len(chosen), len(chosen))
    left, faults = leftover(inventory, entries, today)
    if left:
        backend.exchange((), left)
    return _told_of(inventory, packed, left, faults)


def current(backend: Backend) -> Path:
    """The store's rows as they are now: what is removed is not chosen by a copy of yesterday.

    Raises:
        StoreUnreachableError: there is a copy only.
    """
    mirror = backend.mirror()
    if mirror.note:
        raise StoreUnreachableError(f"{mirror.note}; nothing was changed", next_step="try again when it can be reached")
    return mirror.root


def select(contents: Contents, sizes: Mapping[str, int], rules: CompactionRules, label: str) -> Iterator[Selected]:
    """What is to become packs, month by month."""
    weights = _weights(contents, sizes)
    month_of = {file.path.name: file.path.day[:7] for file in contents.live.get(ROOT_TABLE, ())}
    months: dict[str, list[str]] = {}
    for name in sorted({*contents.singles, *contents.heads}, key=lambda name: (name not in contents.heads, name)):
        months.setdefault(month_of[name], []).append(name)
    number = 0
    for month, names in sorted(months.items()):
        small = [name for name in names if 2 * weights.get(name, 0) <= rules.most_bytes or name in contents.singles]
        if sum(name in contents.singles for name in small) < rules.fewest:
            continue
        for sources in _groups(small, weights, rules.most_bytes):
            yield Selected(name=f"{PACK_PREFIX}{label}-{number:04d}", day=f"{month}-01", sources=frozenset(sources))
            number += 1


def files_of_sources(contents: Contents, sources: frozenset[str]) -> tuple[str, ...]:
    """Paths of all files of some runs and packs, those that make them visible first."""
    of_runs = (files for table, files in contents.live.items() if table not in OWN_TABLES)
    paths = [file.path for files in of_runs for file in files if file.path.name in sources]
    return tuple(str(path) for path in sorted(paths, key=lambda path: (path.table != ROOT_TABLE, str(path))))


def leftover(
    inventory: Inventory, entries: Sequence[StoreEntry], today: date
) -> tuple[tuple[str, ...], tuple[FileFault, ...]]:
    """Paths of which nothing is lost when they go: what sound packs stand for, and what was never finished and never
    will be; and what is wrong with packs whose rows are left nowhere else.

    Args:
        inventory: the store.
        entries: its files.
        today: the day, in UTC.
    """
    contents = inventory.contents
    written = {entry.path: entry.written_at for entry in entries}
    # NOTE: the day of its directory says nothing of the age of a file: runs of long ago are sent, imported and packed.
    old = [
        path for path in contents.unfinished if path in written and _days(path, written[path], today) > ABANDONED_DAYS
    ]
    faults = _unsound(inventory, frozenset().union(*map(_standing(contents), contents.superseded)))
    sound = [path for path in contents.superseded if not _standing(contents)(path) & faults.keys()]
    told = tuple(fault for fault in faults.values() if fault is not None)
    return tuple(path for path in (*sound, *old) if path.partition("/")[0] in _KNOWN), told


def _standing(contents: Contents) -> Callable[[str], frozenset[str]]:
    """Path of a superseded file -> names of the packs that stand for it."""

    def packs(path: str) -> frozenset[str]:
        found = read_table_path(path)
        name = "" if found is None else found.name
        return frozenset(head.name for head in contents.heads.values() if name in head.runs or name in head.replaces)

    return packs


def _unsound(inventory: Inventory, names: frozenset[str]) -> dict[str, FileFault | None]:
    """Packs that cannot be read whole, and why; None: it is gone, packed again meanwhile, and what stands for its files
    is for the next compaction to find."""
    readers = {table.name: TableReader(inventory.root, table) for table in TABLES}
    unsound: dict[str, FileFault | None] = {}
    for name, files in files_by_name(inventory, names):
        try:
            found = read_source(inventory, readers, name, files)
        except FileNotFoundError:
            unsound[name] = None
            continue
        if isinstance(found, FileFault):
            unsound[name] = found
    return unsound


def _days(path: str, written: datetime | None, today: date) -> int:
    """Age of a file; where files of one addition appear together, that of its run will do."""
    found = read_table_path(path)
    day = "" if found is None else found.day
    return (today - (date.fromisoformat(day) if written is None else written.date())).days


def _weights(contents: Contents, sizes: Mapping[str, int]) -> dict[str, int]:
    """Bytes of every run with files of its own, and of every pack."""
    weights: dict[str, int] = {}
    for files in contents.live.values():
        for file in files:
            weights[file.path.name] = weights.get(file.path.name, 0) + sizes.get(str(file.path), 0)
    return weights


def _groups(names: Sequence[str], weights: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Names in order, as many together as weigh at most `most`; one alone stays as it is."""
    group: list[str] = []
    weight = 0
    for name in names:
        if group and weight + weights.get(name, 0) > most:
            if len(group) > 1:
                yield group
            group, weight = [], 0
        group.append(name)
        weight += weights.get(name, 0)
    if len(group) > 1:
        yield group


def _told_of(
    inventory: Inventory, packed: Sequence[Packed], left: Sequence[str], faults: Sequence[FileFault]
) -> Compaction:
    contents = inventory.contents
    there = (*contents.superseded, *contents.unfinished, *contents.unreadable)
    before = sum(map(len, contents.live.values())) + len(there)
    made = [one for one in packed if one.files]
    gone = sum(len(files_of_sources(contents, one.sources)) for one in made) + len(left)
    return Compaction(
        packs=len(made),
        runs=sum(len(one.runs) for one in made),
        files_before=before,
        files_after=before - gone + sum(len(one.files) for one in made),
        removed=gone,
        faults=(*inventory.faults, *faults, *(fault for one in packed for fault in one.faults)),
    )
