"""Whether a store is whole: every file read, every row counted, every bundle hashed.

Decides what is damage and what is only left over. Damaged is what a reader misses or must not believe: a file that is
not what was recorded of it, a row too few or too many, a bundle that a row names and nobody has. Left over is what no
reader looks at: what a crash or a compaction left behind, and files that are none of a store's. Repairs nothing but
a copy on this machine, whose bad files are fetched anew before anybody is told of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timezone
from enum import Enum

from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.files.inventory import Inventory, take_inventory
from opsdebug_ci.store.places.backend import Backend, StoreEntry, Told, untold
from opsdebug_ci.store.upkeep.stored_bundles import check_bundles
from opsdebug_ci.store.upkeep.stored_rows import check_rows

RESTORE = "restore it from a copy of the store; without one remove it: what it held is lost"
COMPACT = "`opsdebug baselines compact` removes it"
COMPACT_LATER = "`opsdebug baselines compact` removes it when it is a month old"
STRANGE = "nothing reads it: move it elsewhere, or remove it"

SHOWN = 50
"""Remarks of one severity that are listed; their number is always told."""


class Severity(Enum):
    """What a remark means for the store."""

    DAMAGED = "damaged"
    LEFTOVER = "left over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One file that is not as it should be."""

    severity: Severity
    """What that means."""

    path: str
    """Path below the store."""

    found: str
    """What was found, to follow the path in a sentence."""

    remedy: str
    """What to do."""

    def __str__(self) -> str:
        return f"{self.severity.value}: `{self.path}` {self.found}; {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was found of a store."""

    location: str
    """The store."""

    note: str
    """What must be known of the copy that was read; empty: nothing."""

    files: int
    """Files of tables that were read."""

    rows: int
    """Rows in them that count."""

    runs: int
    """Runs in them."""

    bundles: int
    """Bundles that were read."""

    remarks: tuple[Remark, ...]
    """Everything that is not as it should be, damage first."""

    @property
    def damage(self) -> int:
        """Remarks about damage."""
        return sum(remark.severity is Severity.DAMAGED for remark in self.remarks)

    @property
    def exit_code(self) -> int:
        """1 when something is damaged, else 0."""
        return 1 if self.damage else 0

    @property
    def text(self) -> str:
        """The conclusion, and every remark."""
        read = ", ".join(
            (
                _counted(self.runs, "run"),
                f"{_counted(self.rows, 'row')} in {_counted(self.files, 'file')}",
                _counted(self.bundles, "bundle"),
            )
        )
        left = len(self.remarks) - self.damage
        whole = "is whole" if not self.damage else f"is damaged in {_counted(self.damage, 'place')}"
        lines = [f"store {self.location} {whole}: {read}" + (f"; {left:,} left over" if left else "")]
        for severity in Severity:
            told = [str(remark) for remark in self.remarks if remark.severity is severity]
            more = [f"{severity.value}: {len(told) - SHOWN:,} more"] if len(told) > SHOWN else []
            lines += [*told[:SHOWN], *more]
        return "\n".join([*lines, *([f"note: {self.note}"] if self.note else [])])


def verify(backend: Backend, *, today: date, told: Told = untold) -> Verification:
    """Read everything that a store holds, and hold it against what was recorded.

    Args:
        backend: the place of the store.
        today: the day, in UTC: what was written on it, or the day before, may be unfinished still.
        told: who hears how far it is.

    Raises:
        StoreError: there is no store, or it cannot be reached.
        StoreFormatError: it is none, or of a newer format.
    """
    mirror = backend.mirror(told)
    inventory = take_inventory(mirror.root)
    rows = check_rows(inventory, told)
    if not mirror.note and backend.mend({fault.path for fault in (*inventory.faults, *rows.faults)}, told):
        inventory = take_inventory(mirror.root)
        rows = check_rows(inventory, told)
    bundles, bundle_faults = check_bundles(backend, rows.named, told)
    ignored = set(_ignored(inventory))
    faults = {fault for fault in (*inventory.faults, *rows.faults, *bundle_faults) if fault not in ignored}
    return Verification(
        location=backend.location,
        note=mirror.note,
        files=rows.files,
        rows=rows.rows,
        runs=rows.runs,
        bundles=bundles,
        remarks=(
            *map(_damaged, sorted(faults, key=lambda fault: (fault.path, fault.found))),
            *_leftovers(inventory, backend.entries(), today),
        ),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _damaged(fault: FileFault) -> Remark:
    return Remark(severity=Severity.DAMAGED, path=fault.path, found=fault.found, remedy=RESTORE)


def _leftovers(inventory: Inventory, entries: Sequence[StoreEntry], today: date) -> Iterator[Remark]:
    contents = inventory.contents
    written = {entry.path: entry.written_at for entry in entries}
    for path in contents.superseded:
        yield _leftover(path, "has rows that a pack holds too", COMPACT)
    for path in contents.unfinished:
        at = written.get(path)
        if at is not None and (today - at.astimezone(timezone.utc).date()).days <= 1:
            yield _leftover(
                path, "belongs to a run that is not finished", "it may be being written: look again in a day"
            )
        else:
            yield _leftover(path, "belongs to a run that was never finished", COMPACT_LATER)
    for fault in _ignored(inventory):
        yield _leftover(fault.path, fault.found, STRANGE)


def _leftover(path: str, found: str, remedy: str) -> Remark:
    return Remark(severity=Severity.LEFTOVER, path=path, found=found, remedy=remedy)


def _ignored(inventory: Inventory) -> Sequence[FileFault]:
    """What is no file of a store: by its name, or because it is a link."""
    strangers = set(inventory.contents.strangers)
    return [
        fault
        for fault in inventory.faults
        if fault.path in strangers
        or not (inventory.root / fault.path).is_file()
        or (inventory.root / fault.path).is_symlink()
    ]
