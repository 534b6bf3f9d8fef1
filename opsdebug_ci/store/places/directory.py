"""A store in a directory of this machine.

Decides how files get there: written under a temporary name, flushed, renamed. Adding looks at nothing but the paths of
what is added, so it costs the same however many runs are there.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, final

from opsdebug_ci.bundle.durable import make_directory, sync_directory, write_durably
from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.files.inventory import entries_below
from opsdebug_ci.store.places.backend import Backend, Mirror, StoreEntry, StoreFile, Told, untold
from opsdebug_ci.store.places.marker import check_ours, raise_version, read_format_version, write_marker
from opsdebug_ci.store.places.replacing import replaceable

WRITE_TRIES = 5
"""Tries to write one file into a directory that others remove while it is empty; a second one has never been needed."""


@final
class DirectoryBackend(Backend):
    """A directory, made with the first file; its parent must be there."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._location = os.fspath(path)
        self._root = Path(path)

    @property
    def location(self) -> str:
        return self._location

    @property
    def bundle_limit_bytes(self) -> int | None:
        return None

    def exists(self) -> bool:
        return read_format_version(self._root) is not None

    def check_writable(self) -> None:
        there = self._root.exists()
        place = self._root if there else self._root.parent
        try:
            if there and not self._root.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self._root))
            if there:
                check_ours(self._root)
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError as error:
            self._refuse_write(error, str(place))

    def add(self, files: Sequence[StoreFile]) -> None:
        try:
            self._prepare()
            self._refuse_links([file.path for file in files])
            paths = [file.path for file in files]
            may = replaceable(paths, {path for path in paths if (self._root / path).is_file()})
            # NOTE: what makes a run visible is looked at before anything is written.
            shown = [file for file in files if file.path not in may]
            done = {file.path for file in reversed(shown) if self._is_there(file, may)}
            for file in files:
                if file.path not in done and not self._is_there(file, may):
                    self._write(file)
        except OSError as error:
            self._refuse_write(error, str(error.filename))

    def exchange(self, added: Sequence[StoreFile], removed: Sequence[str]) -> None:
        try:
            self._prepare()
            self._refuse_links([*(file.path for file in added), *removed])
            raise_version(self._root)
            self.add(added)
            for path in removed:
                (self._root / path).unlink(missing_ok=True)
            for directory in sorted({(self._root / path).parent for path in removed}):
                self._forget_if_empty(directory)
        except OSError as error:
            self._refuse_write(error, str(error.filename))

    def entries(self) -> tuple[StoreEntry, ...]:
        return entries_below(self._root) if self.exists() else ()

    def read(self, path: str) -> bytes:
        try:
            return (self._root / path).read_bytes()
        except OSError as error:
            raise StoreError(
                f"cannot read `{path}` of store `{self._root}`: got `{error.strerror}`; wanted a file this user can "
                "read",
                next_step="`opsdebug baselines verify` says what else is missing or damaged",
            ) from error

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        return ((path, self.read(path)) for path in paths if (self._root / path).is_file())

    def mend(self, paths: Collection[str], told: Told = untold) -> bool:  # noqa: ARG002 - nothing is copied
        return False

    def mirror(self, told: Told = untold) -> Mirror:  # noqa: ARG002 - nothing is copied
        if not self._root.exists():
            self._refuse_read("there is no such directory")
        if not self._root.is_dir():
            self._refuse_read("it is a file")
        if not self.exists():
            self._refuse_read("nothing was stored in this directory yet")
        return Mirror(root=self._root.resolve())

    def _prepare(self) -> None:
        """Make the directory a store; its parent must be there."""
        make_directory(self._root)
        if not self.exists():
            write_marker(self._root)

    def _refuse_links(self, paths: Sequence[str]) -> None:
        """Raise StoreError where a path leads through a symbolic link, which no reader follows, and anybody may set."""
        below = {path if depth == 0 else str(Path(path).parents[depth - 1]) for path in paths for depth in range(3)}
        for path in sorted(below - {"."}):
            if (self._root / path).is_symlink():
                raise StoreError(
                    f"`{path}` of store `{self._root}` is a symbolic link; wanted a directory or file of its own, for "
                    "no reader follows links in a store",
                    next_step="remove the link; if the store should lie elsewhere, set `store` to where",
                )

    def _is_there(self, file: StoreFile, may: Collection[str]) -> bool:
        """The file is there, as it should be. Raises StoreError when another one is there that must not be changed."""
        path = self._root / file.path
        if not path.is_file():
            return False
        if path.read_bytes() == file.data:
            return True
        if file.path in may:
            return False
        raise StoreError(
            f"store `{self._root}` already holds another `{file.path}`; wanted a new id: runs are never overwritten",
            next_step="take a new id from `new_run_id`: every invocation has its own",
        )

    def _write(self, file: StoreFile) -> None:
        for _ in range(WRITE_TRIES - 1):
            with suppress(FileNotFoundError):  # a compaction removed the directory, which was empty until now
                self._write_once(file)
                return
        self._write_once(file)

    def _write_once(self, file: StoreFile) -> None:
        path = self._root / file.path
        make_directory(path.parent.parent)
        make_directory(path.parent)
        write_durably(path, file.data)

    def _forget_if_empty(self, directory: Path) -> None:
        """Remove a directory that nothing is left in; what is left in it was removed for good."""
        if not directory.is_dir():
            return
        sync_directory(directory)
        try:
            directory.rmdir()
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise

    def _refuse_write(self, error: OSError, place: str) -> NoReturn:
        raise StoreError(
            f"cannot write to store `{self._root}`: got `{error.strerror}` at `{place}`; wanted a directory this user "
            "can write, or a name in one",
            next_step="set `store` to such a directory",
        ) from error

    def _refuse_read(self, got: str) -> NoReturn:
        raise StoreError(
            f"no store at `{self._root}`: {got}; wanted the directory of an earlier run",
            next_step="make one with `opsdebug ci --stage smoke`, or set `store` to where it is",
        )
