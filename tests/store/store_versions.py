"""Stores of every format version there has been, kept as they were written, and what they must read back to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from opsdebug_ci.model import Calibration, RunDocument
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.schema import FORMAT_VERSION, TABLES

VERSIONS = Path(__file__).parent / "versions"
"""Where they are, each in a directory named by its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVersion:
    """One of them."""

    place: Path
    """Its directory."""

    runs: tuple[StoredRun, ...]
    """Every run it holds; what its program did not know has its default."""

    acceptances: tuple[Acceptance, ...]
    """Every acceptance."""

    bundles: Mapping[str, bytes]
    """sha256 -> bundle."""

    units: Mapping[str, Mapping[str, str]]
    """Table -> column -> unit, as they were."""

    def copy(self, place: Path) -> Path:
        """The store, for a test that may write."""
        shutil.copytree(self.place / "store", place)
        return place


def kept_versions() -> tuple[int, ...]:
    """Versions that are kept."""
    return tuple(sorted(int(path.name) for path in VERSIONS.iterdir() if path.name.isdigit()))


def read_kept(version: int, within: Path = VERSIONS) -> KeptVersion:
    """A kept version."""
    place = within / str(version)
    told = json.loads((place / "contents.json").read_text(encoding="utf-8"))
    return KeptVersion(
        place=place,
        runs=tuple(
            StoredRun(
                document=from_json(run["document"], RunDocument),
                calibrations=tuple(from_json(one, Calibration) for one in run["calibrations"]),
                bundles_elsewhere=run["bundles_elsewhere"],
            )
            for run in told["runs"]
        ),
        acceptances=tuple(from_json(one, Acceptance) for one in told["acceptances"]),
        bundles={sha256: text.encode() for sha256, text in told["bundles"].items()},
        units={
            table: {name: unit for name, (_, unit) in columns.items()} for table, columns in told["columns"].items()
        },
    )


def contents(
    runs: Sequence[StoredRun], acceptances: Sequence[Acceptance], bundles: Mapping[str, bytes]
) -> dict[str, Any]:
    """What a store of the version this program writes must read back to."""
    return {
        "format_version": FORMAT_VERSION,
        "runs": [
            {
                "document": asdict(run.document),
                "calibrations": [asdict(one) for one in run.calibrations],
                "bundles_elsewhere": dict(run.bundles_elsewhere),
            }
            for run in runs
        ],
        "acceptances": [asdict(one) for one in acceptances],
        "bundles": {sha256: data.decode() for sha256, data in bundles.items()},
        "columns": {t.name: {column.name: [str(column.type), column.unit] for column in t.columns} for t in TABLES},
    }


def covers(today: pa.DataType, kept: pa.DataType) -> bool:
    """Values of a type that was are values of the one that is: fields of structs may only have been added."""
    if not pa.types.is_nested(kept):
        return bool(today == kept)
    if today.id != kept.id:
        return False
    if pa.types.is_struct(kept):
        there = {field.name: field.type for field in _fields(today)}
        return all(field.name in there and covers(there[field.name], field.type) for field in _fields(kept))
    if pa.types.is_map(kept):
        return covers(today.key_type, kept.key_type) and covers(today.item_type, kept.item_type)
    return covers(today.value_type, kept.value_type)


def _fields(struct: pa.StructType) -> list[pa.Field]:
    return [struct.field(position) for position in range(struct.num_fields)]
