"""The names of the files in a bundle: one manifest, and storages named by their sha256. There are no others."""

from __future__ import annotations

import re

MANIFEST = "manifest.json"
"""The manifest."""

BLOBS = "blobs/"
"""What stands before the sha256 of a storage."""

SUFFIX = ".opsbundle"
"""Of every bundle's own name."""

_BLOB = re.compile(BLOBS + r"[0-9a-f]{64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(text: str) -> bool:
    """Whether `text` is spelled as a sha256 is: 64 lower-case hex digits."""
    return _DIGEST.fullmatch(text) is not None


def name_problem(name: str) -> str | None:
    """Why a bundle holds no file of this name; None when it may."""
    if name == MANIFEST or _BLOB.fullmatch(name):
        return None
    shown = f"entry {name[:80]!r}"
    if name.startswith(("/", "\\")) or name[1:2] == ":":
        return f"{shown} has an absolute name; wanted `{MANIFEST}` or `{BLOBS}` and a sha256"
    if ".." in re.split(r"[/\\]", name):
        return f"{shown} leads out of the bundle; wanted `{MANIFEST}` or `{BLOBS}` and a sha256"
    return f"{shown} belongs to no bundle; wanted `{MANIFEST}` or `{BLOBS}` and a sha256"
