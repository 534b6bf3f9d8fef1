"""What every backend of the baseline store can do.

Decides the interface; where the files live is a backend's own business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from opsdebug_ci.model import Calibration, RunDocument


class BaselineStore(ABC):
    """Append-only home of stored runs."""

    @property
    @abstractmethod
    def location(self) -> str:
        """As the user wrote it."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether anything was ever stored here."""

    @abstractmethod
    def check_writable(self) -> None:
        """Find out, before any work is done, whether a run could be appended; leaves nothing behind.

        Raises:
            StoreError: it cannot be written here.
            StoreFormatError: the store is of a newer format, or is not a store.
        """

    @abstractmethod
    def append(self, document: RunDocument, calibrations: Sequence[Calibration] = ()) -> None:
        """Store a run: whole and durably, or not at all.

        Raises:
            StoreError: it cannot be written here, or a run with this id is there already.
            StoreFormatError: the store is of a newer format, or is not a store.
        """

    @abstractmethod
    def put_bundle(self, data: bytes) -> str:
        """Store a failure bundle durably and return its sha256; one that is there already stays as it is.

        A run whose rows name bundles is appended after them, so that no row names what is not there.

        Raises:
            StoreError: it cannot be written here.
            StoreFormatError: the store is of a newer format, or is not a store.
        """

    @abstractmethod
    def bundles(self) -> tuple[str, ...]:
        """sha256 of every stored bundle, sorted; none where there is no store."""

    @abstractmethod
    def bundle(self, sha256: str) -> bytes:
        """The bytes of a stored bundle. Raises BundleError when it is not there, or does not hash to its name."""

    @abstractmethod
    def find_bundle(self, prefix: str) -> str:
        """sha256 of the only stored bundle that starts with `prefix`. Raises UsageError when it is not one."""

    @abstractmethod
    def load(self, run_id: str) -> RunDocument:
        """The document of a stored run. Raises StoreError when it is not there."""

    @abstractmethod
    def latest(self) -> RunDocument:
        """The document of the newest run. Raises StoreError when there is none."""

    @abstractmethod
    def snapshot(self) -> Path:
        """A directory on this machine that holds the store in its documented layout, for reading.

        Raises:
            StoreError: there is no store.
            StoreFormatError: the store is of a newer format, or is not a store.
        """
