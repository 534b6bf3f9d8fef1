"""Which paths a store has, and what each of them says.

    opsdebug-store.json                              format version, created_by
    <table>/date=<day>/<run id>.parquet              the rows one run adds to one table
    <table>/date=<month>-01/pack-<id>.parquet        rows of many runs: a pack
    acceptances/date=<day>/<acceptance id>.parquet   one acceptance
    bundles/<sha256[:2]>/<sha256>.opsbundle          one failure bundle

Decides names only; opens nothing. A path of any other form is a stranger: nothing here follows or reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

MARKER = "opsdebug-store.json"
"""Its name, at the root of every store."""

PARTITION = "date"
"""Hive partition of every table: the UTC day the run started, or the first day of its month in a pack. Not stored
inside the files."""

SUFFIX = ".parquet"

BUNDLES = "bundles"
"""Name of the directory of a store that holds failure bundles."""

BUNDLE_SUFFIX = ".opsbundle"

PACK_PREFIX = "pack-"
"""What the name of a pack begins with; no run id does."""

RUN_ID = re.compile(r"(?!pack-)[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""What a run id may be: it becomes a file name."""

_TABLE_PATH = re.compile(
    r"(?P<table>[a-z_]{1,40})/date=(?P<day>\d{4}-\d{2}-\d{2})/(?P<name>[A-Za-z0-9][A-Za-z0-9_-]{0,104})\.parquet"
)
_BUNDLE_PATH = re.compile(r"bundles/(?P<start>[0-9a-f]{2})/(?P<sha256>[0-9a-f]{64})\.opsbundle")


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePath:
    """The path of a file of a table."""

    table: str
    """Table name; may be one this program does not know."""

    day: str
    """ISO 8601 day of its directory."""

    name: str
    """Run id, acceptance id, or pack."""

    @property
    def packed(self) -> bool:
        """It is of a pack."""
        return self.name.startswith(PACK_PREFIX)

    def __str__(self) -> str:
        return f"{self.table}/{PARTITION}={self.day}/{self.name}{SUFFIX}"


def read_table_path(path: str) -> TablePath | None:
    """What a path says; None when it is not one of a table's file."""
    found = _TABLE_PATH.fullmatch(path)
    if not found or not _is_day(found["day"]):
        return None
    return TablePath(table=found["table"], day=found["day"], name=found["name"])


def bundle_path(sha256: str) -> str:
    """Where the bundle of this sha256 is, or would be."""
    return f"{BUNDLES}/{sha256[:2]}/{sha256}{BUNDLE_SUFFIX}"


def read_bundle_path(path: str) -> str | None:
    """sha256 of the bundle a path is of; None when it is not one of a bundle."""
    found = _BUNDLE_PATH.fullmatch(path)
    return found["sha256"] if found and found["sha256"].startswith(found["start"]) else None


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
