"""Outputs that lie in the memory of an argument or of another output.

Decides what sharing is: a byte in which elements of both lie. Different bytes of one storage are nobody's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from opsdebug_ci.guard.nesting import strided_tensors
from opsdebug_ci.guard.territory import mark_elements
from opsdebug_ci.model.memory import AliasReading
from opsdebug_ci.model.vocabulary import Role


def shared_memory(
    arguments: Sequence[tuple[str, Any]], outputs: Mapping[str, torch.Tensor], written: frozenset[str]
) -> tuple[AliasReading, ...]:
    """Every pair of an output and an argument, or of two outputs, that shares bytes.

    Silent about outputs that are arguments the contract lets the operator write.
    """
    given = [pair for name, value in arguments for pair in strided_tensors(name, value)]
    fresh = [(name, output) for name, output in outputs.items() if name not in written]
    return tuple(_readings(given, fresh))


def _readings(given: list[tuple[str, torch.Tensor]], fresh: list[tuple[str, torch.Tensor]]) -> Iterator[AliasReading]:
    for position, (name, output) in enumerate(fresh):
        others = [(other, tensor, Role.INPUT) for other, tensor in given]
        others += [(other, tensor, Role.OUTPUT) for other, tensor in fresh[:position]]
        for other, tensor, role in others:
            count = _shared_bytes(output, tensor)
            if count:
                yield AliasReading(output=name, other=other, role=role, bytes_shared=count)


def _shared_bytes(one: torch.Tensor, other: torch.Tensor) -> int:
    reaches = [_reach(one), _reach(other)]
    low, high = max(start for start, _ in reaches), min(end for _, end in reaches)
    if one.device != other.device or low >= high:
        return 0
    masks = [_mask(tensor, low, high) for tensor in (one, other)]
    return int((masks[0] & masks[1]).sum())


def _reach(tensor: torch.Tensor) -> tuple[int, int]:
    """Addresses of its first byte and of the byte behind its last."""
    if tensor.numel() == 0:
        return 0, 0
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def _mask(tensor: torch.Tensor, low: int, high: int) -> torch.Tensor:
    """bool[high - low]: the bytes from address `low` to `high` in which an element lies."""
    start, end = _reach(tensor)
    mask = torch.zeros(end - start, dtype=torch.bool)
    bare = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    mark_elements(mask, bare)
    return mask[low - start : high - start]
