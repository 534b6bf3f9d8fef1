"""Where this user keeps what can be fetched again: copies of stores that lie elsewhere.

Decides the directory. Everything in it may be deleted at any time; it is then fetched anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from opsdebug_ci.errors import StoreError

VARIABLE = "OPSDEBUG_CACHE"
"""Environment variable that names another directory."""

_KEY_DIGITS = 20
"""Hexadecimal digits of a store's key: 80 bits, so that no two stores of a user ever share one."""


def cache_directory(environ: Mapping[str, str]) -> Path:
    """`$OPSDEBUG_CACHE`, else `opsdebug` in the user's cache directory (XDG Base Directory Specification).

    Raises:
        StoreError: this user has no home, so there is none.
    """
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).absolute()
    if environ.get("XDG_CACHE_HOME"):
        return Path(environ["XDG_CACHE_HOME"]).absolute() / "opsdebug"
    try:
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    except RuntimeError as error:
        raise StoreError(
            f"no place for the copy of a store: got {error}; wanted a home directory",
            next_step=f"set {VARIABLE} to a directory that this user can write",
        ) from error
    return home.absolute() / ".cache" / "opsdebug"


def store_place(environ: Mapping[str, str], identity: str) -> Path:
    """Directory for everything that is kept of one store elsewhere.

    Args:
        environ: environment variables.
        identity: what tells this store from all others; never a secret.
    """
    key = hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:_KEY_DIGITS]
    return cache_directory(environ) / "stores" / key
