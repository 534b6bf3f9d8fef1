"""The baseline store: the append-only home of runs, bundles and acceptances, wherever its files lie.

Decides what a run becomes, and in which order: first the bundles that its rows name, then the rows, then the run. What
is where is the business of `Backend`; which rows count is that of `Contents`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NoReturn, final

from opsdebug_ci.errors import BundleError, StoreError
from opsdebug_ci.model import Calibration, RunDocument
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.bundles import checked_bytes
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.files.encoding import encode_acceptance, encode_run
from opsdebug_ci.store.files.layout import RUN_ID, bundle_path, read_bundle_path
from opsdebug_ci.store.files.recall import recall
from opsdebug_ci.store.memory.newest import newest
from opsdebug_ci.store.places.backend import Backend, Mirror, StoreFile, Told, untold

NOWHERE = "it was not kept: too large for this store, and the run had no artifact"
"""Where a bundle is that nothing holds."""


@final
class BaselineStore:
    """A store over a backend.

    Args:
        backend: the place its files lie.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sizes: dict[str, int | None] = {}

    @property
    def backend(self) -> Backend:
        """The place its files lie, for whoever looks after them."""
        return self._backend

    @property
    def location(self) -> str:
        """As the user wrote it."""
        return self._backend.location

    def exists(self) -> bool:
        """Whether anything was ever stored here. Raises StoreError, StoreFormatError as `Backend` does."""
        return self._backend.exists()

    def check_writable(self) -> None:
        """Find out, before any work is done, whether a run could be appended; leaves nothing behind.

        Raises:
            StoreError: it cannot be written here.
            StoreFormatError: the store is of a newer format, or is not a store.
        """
        self._backend.check_writable()

    def append(
        self,
        document: RunDocument,
        calibrations: Sequence[Calibration] = (),
        *,
        bundles: Iterable[bytes] = (),
        elsewhere: str = NOWHERE,
    ) -> None:
        """Store a run: whole and durably, or not at all. The same run again changes nothing.

        Args:
            document: what it found.
            calibrations: what the probes of its machine measured.
            bundles: the failure bundles that its rows name; those already stored may be among them.
            elsewhere: where those stay that are too large for this place, in words.

        Raises:
            StoreError: it cannot be written here, or another run with this id is there already.
            StoreFormatError: the store is of a newer format, or is not a store.
        """
        run = StoredRun(document=document, calibrations=tuple(calibrations))
        self._backend.add(self.files(run, bundles, elsewhere))

    def files(self, run: StoredRun, bundles: Iterable[bytes] = (), elsewhere: str = NOWHERE) -> list[StoreFile]:
        """What a run becomes here, in the order it must appear: for whoever adds many at once.

        Args:
            run: which; where its bundles are is told anew.
            bundles: those that its rows name.
            elsewhere: as for `append`.
        """
        kept, left = self._divided(bundles)
        told = {**run.bundles_elsewhere, **dict.fromkeys(left, elsewhere)}
        return [*kept, *encode_run(replace(run, bundles_elsewhere=told))]

    def append_all(self, documents: Iterable[RunDocument]) -> None:
        """Store runs that name no bundles, in one visit to the place: each whole or not at all, in this order.

        Raises:
            StoreError: it cannot be written here, or another run with one of these ids is there already.
            StoreFormatError: the store is of a newer format, or is not a store.
        """
        self._backend.add([file for document in documents for file in encode_run(StoredRun(document=document))])

    def accept(self, *acceptances: Acceptance) -> None:
        """Store acceptances, durably; they count from then on, without a run. The same again changes nothing.

        Raises:
            StoreError: it cannot be written here, or another acceptance with one of these ids is there already.
            StoreFormatError: the store is of a newer format, or is not a store.
        """
        self._backend.add([encode_acceptance(acceptance) for acceptance in acceptances])

    def put_bundle(self, data: bytes) -> str:
        """Store a failure bundle durably and return its sha256; one that is there already stays as it is.

        Raises:
            StoreError: it cannot be written here, or is too large for this place.
            StoreFormatError: the store is of a newer format, or is not a store.
        """
        kept, left = self._divided([data])
        if left:
            raise StoreError(
                f"bundle {left[0][:12]} has {len(data):,} bytes; wanted at most {self._backend.bundle_limit_bytes:,} "
                f"in store `{self.location}`",
                next_step="keep it as a file, e.g. in an artifact of the run",
            )
        self._backend.add(kept)
        return hashlib.sha256(data).hexdigest()

    def bundles(self) -> tuple[str, ...]:
        """sha256 of every stored bundle, sorted; none where there is no store."""
        self._sizes = {
            sha256: entry.size_bytes
            for entry in self._backend.entries()
            if (sha256 := read_bundle_path(entry.path)) is not None
        }
        return tuple(sorted(self._sizes))

    def has_bundle(self, sha256: str) -> bool:
        """Whether a bundle was here when they were last listed, or is now."""
        return sha256 in self._sizes or sha256 in self.bundles()

    def bundle(self, sha256: str) -> bytes:
        """The bytes of a stored bundle. Raises BundleError when it is not there, or does not hash to its name."""
        if not self.has_bundle(sha256):
            raise BundleError(
                f"no bundle `{sha256}` in store `{self.location}`; wanted one that is there",
                next_step="list the bundles there are with `opsdebug failures`",
            )
        return checked_bytes(
            sha256, self._sizes[sha256], lambda: self._backend.read(bundle_path(sha256)), f"in store `{self.location}`"
        )

    def load(self, run_id: str) -> RunDocument:
        """The document of a stored run. Raises StoreError when it is not there, or not whole."""
        return self.stored(run_id).document

    def stored(self, run_id: str) -> StoredRun:
        """A stored run with all that is kept of it. Raises StoreError when it is not there, or not whole."""
        root = self.mirror().root
        return (recall(root, run_id) if RUN_ID.fullmatch(run_id) else None) or self._no_run(run_id)

    def latest(self) -> RunDocument:
        """The document of the run that `latest_run()` names in SQL. Raises StoreError when there is none."""
        root = self.mirror().root
        run_id = newest(root)
        if run_id is None:
            raise StoreError(
                f"store `{self.location}` holds no run; wanted at least one that is no import",
                next_step="opsdebug ci --stage smoke",
            )
        return (recall(root, run_id) or self._no_run(run_id)).document

    def mirror(self, told: Told = untold) -> Mirror:
        """A directory on this machine that holds the store in its documented layout, for reading.

        Raises:
            StoreError: there is no store, or it can neither be reached nor is there a copy of it.
            StoreFormatError: the store is of a newer format, or is not a store.
        """
        return self._backend.mirror(told)

    def _divided(self, bundles: Iterable[bytes]) -> tuple[list[StoreFile], list[str]]:
        """Bundles as files, and the sha256 of those that are too large for this place."""
        limit = self._backend.bundle_limit_bytes
        kept, left = [], []
        for data in bundles:
            sha256 = hashlib.sha256(data).hexdigest()
            if limit is None or len(data) <= limit:
                kept.append(StoreFile(path=bundle_path(sha256), data=data))
            else:
                left.append(sha256)
        return kept, left

    def _no_run(self, run_id: str) -> NoReturn:
        raise StoreError(
            f"no run `{run_id}` in store `{self.location}`; wanted the id of a stored run",
            next_step='opsdebug sql "select id, started_at, stage, verdict from runs order by id desc"',
        )
