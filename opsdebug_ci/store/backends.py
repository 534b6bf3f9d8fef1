"""Which backend a store's location names.

Decides by the location's scheme; a location without one is a directory. New backend: one file, one line here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.directory import DirectoryStore
from opsdebug_ci.store.interface import BaselineStore

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
"""Two letters at least, so that a Windows drive is not a scheme."""

BACKENDS: Mapping[str, Callable[[str], BaselineStore]] = {
    "": DirectoryStore,
}
"""Backend by scheme, without its colon; the empty scheme is a path."""

PLANNED = ("branch", "s3", "gs")
"""Schemes that will have a backend."""


def open_store(location: str | os.PathLike[str]) -> BaselineStore:
    """The store at `location`; nothing is read or written yet.

    Raises:
        UsageError: the location is empty, or no backend knows its scheme.
    """
    text = os.fspath(location)
    if not text:
        raise UsageError("`store` is empty; wanted a directory", next_step="set `store` to e.g. `baselines/`")
    found = _SCHEME.match(text) if isinstance(location, str) else None
    scheme = found.group(1).lower() if found else ""
    if scheme not in BACKENDS:
        state = "is not available yet" if scheme in PLANNED else "is not known"
        raise UsageError(
            f"`store` is `{text}`: a `{scheme}:` store {state}; wanted a directory",
            next_step="set `store` to a directory, e.g. `baselines/` (a path with a colon as `./a:b`)",
        )
    return BACKENDS[scheme](text)
