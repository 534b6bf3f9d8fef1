"""What one launch, and all launches of a case, are made of: conditions, outputs, and what was seen.

Decides when outputs of two launches are the same: bit for bit, so that NaN equals NaN and 0 is not -0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from opsdebug_ci.guard import FILL_A, Fill, ZoneFills
from opsdebug_ci.model.memory import AliasReading, ForeignRead, GuardFacts, LayoutChange, MemoryReading

Outputs = dict[str, torch.Tensor]
"""Outputs of one launch by name; copies that no later launch can touch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a launch meets that is none of an operator's business."""

    zones: ZoneFills = field(default_factory=ZoneFills)
    """Around its arguments."""

    fresh: int = FILL_A
    """Byte that fresh memory and output buffers are filled with."""

    scratch: Fill = Fill.PATTERN
    """Around memory it asks for."""

    watched: bool = False
    """Memory it asks for is filled and surrounded; else it is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What one launch showed. Holds live tensors, so it never leaves the worker."""

    outputs: Outputs
    """By name."""

    memory: tuple[MemoryReading, ...]
    """Undeclared writes."""

    aliases: tuple[AliasReading, ...]
    """Undeclared sharing of memory."""

    layout_changes: tuple[LayoutChange, ...]
    """Undeclared changes of tensors that leave their bytes alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchReading:
    """What the launches of one case showed. Holds live tensors, so it never leaves the worker."""

    outputs: Outputs
    """Of the first launch."""

    memory: tuple[MemoryReading, ...]
    """Undeclared writes of all launches, one per tensor and side."""

    reads: tuple[ForeignRead, ...]
    """Reads beyond the arguments that reach an output."""

    aliases: tuple[AliasReading, ...]
    """Undeclared sharing of memory in the first launch."""

    layout_changes: tuple[LayoutChange, ...]
    """Undeclared changes of tensors that leave their bytes alone."""

    guard: GuardFacts
    """What the guards can claim."""

    repeat_mismatches: int
    """Output elements whose bits differ between two launches under the same conditions."""

    unwritten: int
    """Output elements that follow the fill of fresh memory."""

    from_scratch: int
    """Those of them that do not hold the fill itself: they were computed from memory nobody wrote."""

    careful: bool
    """The operator writes beside its own memory, so that no launch may go unwatched."""

    drew: bool
    """The operator moved a random generator."""

    duration_ns: int
    """Time inside the operator, all launches."""

    quickest_ns: int
    """Time of the quickest launch: what one more costs."""


def differing(one: Outputs, other: Outputs) -> int:
    """Elements whose bits differ; all of them where names, shapes or dtypes do."""
    if list(one) != list(other):
        return sum(output.numel() for output in one.values())
    return sum(differing_elements(one[name], other[name]) for name in one)


def differing_elements(one: torch.Tensor, other: torch.Tensor) -> int:
    """The same of one output."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return max(one.numel(), other.numel())
    return int(differing_bits(one, other).sum())


def differing_bits(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """bool, shaped like `one`: elements whose bits differ. The two have one shape and one dtype."""
    if one.numel() == 0:
        return torch.zeros(one.shape, dtype=torch.bool, device=one.device)
    return (element_bytes(one) != element_bytes(other)).any(dim=1).reshape(one.shape)


def element_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """uint8[elements, bytes]: copied first, because a single element may carry any stride, which `view` refuses."""
    packed = torch.empty(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    return packed.copy_(tensor.flatten()).view(torch.uint8).reshape(tensor.numel(), -1)
