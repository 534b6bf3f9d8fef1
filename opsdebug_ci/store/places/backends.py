"""Which backend a store's location names.

Decides by the location's scheme; a location without one is a directory. New backend: one file, one line here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from opsdebug_ci.errors import UsageError
from opsdebug_ci.git.address import hide_credentials
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.places.backend import Backend
from opsdebug_ci.store.places.directory import DirectoryBackend

Maker = Callable[[str, Path, Mapping[str, str]], Backend]
"""Makes a backend of a location, the project's directory, and the environment; reads and writes nothing."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
"""Two letters at least, so that a Windows drive is not a scheme."""


def _directory(location: str, root: Path, environ: Mapping[str, str]) -> Backend:  # noqa: ARG001 - a Maker
    return DirectoryBackend(location)


def _branch(location: str, root: Path, environ: Mapping[str, str]) -> Backend:
    from opsdebug_ci.store.places.branch import BranchBackend  # noqa: PLC0415 - only when there is a branch to ask

    return BranchBackend(location, root, environ)


def _objects(location: str, root: Path, environ: Mapping[str, str]) -> Backend:  # noqa: ARG001 - a Maker
    from opsdebug_ci.store.places.objects import ObjectBackend  # noqa: PLC0415 - pyarrow.fs: only when there is a bucket

    return ObjectBackend(location, environ)


BACKENDS: Mapping[str, Maker] = {
    "": _directory,
    "branch": _branch,
    "s3": _objects,
    "gs": _objects,
}
"""Backend by scheme, without its colon; the empty scheme is a path."""

KNOWN = "a directory, `branch:NAME`, `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`"
"""What a location may be, in words."""


def open_store(
    location: str | os.PathLike[str], *, root: Path | None = None, environ: Mapping[str, str] | None = None
) -> BaselineStore:
    """The store at `location`; nothing is read or written yet.

    Args:
        location: where it is; a path object is a directory, whatever it is called.
        root: directory of the project, in whose repository a branch is; None: the current one.
        environ: where credentials and the place for copies are found; None: none are.

    Raises:
        UsageError: the location is empty, or no backend knows its scheme.
    """
    text = os.fspath(location)
    if not text:
        raise UsageError(f"`store` is empty; wanted {KNOWN}", next_step="set `store` to e.g. `baselines/`")
    found = _SCHEME.match(text) if isinstance(location, str) else None
    scheme = found.group(1).lower() if found else ""
    if scheme not in BACKENDS:
        raise UsageError(
            f"`store` is `{hide_credentials(text)}`: a `{scheme}:` store is not known; wanted {KNOWN}",
            next_step="set `store` to one of these, e.g. `baselines/` (a path with a colon as `./a:b`)",
        )
    return BaselineStore(BACKENDS[scheme](text, root or Path(), environ or {}))
