"""What one launch of an operator must move: bytes of distinct memory behind its arguments and outputs.

Decides by addresses, not by shapes: memory that several views share counts once, an expanded tensor counts what lies
behind it, and an output inside an argument is not written unless the contract says so. Deliberately knows nothing of
caches, or of what an operator reads of a table it only looks up in: its cost may state that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from opsdebug_ci.model.contract import Cost
from opsdebug_ci.model.profile import Traffic
from opsdebug_ci.operators import Arguments, Operator, written_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Where the elements of one tensor or array lie."""

    device: str
    """Whose memory."""

    low: int
    """Address of the first byte."""

    high: int
    """Address behind the last."""

    distinct: int
    """Bytes of its elements, those at one address counted once."""

    steps: tuple[tuple[int, int], ...]
    """Size and stride in bytes of every axis that moves; equal ones at one address are the same elements."""

    def overlaps(self, other: Extent) -> bool:
        """They share addresses, though perhaps no element."""
        return self.device == other.device and self.low < other.high and other.low < self.high


def traffic_of(operator: Operator, arguments: Arguments, returned: Any, cost: Cost | None) -> Traffic:
    """What a launch on `arguments` that returned `returned` had to move."""
    written = frozenset(written_names(operator.contract, arguments))
    out = None if operator.contract.out is None else arguments.name_of(operator.contract.out)
    read = extents(value for name, value in arguments.items() if name != out)
    kept = extents(value for name, value in arguments.items() if name not in written)
    made = extents([returned, *(value for name, value in arguments.items() if name in written)])
    return Traffic(
        read_bytes=distinct_bytes(read),
        written_bytes=distinct_bytes([extent for extent in made if not any(map(extent.overlaps, kept))]),
        stated_bytes=None if cost is None else cost.bytes,
        flops=None if cost is None else cost.flops,
    )


def distinct_bytes(found: Sequence[Extent]) -> int:
    """Bytes of the union of all elements.

    Exact where tensors are equal, apart, or lie densely; where views with gaps overlap partly, the smaller of their
    sum and the memory they span.
    """
    total, group, end = 0, list[Extent](), ("", 0)
    for extent in sorted(set(found), key=lambda item: (item.device, item.low, item.high)):
        if group and (extent.device != end[0] or extent.low >= end[1]):
            total += _group_bytes(group)
            group, end = [], ("", 0)
        group.append(extent)
        end = (extent.device, max(end[1], extent.high))
    return total + _group_bytes(group)


def extents(values: Iterable[Any]) -> list[Extent]:
    """Extents of all tensors and arrays in `values`, lists, tuples and dicts looked into."""
    return [extent for value in values for extent in _extents(value)]


def _group_bytes(group: Sequence[Extent]) -> int:
    """Of extents that overlap one after the other."""
    if not group:
        return 0
    span = max(extent.high for extent in group) - group[0].low
    return min(span, sum(extent.distinct for extent in group))


def _extents(value: Any) -> Iterator[Extent]:
    if isinstance(value, torch.Tensor):
        for dense in _dense_parts(value):
            steps = zip(dense.shape, (stride * dense.element_size() for stride in dense.stride()), strict=True)
            yield from _extent(str(dense.device), dense.data_ptr(), dense.element_size(), list(steps))
    elif isinstance(value, np.ndarray):
        steps = zip(value.shape, value.strides, strict=True)
        yield from _extent("cpu", int(value.__array_interface__["data"][0]), value.itemsize, list(steps))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _extents(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _extents(item)


def _extent(device: str, first: int, element: int, axes: list[tuple[int, int]]) -> Iterator[Extent]:
    """Nothing for a tensor without elements. Strides of arrays may be negative."""
    if not all(size for size, _ in axes):
        return
    moving = [(size, stride) for size, stride in axes if size > 1 and stride]
    low = first + sum((size - 1) * stride for size, stride in moving if stride < 0)
    high = first + element + sum((size - 1) * stride for size, stride in moving if stride > 0)
    elements = element * math.prod(size for size, _ in moving)
    yield Extent(device=device, low=low, high=high, distinct=min(elements, high - low), steps=tuple(moving))


def _dense_parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The strided tensors a tensor is made of; none where its memory cannot be seen."""
    if tensor.device.type == "meta":
        return ()
    if tensor.layout is torch.strided:
        return () if tensor.is_nested else (tensor,)
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return ()
