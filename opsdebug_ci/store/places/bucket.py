"""Objects below one prefix of a bucket: put, read, listed, removed, with patience for what passes by itself.

Decides how pyarrow is used so that an object appears whole or not at all: in one write by a thread of its own, which no
signal interrupts between opening and closing it (pyarrow would store what it has by then). Small objects take one
request; large ones are sent in parts, and the server puts them together when all are there.

Deliberately knows neither stores nor their files.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.store.places.backend import StoreEntry
from opsdebug_ci.store.places.object_faults import Fault, as_store_error, fault_of, is_mute
from opsdebug_ci.store.places.object_location import ObjectAccess, ObjectLocation, read_access

Given = TypeVar("Given")
Made = TypeVar("Made")

PATIENCE_S = 60.0
"""How long one request is tried anew. A bucket that is asked more than it likes says so (503) until it has spread its
keys over more servers; that takes seconds to minutes, and a run that took minutes is worth one."""

FIRST_PAUSE_S = 0.1
"""Longest first pause: a round trip or two. Each one may be twice as long as the one before."""

LONGEST_PAUSE_S = 5.0
"""Longest pause: so that the last try is not much earlier than the end of patience."""

TIMEOUT_S = 20.0
"""How long a server may say nothing before the request is given up: many times the slowest answer to one object."""

AT_ONCE = 16
"""Requests at a time: enough to hide the way there and back, few enough for one file descriptor each."""


class Bucket:
    """Objects below one prefix.

    Args:
        name: location in words, for messages.
        location: bucket and prefix.
        environ: environment variables.
        patience_s: how long one request is tried anew; s.
    """

    def __init__(
        self, name: str, location: ObjectLocation, environ: Mapping[str, str], patience_s: float = PATIENCE_S
    ) -> None:
        self._name = name
        self._location = location
        self._access = read_access(location, environ)
        self._patience_s = patience_s
        self._connected: Any = None

    @property
    def identity(self) -> str:
        """What tells this place from all others."""
        return f"{self._location.scheme}://{self._access.endpoint or ''}/{self._location.base}"

    def get(self, path: str) -> bytes | None:
        """The bytes of an object; None: there is none."""
        return self._persist("read from", lambda files: _read(files, self._key(path)))

    def put_all(self, objects: Iterable[tuple[str, bytes]]) -> None:
        """Store objects, in no order, in the place of those that are there; when this returns they are there to stay.
        After one that fails no other is begun."""
        for _ in in_parallel(self._put, objects):
            continue

    def remove_all(self, paths: Iterable[str]) -> None:
        """Remove objects, in no order; those that are gone already do not matter."""
        for _ in in_parallel(self._remove, paths):
            continue

    def below(self, folder: str = "") -> tuple[StoreEntry, ...]:
        """Objects below the prefix, or below one folder of it, in the order of paths."""
        found = self._persist("list", lambda files: _list(files, self._key(folder), deep=True))
        start = len(self._location.base) + 1
        return tuple(
            StoreEntry(path=one.path[start:], size_bytes=one.size or 0, written_at=one.mtime)
            for one in sorted(found, key=lambda one: str(one.path))
        )

    def names(self) -> frozenset[str]:
        """Objects and folders directly below the prefix. Raises StoreError when there is no such bucket, too."""
        # NOTE: asked for one level, pyarrow leaves out those folders of Cloud Storage that have no object of their own.
        deep = self._location.scheme == "gs"
        found = self._persist("list", lambda files: _list(files, self._key(""), deep=deep))
        start = len(self._location.base) + 1
        return frozenset(one.path[start:].partition("/")[0] for one in found)

    def _put(self, one: tuple[str, bytes]) -> None:
        path, data = one
        self._persist("write to", lambda files: _write(files, self._key(path), data))

    def _remove(self, path: str) -> None:
        self._persist("remove from", lambda files: _remove(files, self._key(path)))

    def _key(self, path: str) -> str:
        return f"{self._location.base}/{path}" if path else self._location.base

    def _persist(self, doing: str, action: Callable[[Any], Made]) -> Made:
        """Do it, and anew while it fails for reasons that pass. Raises StoreError for all others."""
        end = time.monotonic() + self._patience_s
        longest_s = FIRST_PAUSE_S
        while True:
            try:
                return action(self._files())
            except OSError as error:
                cause = self._explained(error)
                left_s = end - time.monotonic()
                if fault_of(cause) is not Fault.TRANSIENT or left_s <= 0:
                    raise as_store_error(cause, doing, self._name, self._access.secrets) from None
            # Anything up to the limit, so that writers that were refused together do not come back together.
            time.sleep(min(left_s, secrets.SystemRandom().uniform(0, longest_s)))
            longest_s = min(LONGEST_PAUSE_S, 2 * longest_s)

    def _explained(self, error: OSError) -> OSError:
        """The error, or what a listing says where the server did not say why."""
        if not is_mute(error):
            return error
        try:
            _list(self._files(), self._key(""), deep=False)
        except OSError as told:
            return error if fault_of(told) is Fault.ABSENT else told
        return error

    def _files(self) -> Any:
        if self._connected is None:
            self._connected = connect(self._location, self._access, self._patience_s)
        return self._connected


def connect(location: ObjectLocation, access: ObjectAccess, patience_s: float) -> Any:
    """The file system of pyarrow that holds the bucket. Raises OSError as it does, EnvironmentLimitError without it."""
    try:
        from pyarrow import fs  # noqa: PLC0415 - takes as long as a whole query of a directory; few stores need it

        return _s3(fs, location, access) if location.scheme == "s3" else _gs(fs, access, patience_s)
    except ImportError as error:
        raise EnvironmentLimitError(
            f"this pyarrow has no support for `{location.scheme}:`; wanted one with it",
            next_step="install pyarrow from PyPI: `python -m pip install pyarrow`",
        ) from error


def in_parallel(work: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
    """`work` of each item, in order, several at a time; few are held at once. After one that fails none is begun."""
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= 2 * AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _s3(fs: Any, location: ObjectLocation, access: ObjectAccess) -> Any:
    return fs.S3FileSystem(
        access_key=access.access_key,
        secret_key=access.secret_key,
        session_token=access.session_token,
        region=access.region or fs.resolve_s3_region(location.bucket),
        scheme="https" if access.encrypted else "http",
        endpoint_override=access.endpoint,
        tls_ca_file_path=access.certificates,
        request_timeout=TIMEOUT_S,
        connect_timeout=TIMEOUT_S,
        allow_delayed_open=True,  # one request for a small object instead of three
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),  # `Bucket` has the patience
    )


def _gs(fs: Any, access: ObjectAccess, patience_s: float) -> Any:
    return fs.GcsFileSystem(
        anonymous=access.endpoint is not None,
        scheme="https" if access.encrypted else "http",
        endpoint_override=access.endpoint,
        retry_time_limit=timedelta(seconds=max(1.0, patience_s)),  # whole seconds; the library tries anew by itself
    )


def _write(files: Any, key: str, data: bytes) -> None:
    # NOTE: no `with`, which would store what was written by then where something was raised in between.
    stream = files.open_output_stream(key)
    stream.write(data)
    stream.close()


def _read(files: Any, key: str) -> bytes | None:
    try:
        with files.open_input_file(key) as stream:
            data: bytes = stream.read()
    except OSError as error:
        _nothing_there(error)
        return None
    return data


def _remove(files: Any, key: str) -> None:
    try:
        files.delete_file(key)
    except OSError as error:
        _nothing_there(error)


def _list(files: Any, key: str, *, deep: bool) -> list[Any]:
    """What pyarrow tells of each object, and of each folder unless `deep`."""
    from pyarrow import fs  # noqa: PLC0415 - as in `connect`

    try:
        found = files.get_file_info(fs.FileSelector(key, recursive=deep))
    except OSError as error:
        _nothing_there(error)
        return []
    return [one for one in found if one.type is fs.FileType.File or not deep]


def _nothing_there(error: OSError) -> None:
    """Nothing, when the error says that there is no such object; else it is raised."""
    if fault_of(error) is not Fault.ABSENT:
        raise error
