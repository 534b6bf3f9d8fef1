"""What a pack says of itself, as text in the metadata of its file of table `runs`.

Decides its form. Whoever reads one believes nothing of it that is not spelled as our own writer spells it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from opsdebug_ci.store.files.contents import FileFacts, PackHead
from opsdebug_ci.store.files.layout import PACK_PREFIX, RUN_ID

KEY = "opsdebug.pack"
"""Its key in the metadata of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFault:
    """A file of a store that is not what it should be, and is not read."""

    path: str
    """Path below the store."""

    found: str
    """What is wrong with it, to follow the path in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The text, decoded."""

    runs: tuple[str, ...]
    """Ids of the runs."""

    replaces: tuple[str, ...]
    """Names of packs."""

    files: tuple[FileFacts, ...]
    """The pack's other files."""


def head_text(head: PackHead) -> str:
    """The head as it is stored."""
    files = [asdict(facts) for facts in head.files]
    return json.dumps({"runs": sorted(head.runs), "replaces": sorted(head.replaces), "files": files})


def head_metadata(head: PackHead) -> Mapping[str, str]:
    """What the pack's file of table `runs` says beside what every file does."""
    return {KEY: head_text(head)}


def read_head(root: Path, path: str, name: str) -> PackHead | FileFault:
    """The head of a pack, or what is wrong with its file.

    Args:
        root: the store.
        path: path of the file below it.
        name: name of the pack.

    Raises:
        FileNotFoundError: the file is gone.
    """
    try:
        metadata = pq.read_metadata(root / path).metadata or {}
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        return FileFault(path=path, found=f"is not Parquet that can be read: {error}")
    text = metadata.get(KEY.encode())
    if text is None:
        return FileFault(path=path, found="is named as a pack, and does not say which runs it holds")
    try:
        head = msgspec.json.decode(text, type=_Head, strict=True)
    except (msgspec.DecodeError, RecursionError) as error:
        return FileFault(path=path, found=f"says of itself what no pack says: {error}")
    if not all(map(RUN_ID.fullmatch, head.runs)) or not all(one.startswith(PACK_PREFIX) for one in head.replaces):
        return FileFault(path=path, found="names runs or packs that cannot be")
    return PackHead(name=name, runs=frozenset(head.runs), replaces=frozenset(head.replaces), files=head.files)
