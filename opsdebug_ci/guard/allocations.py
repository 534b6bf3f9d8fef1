"""Memory an operator asks for while it runs: filled with a known byte, and laid between zones.

Decides which calls allocate: `torch.empty` and its kin, whose memory is filled, and those that make a tensor to hand on
(`zeros`, `full`, copies, casts, pads), whose values are kept. Looks for them inside custom operators too: a call of one
is dispatched again, to the kernel of its tensors' device, with the mode on. Results of other calls are left alone. What
C++ code allocates below the dispatcher is not seen. An allocation that is given back is looked at, and forgotten, once
many are held: an operator that allocates in a loop does not fill the memory with zones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from opsdebug_ci.guard.arena import Arena, can_guard, same_bytes, zone_bytes
from opsdebug_ci.guard.fills import byte_for
from opsdebug_ci.guard.location import Key, Where, at
from opsdebug_ci.guard.nesting import has_bytes
from opsdebug_ci.guard.patterns import Fill, palette_of
from opsdebug_ci.guard.readings import Window, describe
from opsdebug_ci.guard.territory import Place
from opsdebug_ci.model.memory import MemoryReading
from opsdebug_ci.model.vocabulary import Role, Side
from opsdebug_ci.numerics.custom_calls import called_inside, device_inside

MOST_HELD_BYTES = 64 * 1024 * 1024
"""Bytes of allocations, zones included, that are held before those given back are let go."""

_CALLS = frozenset(
    {
        "aten::empty",
        "aten::empty_like",
        "aten::empty_permuted",
        "aten::empty_strided",
        "aten::new_empty",
        "aten::new_empty_strided",
    }
)

_WRITTEN_CALLS = frozenset(
    {
        "aten::_to_copy",
        "aten::cat",
        "aten::clone",
        "aten::constant_pad_nd",
        "aten::full",
        "aten::full_like",
        "aten::new_full",
        "aten::new_ones",
        "aten::new_zeros",
        "aten::ones",
        "aten::ones_like",
        "aten::stack",
        "aten::zeros",
        "aten::zeros_like",
    }
)
"""Calls whose results are new memory with values in it, such as kernels are given for their outputs and inputs."""


class Steps(Protocol):
    """Hears of every call that reaches the dispatcher."""

    def entered(self, name: str) -> None:
        """A call begins."""

    def left(self, name: str) -> None:
        """It ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshFills:
    """What an operator's own memory holds before it writes it."""

    byte: int
    """Every byte of it."""

    zones: Fill | None = None
    """What surrounds it; None: it is filled where it is, without zones."""

    inside: bool = False
    """Allocations inside custom operators too."""


class _Allocation:
    """One piece of fresh memory between zones."""

    def __init__(self, bare: torch.Tensor, name: str, fills: FreshFills, key: int, *, written: bool) -> None:
        """Args: as allocated; in words; what to lay around it; its number; whether its bytes are values to be kept."""
        self.name = name
        self.arena = Arena(bare.untyped_storage().nbytes(), zone_bytes([bare]), bare.device)
        if written:
            self.arena.storage.copy_(bare.untyped_storage())
        else:
            self.arena.payload.fill_(byte_for(bare.dtype, fills.byte))
        self.arena.paint_zones(palette_of(bare, written=True), *2 * (fills.zones or Fill.PATTERN,), key=key)
        self._zones = (self.arena.head.clone(), self.arena.tail.clone())
        self._dtype = bare.dtype
        self._alive = StorageWeakRef(self.arena.storage)  # type: ignore[no-untyped-call]  # torch leaves it so
        self.address = self.arena.storage.data_ptr()
        self.view = self.arena.view(bare.dtype, bare.shape, bare.stride(), int(bare.storage_offset()))

    def let_go(self) -> torch.Tensor:
        """The tensor for the operator, of which nothing is held here any more but the bytes."""
        view = self.view
        del self.view, self.arena.storage
        return view

    @property
    def gone(self) -> bool:
        """The operator has given it back."""
        return bool(self._alive.expired())  # type: ignore[no-untyped-call]  # as above

    @property
    def held_bytes(self) -> int:
        """What it takes."""
        return self.arena.window.numel()

    def intact(self) -> bool:
        """No byte of its zones has changed."""
        return same_bytes(self._zones[0], self.arena.head) and same_bytes(self._zones[1], self.arena.tail)

    def damaged(self) -> set[Key]:
        """Which of its zones have changed."""
        sides = ((Side.HEAD, self._zones[0], self.arena.head), (Side.TAIL, self._zones[1], self.arena.tail))
        return {(self.address, side) for side, before, after in sides if not same_bytes(before, after)}

    def changes(self, name: str, role: Role, known: tuple[Place, ...]) -> list[MemoryReading]:
        """Writes beside it, told of a tensor of this name."""
        if self.intact():
            return []
        before = torch.cat([self._zones[0], self.arena.payload, self._zones[1]])
        window = Window(before=before, after=self.arena.window, zone=self.arena.zone)
        place = Place(name=name, written=True, view=torch.empty(0, dtype=self._dtype, device=before.device))
        changed = window.changed()
        sides = {Side.HEAD: changed[: window.zone], Side.TAIL: changed[window.zone + window.size :]}
        return [reading for side, mask in sides.items() for reading in describe(place, mask, side, window, known, role)]


class FreshMemory(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    """Context in which everything torch allocates and leaves unwritten holds a known fill."""

    def __init__(self, fills: FreshFills, known: tuple[Place, ...] = (), steps: Steps | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._fills = fills
        self._known = known
        self._steps = steps
        self._seen: Counter[str] = Counter()
        self._allocations: list[_Allocation] = []
        self._found: list[MemoryReading] = []
        self._count = 0
        self._held_bytes = 0
        self._limit_bytes = MOST_HELD_BYTES

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # NOTE: True makes torch import its compiler at the first call, 1.5 s that the first case would be charged for.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = self._numbered(func)
        if self._steps is not None:
            self._steps.entered(name)
        result = self._called(func, args, kwargs or {})
        if isinstance(result, torch.Tensor) and has_bytes(result):
            if _makes(func, _CALLS):
                result = self._fresh(result, name)
            elif _makes(func, _WRITTEN_CALLS) and self._can_surround(result):
                result = self._surrounded(result, name, written=True)
        if self._steps is not None:
            self._steps.left(name)
        return result

    def changes(
        self, outputs: Mapping[str, torch.Tensor], located: Mapping[Key, Where] | None = None
    ) -> tuple[MemoryReading, ...]:
        """Writes beside allocations; those that became an output are told of by its name."""
        named = {tensor.untyped_storage().data_ptr(): name for name, tensor in outputs.items()}
        found = list(self._found)
        for allocation in self._allocations:
            name = named.get(allocation.address)
            role = Role.SCRATCH if name is None else Role.OUTPUT
            readings = allocation.changes(name or f"scratch {allocation.name}", role, self._known)
            found += [at(reading, allocation.address, located) for reading in readings]
        return tuple(found)

    def damaged(self) -> set[Key]:
        """Zones that have changed, of allocations that are still held."""
        return set().union(*(allocation.damaged() for allocation in self._allocations))

    def intact(self) -> bool:
        """No byte beside any allocation has changed."""
        return not self._found and all(allocation.intact() for allocation in self._allocations)

    @property
    def guarded(self) -> int:
        """Allocations that were laid between zones so far."""
        return self._count

    def _called(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = device_inside(func, args, kwargs) if self._fills.inside else None
        if device is None or not can_guard(device):
            return func(*args, **kwargs)
        return called_inside(self, func, device, args, kwargs)

    def _fresh(self, bare: torch.Tensor, name: str) -> torch.Tensor:
        if self._can_surround(bare):
            return self._surrounded(bare, name, written=False)
        _fill_storage(bare, self._fills.byte)
        return bare

    def _can_surround(self, bare: torch.Tensor) -> bool:
        plain = type(bare) is torch.Tensor and bare.untyped_storage().nbytes() > 0 and can_guard(bare.device)
        return self._fills.zones is not None and plain and not bare.is_pinned()

    def _surrounded(self, bare: torch.Tensor, name: str, *, written: bool) -> torch.Tensor:
        self._count += 1
        shape = ", ".join(map(str, bare.shape))
        words = f"{str(bare.dtype).removeprefix('torch.')}[{shape}] of {name}"
        allocation = _Allocation(bare, words, self._fills, self._count, written=written)
        self._allocations.append(allocation)
        self._held_bytes += allocation.held_bytes
        if self._held_bytes > self._limit_bytes:
            self._sweep()
        return allocation.let_go()

    def _sweep(self) -> None:
        """Look at what was given back and forget it; next time when twice as much is held as is left."""
        for allocation in self._allocations:
            if allocation.gone:
                self._found += allocation.changes(f"scratch {allocation.name}", Role.SCRATCH, self._known)
        self._allocations = [allocation for allocation in self._allocations if not allocation.gone]
        self._held_bytes = sum(allocation.held_bytes for allocation in self._allocations)
        self._limit_bytes = max(MOST_HELD_BYTES, 2 * self._held_bytes)

    def _numbered(self, func: Any) -> str:
        name = str(func.overloadpacket).replace("::", ".") if isinstance(func, torch._ops.OpOverload) else str(func)
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} #{self._seen[name]}"


def fresh_memory(byte: int) -> FreshMemory:
    """Context in which the whole storage of every `torch.empty` is filled with `byte`."""
    return FreshMemory(FreshFills(byte=byte))


def _makes(func: Any, calls: frozenset[str]) -> bool:
    """Whether `func` is one of `calls` and returns new memory; `out=` overloads return a tensor of the caller's."""
    return (
        isinstance(func, torch._ops.OpOverload)
        and func._overloadname != "out"
        and func.overloadpacket._qualified_op_name in calls
    )


def _fill_storage(tensor: torch.Tensor, byte: int) -> None:
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
    whole.fill_(byte_for(tensor.dtype, byte))
