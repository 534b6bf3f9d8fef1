"""Memory whose neighbouring pages the processor watches: whoever touches them dies at that very instruction.

Decides where a storage lies in its pages and which of them may be read or written, by mode:

    tail             ends flush with pages that may not be touched
    tail_readable    the same, but they may be read
    head             begins flush with pages that may not be touched
    head_readable    the same, but they may be read
    inputs_readable  arguments that nobody may write lie in pages that can only be read

Watched are the storages of the arguments and, in the first four, of whatever the operator makes through torch's
dispatcher while it runs. Each keeps its size in bytes and its views. Deliberately catches nothing: the signal ends the
process, so this belongs into a worker. Needs mmap(2) and mprotect(2), and tensors on the CPU.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.guard.nesting import has_bytes, map_leaves
from opsdebug_ci.model.vocabulary import PageMode
from opsdebug_ci.numerics.custom_calls import called_inside, device_inside

ZONE_BYTES = 1 << 20
"""Watched on one side of a storage, and free for stray writes on the other: room for an unmasked tile, and an address
range alone, since untouched pages take no memory."""

PROT_NONE, PROT_READ, PROT_READ_WRITE = 0, 1, 3
"""Of mprotect(2); the same numbers on Linux and macOS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where storages lie in their pages."""

    mode: PageMode
    """Which pages are watched."""

    alignment: int = 1
    """Bytes that beginnings are multiples of; what that costs lies between an end and its watched page."""

    protected: bool = True
    """False: placed likewise, with every page open. Who dies there does not die of a watched page."""

    @property
    def at_the_end(self) -> bool:
        """Ends are flush, rather than beginnings."""
        return self.mode not in (PageMode.HEAD, PageMode.HEAD_READABLE)

    @property
    def zone_protection(self) -> int:
        """What may be done to the watched side."""
        if not self.protected or self.mode is PageMode.INPUTS_READABLE:
            return PROT_READ_WRITE
        return PROT_NONE if self.mode in (PageMode.TAIL, PageMode.HEAD) else PROT_READ


@functools.cache
def unavailable_reason() -> str | None:
    """Why no page can be watched on this system, or None."""
    if os.name != "posix":
        return "pages are watched with mmap and mprotect, which this system does not have"
    try:
        _Region(np.zeros(1, dtype=np.uint8), Placement(mode=PageMode.TAIL))
    except EnvironmentLimitError as refusal:
        return refusal.message
    return None


def watch_values(
    values: Sequence[Any], read_only: Sequence[bool], placement: Placement, watched: Sequence[bool] | None = None
) -> tuple[tuple[Any, ...], int]:
    """Copies of all tensors and arrays in watched pages, and how many storages these are; other values as they are.

    Args:
        values: arguments; tensors inside lists, tuples and dicts are found. Views of one storage stay views of one.
        read_only: for each, whether nobody may write it; a storage that anybody may write stays writable.
        placement: where they lie.
        watched: for each, whether its pages are; the others lie likewise, with every page open. None: all.

    Raises:
        EnvironmentLimitError: the system gives no more pages.
    """
    writable = {key for value, locked in zip(values, read_only, strict=True) if not locked for key in _keys(value)}
    chosen = [True] * len(values) if watched is None else watched
    wanted = {key for value, closed in zip(values, chosen, strict=True) if closed for key in _keys(value)}
    others = replace(placement, protected=False)
    regions: dict[int, _Region] = {}

    def move(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return _moved_array(value, placement if -id(value) in wanted else others, regions)
        if not _is_movable(value):
            return value.detach().clone() if isinstance(value, torch.Tensor) else value
        key = _key(value)
        if key not in regions:
            regions[key] = _Region(_bytes_of(value.untyped_storage()), placement if key in wanted else others)
        return _view_like(value, regions[key].storage)

    moved = tuple(map_leaves(value, move) for value in values)
    if placement.mode is PageMode.INPUTS_READABLE and placement.protected:
        for key in (regions.keys() & wanted) - writable:
            regions[key].lock()
    return moved, len(regions)


def has_pages(value: Any) -> bool:
    """Whether `watch_values` finds anything in `value` to move."""
    return bool(_keys(value))


def watch_results(placement: Placement) -> AbstractContextManager[object]:
    """Context in which new tensors of torch's operators lie in such pages too, those inside custom ones included.

    Also where no page beside them is watched: then stray writes meet free pages rather than the heap.
    """
    return _ResultsMode(placement)


class _Region:
    """Pages for one payload: a zone, the pages of the payload, a zone. Lives as long as a tensor in it does."""

    def __init__(self, payload: np.ndarray[Any, Any], placement: Placement) -> None:
        self._size = len(payload)
        self._pages = -(-self._size // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = _mapped(self._pages + 2 * ZONE_BYTES)
        slack = self._pages - self._size
        lead = slack - (slack % placement.alignment) if placement.at_the_end else 0
        self.array = np.frombuffer(memory, dtype=np.uint8, count=self._size, offset=ZONE_BYTES + lead)
        """The payload."""
        self.array[:] = payload
        self._first_page = self.payload_address - lead
        if placement.zone_protection != PROT_READ_WRITE:
            zone = self._first_page + self._pages if placement.at_the_end else self._first_page - ZONE_BYTES
            _protect(zone, ZONE_BYTES, placement.zone_protection)

    @property
    def payload_address(self) -> int:
        """Where the payload begins."""
        return int(self.array.ctypes.data)

    @property
    def storage(self) -> torch.UntypedStorage:
        """The payload as a storage, which keeps the pages alive."""
        return torch.from_numpy(self.array).untyped_storage()

    def lock(self) -> None:
        """Let the payload be read only."""
        _protect(self._first_page, self._pages, PROT_READ)


class _ResultsMode(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    def __init__(self, placement: Placement) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._placement = placement

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True makes torch import its compiler at the first call

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        device = device_inside(func, args, given)
        if device is not None and device.type == "cpu":
            return called_inside(self, func, device, args, given)
        result = func(*args, **given)
        known = {key for value in (*args, *given.values()) for key in _keys(value)}
        regions: dict[int, _Region] = {}
        return map_leaves(result, lambda leaf: self._moved(leaf, known, regions))

    def _moved(self, leaf: Any, known: set[int], regions: dict[int, _Region]) -> Any:
        """`leaf` in pages of its own, unless its storage came in with the arguments."""
        if not _is_movable(leaf) or _key(leaf) in known or type(leaf) is not torch.Tensor:
            return leaf
        key = _key(leaf)
        try:
            if key not in regions:
                regions[key] = _Region(_bytes_of(leaf.untyped_storage()), self._placement)
        except EnvironmentLimitError:
            return leaf  # out of mappings: the ones before stay watched
        return _view_like(leaf, regions[key].storage)


@functools.cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], ctypes.c_int
    return function


def _protect(address: int, size: int, protection: int) -> None:
    if _mprotect()(address, size, protection):
        raise _refused(f"to protect {size:,} bytes", os.strerror(ctypes.get_errno()))


def _mapped(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise _refused(f"to map {size:,} bytes", error.strerror or str(error)) from error


def _refused(what: str, why: str) -> EnvironmentLimitError:
    return EnvironmentLimitError(
        f"the system refuses {what} of pages: {why}", next_step="on Linux, look at vm.max_map_count and at ulimit -v"
    )


def _is_movable(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and has_bytes(value)
        and value.device.type == "cpu"
        and value.untyped_storage().nbytes() > 0
    )


def _key(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _keys(value: Any) -> set[int]:
    """Storages inside `value`; arrays by their identity, which no storage shares."""
    found: set[int] = set()

    def note(leaf: Any) -> Any:
        if _is_movable(leaf):
            found.add(_key(leaf))
        elif isinstance(leaf, np.ndarray):
            found.add(-id(leaf))
        return leaf

    map_leaves(value, note)
    return found


def _bytes_of(storage: torch.UntypedStorage) -> np.ndarray[Any, Any]:
    whole: np.ndarray[Any, Any] = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
    return whole


def _view_like(tensor: torch.Tensor, storage: torch.UntypedStorage) -> torch.Tensor:
    view = torch.empty(0, dtype=tensor.dtype)
    return view.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())


def _moved_array(
    array: np.ndarray[Any, Any], placement: Placement, regions: dict[int, _Region]
) -> np.ndarray[Any, Any]:
    dense: np.ndarray[Any, Any] = array.copy(order="K")
    if not dense.nbytes or dense.dtype.hasobject or min(dense.strides, default=0) < 0:
        return dense
    key = -id(array)
    if key not in regions:
        regions[key] = _Region(dense.ravel(order="K").view(np.uint8), placement)
    moved: np.ndarray[Any, Any] = np.ndarray(dense.shape, dense.dtype, buffer=regions[key].array, strides=dense.strides)
    return moved
