"""A store in a bucket of object storage: Amazon S3, Google Cloud Storage, and servers that speak like them.

What is guaranteed, and by what:

* An object is there whole or not at all, and for every reader as soon as its writer is told so: both services promise
  that for one object, for reading and for listing alike. So a run is visible when its object in `runs` is, which is
  written when all others have been acknowledged, and nothing has to be changed in place: there is no pointer, and no
  condition under which one would be written.
* Nothing is overwritten with other bytes. pyarrow cannot ask a server to create an object only if there is none
  (it has no `If-None-Match`, and drops one that is given as metadata), so this rests on names: a run's and a pack's are
  unique, a bundle's is its hash, and what is there already under a name is compared before anything is written. Only
  two writers with one run id at the same moment could differ under one name; the later one would win.
* A large object (above 10 MB) is sent in parts. A writer that is killed meanwhile leaves parts that no reader ever
  sees, and that the service keeps, and charges for, until a rule of the bucket removes them.

Removing an object may leave the empty object `<folder>/` that stands for its folder; it is in no listing of ours.

Decides in which order files are written and removed, and how a listing becomes one that held at a single moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, final

from opsdebug_ci.errors import StoreError
from opsdebug_ci.store.files.contents import ROOT_TABLE, packs_among
from opsdebug_ci.store.files.layout import MARKER
from opsdebug_ci.store.places.backend import Backend, Mirror, StoreEntry, StoreFile, Told, untold
from opsdebug_ci.store.places.bucket import PATIENCE_S, Bucket, in_parallel
from opsdebug_ci.store.places.cache import store_place
from opsdebug_ci.store.places.marker import check_free, format_version, marker_bytes
from opsdebug_ci.store.places.mirroring import VISIBLE_LAST, mended, mirrored
from opsdebug_ci.store.places.object_location import read_location
from opsdebug_ci.store.places.replacing import replaceable
from opsdebug_ci.store.schema import FORMAT_VERSION

PROBE = ".opsdebug-writable"
"""Empty object that is written to find out whether it can be."""

LISTINGS = 10
"""Listings before it is said that the store does not hold still; each is overtaken only by a whole compaction."""


@final
class ObjectBackend(Backend):
    """Objects below one prefix of a bucket, which must be there; the prefix need not.

    Args:
        location: `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`.
        environ: environment variables, for the server, the region, credentials, and the place of the copy.
        patience_s: how long a request is tried anew while the server is busy or out of reach; s.

    Raises:
        UsageError: the location is none, or has credentials in it.
    """

    def __init__(self, location: str, environ: Mapping[str, str], patience_s: float = PATIENCE_S) -> None:
        place = read_location(location)
        self._location = location
        self._bucket = Bucket(location, place, environ, patience_s)
        self._environ = environ

    @property
    def location(self) -> str:
        return self._location

    @property
    def bundle_limit_bytes(self) -> int | None:
        return None

    def exists(self) -> bool:
        return self._version() is not None

    def check_writable(self) -> None:
        # NOTE: the empty object stays, always the same. Removing it would need a right that writers do not, and leave
        # the one that stands for its folder.
        self._check_ours()
        self._bucket.put_all([(PROBE, b"")])

    def add(self, files: Sequence[StoreFile]) -> None:
        self._prepare()
        states = dict(in_parallel(self._state, files))
        may = replaceable(list(states), {path for path, same in states.items() if same is not None})
        for path, same in reversed(states.items()):
            if same is False and path not in may:
                self._refuse_another(path)
        missing = {file.path: file.data for file in files if not states[file.path]}
        for stage in _stages(missing, alone=_shows):
            self._bucket.put_all((path, missing[path]) for path in stage)

    def exchange(self, added: Sequence[StoreFile], removed: Sequence[str]) -> None:
        self._prepare()
        if self._version() != FORMAT_VERSION:
            self._bucket.put_all([(MARKER, marker_bytes())])
        self.add(added)
        # NOTE: what single runs show does not depend on each other; what a pack shows hides them.
        for stage in _stages(removed, alone=_is_pack):
            self._bucket.remove_all(stage)

    def entries(self) -> tuple[StoreEntry, ...]:
        if not self.exists():
            return ()
        for _ in range(LISTINGS):
            found = self._one_listing()
            if found is not None:
                return found
        raise StoreError(
            f"store `{self._location}` was compacted during each of {LISTINGS} listings; wanted one moment without",
            next_step="try again when no `opsdebug baselines compact` runs in a loop",
        )

    def read(self, path: str) -> bytes:
        data = self._bucket.get(path)
        if data is None:
            raise StoreError(
                f"cannot read `{path}` of store `{self._location}`: there is no such object; wanted one that is there",
                next_step="`opsdebug baselines verify` says what else is missing or damaged",
            )
        return data

    def mirror(self, told: Told = untold) -> Mirror:
        return mirrored(self._location, self._entries_of_a_store, self.read_all, self._place(), told)

    def mend(self, paths: Collection[str], told: Told = untold) -> bool:
        return mended(self._entries_of_a_store, self.read_all, self._place(), paths, told)

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        found = in_parallel(lambda path: (path, self._bucket.get(path)), paths)
        return ((path, data) for path, data in found if data is not None)

    def _place(self) -> Path:
        return store_place(self._environ, self._bucket.identity)

    def _entries_of_a_store(self) -> tuple[StoreEntry, ...]:
        if not self.exists():
            raise StoreError(
                f"no store at `{self._location}`: nothing was stored there yet; wanted the place of an earlier run",
                next_step="make one with `opsdebug ci --stage smoke`, or set `store` to where it is",
            )
        return self.entries()

    def _one_listing(self) -> tuple[StoreEntry, ...] | None:
        """Every file as of one moment; None: a compaction went by.

        A listing of many objects takes many requests. Whatever is in `runs` before the rest is listed, and still
        afterwards, had all its files throughout: they are written before it, and removed after it. What was removed
        from it meanwhile is gone, or is in a pack: in one that was there before, or in one that is missing here.
        """
        before = {entry.path for entry in self._bucket.below(ROOT_TABLE)}
        rest = self._bucket.below()
        after = self._bucket.below(ROOT_TABLE)
        names = {entry.path for entry in after}
        if before - names and packs_among(names - before):
            return None
        listed = [entry for entry in rest if not entry.path.startswith(f"{ROOT_TABLE}/")]
        listed += [entry for entry in after if entry.path in before]
        return tuple(sorted((e for e in listed if not e.path.startswith(".")), key=lambda entry: entry.path))

    def _version(self) -> int | None:
        data = self._bucket.get(MARKER)
        if data is None:
            self._bucket.names()  # only a listing tells an empty prefix from a bucket that is not there
            return None
        return format_version(data, self._location)

    def _check_ours(self) -> bool:
        """Whether it is a store. Raises StoreFormatError when it is not, and must not become one."""
        data = self._bucket.get(MARKER)
        if data is not None:
            format_version(data, self._location)
            return True
        check_free(self._bucket.names(), self._location, "prefix")
        return False

    def _prepare(self) -> None:
        if not self._check_ours():
            self._bucket.put_all([(MARKER, marker_bytes())])

    def _state(self, file: StoreFile) -> tuple[str, bool | None]:
        """Its path, and whether what is there is this file; None: nothing is there."""
        data = self._bucket.get(file.path)
        return file.path, None if data is None else data == file.data

    def _refuse_another(self, path: str) -> NoReturn:
        raise StoreError(
            f"store `{self._location}` already holds another `{path}`; wanted a new id: runs are never overwritten",
            next_step="take a new id from `new_run_id`: every invocation has its own",
        )


def _stages(paths: Iterable[str], alone: Callable[[str], bool]) -> Iterator[list[str]]:
    """Paths in the order given, together as far as readers cannot tell.

    Args:
        paths: of files that are to be written or removed.
        alone: whether a path must come after all before it, and before all after it.
    """
    together: list[str] = []
    for path in paths:
        last = together[-1] if together else None
        if last is not None and (alone(path) or alone(last) or _shows(path) != _shows(last)):
            yield together
            together = []
        together.append(path)
    if together:
        yield together


def _shows(path: str) -> bool:
    """Rows become visible with it."""
    return path.partition("/")[0] in VISIBLE_LAST


def _is_pack(path: str) -> bool:
    """A pack becomes visible with it."""
    return bool(packs_among([path]))
