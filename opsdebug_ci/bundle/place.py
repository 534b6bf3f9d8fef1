"""A directory of bundles, each under its sha256: what runs here leave, and what was brought in.

Decides names, and that a bundle is there whole or not at all, whoever else writes. Nothing is ever changed or removed
but what was damaged.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import final

from opsdebug_ci.bundle.durable import make_directory, write_durably
from opsdebug_ci.bundle.entry_name import SUFFIX, is_digest

OWN_DIRECTORY = ".opsdebug"
"""What the tool leaves beside the configuration; a file in it keeps it out of git."""


def make_beside(directory: Path) -> None:
    """Make `directory` and its parent, whose parent exists; git ignores them where that parent is OWN_DIRECTORY.

    Raises:
        OSError: it cannot be written there.
    """
    for path in (directory.parent, directory):
        make_directory(path)
    ignored = directory.parent / ".gitignore"
    if directory.parent.name == OWN_DIRECTORY and not ignored.exists():
        write_durably(ignored, b"*\n")


@final
class BundlePlace:
    """Bundles in `<directory>/<first two digits>/<sha256>.opsbundle`.

    Args:
        directory: where; made with the first bundle, if its parent exists.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @staticmethod
    def beside(root: Path) -> BundlePlace:
        """The one that belongs to the configuration in `root`."""
        return BundlePlace(root / OWN_DIRECTORY / "bundles")

    def put(self, data: bytes) -> str:
        """Keep a bundle; its sha256. One that is there already stays as it is, unless it was damaged since.

        Raises:
            OSError: it cannot be written here.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        path = self.path(sha256)
        if not path.is_file() or path.read_bytes() != data:
            self._prepare(path.parent)
            write_durably(path, data)
        return sha256

    def path(self, sha256: str) -> Path:
        """Where the bundle of this sha256 is, or would be."""
        return self._directory / sha256[:2] / f"{sha256}{SUFFIX}"

    def all(self) -> tuple[str, ...]:
        """sha256 of every bundle, in order."""
        names = (path.name.removesuffix(SUFFIX) for path in self._directory.glob(f"??/*{SUFFIX}"))
        return tuple(sorted(name for name in names if is_digest(name)))

    def find(self, prefix: str) -> tuple[str, ...]:
        """sha256 of the bundles that begin with `prefix`, in order."""
        return tuple(sha256 for sha256 in self.all() if sha256.startswith(prefix))

    def _prepare(self, directory: Path) -> None:
        make_beside(self._directory)
        make_directory(directory)
