"""What a function asks of the framework: calls, what they handle, and elements the host reads out of tensors.

Decides that a call is one that reaches a backend or makes a view, after the framework has taken composite functions
apart; a custom operator is one call, and a Triton launch none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opsdebug_ci.worker.traffic import distinct_bytes, extents

HOST_READ = torch.ops.aten._local_scalar_dense.default
"""What `item()`, `bool()`, `tolist()` of one element and their like become."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """What one launch asked of the framework."""

    calls: int
    """Calls into it."""

    handled_bytes: int
    """Bytes of the tensors that went into and came out of calls that are no views."""

    host_reads: int
    """Single elements the host read out of tensors."""


class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    """Context that counts the calls of this thread."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._calls = 0
        self._handled_bytes = 0
        self._host_reads = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # NOTE: True makes torch import its compiler at the first call, which takes longer than most profiles.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if isinstance(func, torch._ops.OpOverload):
            self._calls += 1
            self._host_reads += func is HOST_READ
            if not func.is_view:
                self._handled_bytes += distinct_bytes(extents([args, kwargs])) + distinct_bytes(extents([result]))
        return result

    def so_far(self) -> CallCount:
        """What was counted."""
        return CallCount(calls=self._calls, handled_bytes=self._handled_bytes, host_reads=self._host_reads)


def counted(call: Callable[[], Any]) -> tuple[Any, CallCount]:
    """What `call` returns, and what it asked of the framework."""
    with Counting() as counting:
        returned = call()
    return returned, counting.so_far()
