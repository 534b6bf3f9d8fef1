"""Which files of a store count: the runs that are whole, and where the rows of each of them lie.

A run is there when its file of table `runs` is. A *pack* holds the rows of many runs in one file per table; it is there
when its file of table `runs` is, and from then on the runs it holds are read from it and from nowhere else. Its head
(in the metadata of that file) names those runs, and the packs it stands for, which no longer count. So whoever compacts
adds a pack first and removes what it stands for afterwards, and a reader sees every run once at every moment, also when
the removing never happened.

Two packs made at the same time may hold the same runs; the older one has them, and the rows of the other are left out.

Decides from names and heads alone; opens nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opsdebug_ci.store.files.layout import MARKER, TablePath, read_bundle_path, read_table_path

ROOT_TABLE = "runs"
"""The table whose files make a run or a pack visible."""

OWN_TABLES = ("acceptances",)
"""Tables whose files belong to no run: each is visible by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What is recorded of a file, to know it again."""

    table: str
    """Table it belongs to."""

    sha256: str
    """Of its bytes."""

    size_bytes: int
    """Its size."""

    rows: int
    """Rows it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackHead:
    """What a pack says of itself."""

    name: str
    """Name of its files, without suffix."""

    runs: frozenset[str]
    """Ids of the runs it holds."""

    replaces: frozenset[str]
    """Names of the packs it stands for."""

    files: tuple[FileFacts, ...]
    """Its files, but the one of table `runs`, which holds this head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFile:
    """A file whose rows count."""

    path: TablePath
    """Where it is."""

    without: frozenset[str] = frozenset()
    """Runs whose rows in it do not count, because an older pack has them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What is in a store."""

    live: Mapping[str, tuple[LiveFile, ...]]
    """Table -> files whose rows count, by path."""

    heads: Mapping[str, PackHead]
    """Name -> pack that counts."""

    singles: Mapping[str, TablePath]
    """Run id -> its file of table `runs`, for runs that are in no pack."""

    superseded: tuple[str, ...]
    """Paths that a pack stands for: they may be removed, `runs` files first."""

    unfinished: tuple[str, ...]
    """Paths of runs and packs without a file in `runs`: cut short, or being written at this moment."""

    unreadable: tuple[str, ...] = ()
    """Paths of packs that do not say what they hold, because their file in `runs` is damaged: nobody removes them."""

    bundles: tuple[str, ...] = ()
    """sha256 of the bundles."""

    strangers: tuple[str, ...] = ()
    """Paths that are none of a store's: never read."""

    def holder(self, run_id: str) -> PackHead | None:
        """The pack that has the rows of a run; None: it has files of its own, or is not there."""
        holding = (head for name, head in sorted(self.heads.items()) if run_id in head.runs)
        return next(holding, None)

    @property
    def run_ids(self) -> frozenset[str]:
        """Every run that is there."""
        return frozenset(self.singles).union(*(head.runs for head in self.heads.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Paths by what they are."""

    tables: list[TablePath] = field(default_factory=list)
    """Files of tables."""

    bundles: list[str] = field(default_factory=list)
    """sha256 of bundles."""

    strangers: list[str] = field(default_factory=list)
    """The rest."""


def packs_among(paths: Iterable[str]) -> tuple[TablePath, ...]:
    """The `runs` files of packs, whose heads are needed to read the rest."""
    found = (read_table_path(path) for path in paths)
    return tuple(path for path in found if path is not None and path.packed and path.table == ROOT_TABLE)


def read_contents(paths: Iterable[str], heads: Sequence[PackHead]) -> Contents:
    """What counts.

    Args:
        paths: every path of the store.
        heads: of every pack whose `runs` file is among them; one whose head cannot be read is left out, and so is all
            that it holds.
    """
    found = _sorted(paths)
    replaced = frozenset[str]().union(*(head.replaces for head in heads))
    live = {head.name: head for head in sorted(heads, key=lambda head: head.name) if head.name not in replaced}
    without = _without(live.values())
    packed = frozenset[str]().union(*(head.runs for head in live.values()))
    singles = {p.name: p for p in found.tables if p.table == ROOT_TABLE and not p.packed and p.name not in packed}
    counting: dict[str, list[LiveFile]] = {}
    superseded: list[str] = []
    unfinished: list[str] = []
    unreadable: list[str] = []
    known = {head.name for head in heads}
    mute = {path.name for path in found.tables if path.table == ROOT_TABLE and path.packed} - known
    for path in sorted(found.tables, key=lambda path: (path.table != ROOT_TABLE, str(path))):
        if path.table in OWN_TABLES or path.name in live or path.name in singles:
            counting.setdefault(path.table, []).append(LiveFile(path=path, without=without.get(path.name, frozenset())))
        elif path.name in packed or path.name in replaced or path.name in known:
            superseded.append(str(path))
        elif path.name in mute:
            unreadable.append(str(path))
        else:
            unfinished.append(str(path))
    return Contents(
        live={table: tuple(files) for table, files in counting.items()},
        heads=live,
        singles=singles,
        superseded=tuple(superseded),
        unfinished=tuple(unfinished),
        unreadable=tuple(unreadable),
        bundles=tuple(sorted(found.bundles)),
        strangers=tuple(sorted(found.strangers)),
    )


def _sorted(paths: Iterable[str]) -> _Sorted:
    found = _Sorted()
    for path in paths:
        table, bundle = read_table_path(path), read_bundle_path(path)
        if table is not None:
            found.tables.append(table)
        elif bundle is not None:
            found.bundles.append(bundle)
        elif path != MARKER and not _harmless(path):
            found.strangers.append(path)
    return found


def _harmless(path: str) -> bool:
    """What a store may hold beside its own files: a README, and what begins with a dot."""
    return path.startswith((".", "README"))


def _without(heads: Iterable[PackHead]) -> dict[str, frozenset[str]]:
    """Pack -> runs that an older one has too; packs that share none are not in it."""
    return dict(_shared(heads))


def _shared(heads: Iterable[PackHead]) -> Iterator[tuple[str, frozenset[str]]]:
    taken: set[str] = set()
    for head in heads:
        again = head.runs & taken
        if again:
            yield head.name, again
        taken |= head.runs
