"""The store in a directory.

Decides how files get there and are found again: `<store>/<table>/date=<UTC day>/<run id>.parquet`, bundles beside
them. Appending looks at nothing but the run's own paths, so it costs the same however many runs are there.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from opsdebug_ci.bundle.durable import make_directory, write_durably
from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.errors import StoreError
from opsdebug_ci.model import Calibration, RunDocument
from opsdebug_ci.store.bundles import DIRECTORY, only_match, stored_bytes
from opsdebug_ci.store.column import PARTITION
from opsdebug_ci.store.encoding import READ_BACK, RUN_ID, SUFFIX, decode_run, encode_run
from opsdebug_ci.store.interface import BaselineStore
from opsdebug_ci.store.marker import check_ours, read_format_version, write_marker
from opsdebug_ci.store.tables import runs


class DirectoryStore(BaselineStore):
    """A store in a local directory, made at the first append."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._location = os.fspath(path)
        self._root = Path(path)
        self._bundles = BundlePlace(self._root / DIRECTORY)

    @property
    def location(self) -> str:
        return self._location

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

    def append(self, document: RunDocument, calibrations: Sequence[Calibration] = ()) -> None:
        files = encode_run(document, calibrations)
        try:
            self._prepare()
            if (self._root / files[-1].path).exists():
                raise StoreError(
                    f"store `{self._root}` already holds run `{document.run.id}`; wanted a new id: runs are never "
                    "overwritten",
                    next_step="take a new id from `new_run_id`: every invocation has its own",
                )
            for file in files:
                path = self._root / file.path
                make_directory(path.parent.parent)
                make_directory(path.parent)
                write_durably(path, file.data)
        except OSError as error:
            self._refuse_write(error, str(error.filename))

    def put_bundle(self, data: bytes) -> str:
        try:
            self._prepare()
            return self._bundles.put(data)
        except OSError as error:
            self._refuse_write(error, str(error.filename))

    def bundles(self) -> tuple[str, ...]:
        return self._bundles.all() if self.exists() else ()

    def bundle(self, sha256: str) -> bytes:
        return stored_bytes(self._bundles, sha256)

    def find_bundle(self, prefix: str) -> str:
        return only_match(self.bundles(), prefix, f"store `{self._root}`")

    def load(self, run_id: str) -> RunDocument:
        found = sorted(self.snapshot().glob(f"{runs.TABLE.name}/{PARTITION}=*/{run_id}{SUFFIX}"))
        if not RUN_ID.fullmatch(run_id) or not found:
            raise StoreError(
                f"no run `{run_id}` in store `{self._root}`; wanted the id of a stored run",
                next_step='opsdebug sql "select id, started_at, stage, verdict from runs order by id desc"',
            )
        return self._read(found[-1])

    def latest(self) -> RunDocument:
        days = sorted((self.snapshot() / runs.TABLE.name).glob(f"{PARTITION}=*"), reverse=True)
        newest = next((files[-1] for day in days if (files := sorted(day.glob(f"*{SUFFIX}")))), None)
        if newest is None:
            raise StoreError(
                f"store `{self._root}` holds no run; wanted at least one",
                next_step="opsdebug ci --stage smoke",
            )
        return self._read(newest)

    def snapshot(self) -> Path:
        if not self._root.exists():
            self._refuse_read("there is no such directory")
        if not self._root.is_dir():
            self._refuse_read("it is a file")
        if not self.exists():
            self._refuse_read("nothing was stored in this directory yet")
        return self._root.resolve()

    def _prepare(self) -> None:
        """Make the directory a store; its parent must be there."""
        make_directory(self._root)
        if not self.exists():
            write_marker(self._root)

    def _read(self, run_file: Path) -> RunDocument:
        places = {t.name: run_file.parents[2] / t.name / run_file.parent.name / run_file.name for t in READ_BACK}
        try:
            return decode_run({name: place.read_bytes() for name, place in places.items() if place.exists()})
        except OSError as error:
            raise StoreError(
                f"cannot read run `{run_file.stem}` of store `{self._root}`: got `{error.strerror}` at "
                f"`{error.filename}`; wanted files this user can read",
                next_step="check the permissions of the store",
            ) from error

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
