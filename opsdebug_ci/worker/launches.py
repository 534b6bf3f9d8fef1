"""Launching the operator: fresh copies of its arguments every time, known bytes around them, bytes compared.

Decides what one launch is. Arguments lie between zones; a watched launch also fills and surrounds what the operator
asks for. An operator that cannot run that way (it resizes an argument, or raises while it is watched and not otherwise) is
launched with less: first its own memory is only filled, then nobody watches, and what is left out is told. Which
launches are made, and what they mean, is decided elsewhere (`differences`).

Before every launch but the first, freed memory of the outputs' sizes is filled as well.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import torch

from opsdebug_ci.errors import ReferenceFaultError, Unsupported
from opsdebug_ci.guard import (
    FILL_A,
    FILL_B,
    Fill,
    FreshFills,
    FreshMemory,
    Grounds,
    Laid,
    Locator,
    ZoneFills,
    fill_bytes,
    shared_memory,
    soil_heap,
)
from opsdebug_ci.model.memory import AliasReading, ForeignRead, GuardFacts, LayoutChange, MemoryReading
from opsdebug_ci.operators import Arguments, Operator, named_outputs, written_names
from opsdebug_ci.worker.isolation import isolated

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

    duration_ns: int
    """Time inside the operator, all launches."""

    quickest_ns: int
    """Time of the quickest launch: what one more costs."""


class OperatorFault(Exception):  # noqa: N818 - not an error of ours: it carries the operator's own
    """The operator raised; `__cause__` is what."""


class NotAnOutput(Exception):  # noqa: N818 - a fact about the operator, not an error of ours
    """The operator returned something that is no output; the message says what."""


class Watching(IntEnum):
    """How much an operator bears of what a watched launch does to its memory."""

    NOTHING = 0
    FILLED = 1
    GUARDED = 2


class Launcher:
    """Launches one operator on copies of one set of arguments."""

    def __init__(self, operator: Operator, arguments: Arguments, seed: int) -> None:
        self._operator = operator
        self._seed = seed
        self._pristine = arguments
        self._written = frozenset(written_names(operator.contract, arguments))
        out = operator.contract.out
        self._out = None if out is None else arguments.name_of(out)
        self._output_sizes: dict[torch.device, tuple[int, ...]] = {}
        self._quickest_ns: int | None = None
        self.grounds = Grounds(arguments.names, arguments.values, self._written)
        """Where the arguments are laid out."""
        self.between_zones = True
        """The operator bears arguments that cannot be resized."""
        self.watching = Watching.GUARDED
        """What it bears besides."""
        self.note: str | None = None
        """Why it bears less."""
        self.launches = 0
        """How many were made."""
        self.duration_ns = 0
        """Time inside the operator so far."""

    @property
    def quickest_ns(self) -> int:
        """Time of the quickest launch so far."""
        return self._quickest_ns or 0

    @property
    def deterministic(self) -> bool:
        """The contract promises the same bits on every launch."""
        return self._operator.contract.deterministic

    def once(self, *, watched: bool = False) -> Outputs:
        """Outputs of one launch on copies of the arguments, fresh memory filled if `watched`; raises as `launch`."""
        return self.launch(Conditions(watched=watched)).outputs

    def on(self, values: tuple[Any, ...]) -> Outputs:
        """One plain launch on these very values, which the operator may write; raises as `launch`."""
        arguments = self._with(values)
        self._prepare(arguments, FILL_B)
        with isolated(self._seed):
            return _copied(self._named(self._timed(arguments), arguments))

    def launch(self, conditions: Conditions, *, locating: bool = False) -> Launch:
        """One launch on copies of the arguments; looked at after every step if `locating`.

        Raises:
            Unsupported: the operator says that the case is outside its domain.
            OperatorFault: it raised anything else.
            NotAnOutput: it returned something that is no output.
        """
        while conditions.watched and self.watching is not Watching.NOTHING:
            launch = self._borne(conditions, locating)
            if launch is not None:
                return launch
        try:
            return self._launch(conditions, Watching.NOTHING, locating)
        except OperatorFault as fault:
            if not (self.between_zones and _resizes(fault)):
                raise
            self.between_zones = False
            self._note(fault, "while its arguments lay between zones")
            return self._launch(conditions, Watching.NOTHING, locating)

    def _borne(self, conditions: Conditions, locating: bool) -> Launch | None:
        """A watched launch; None where it raises: it takes a plain launch to blame the operator for that."""
        try:
            return self._launch(conditions, self.watching, locating)
        except OperatorFault as fault:
            self.watching = Watching(self.watching - 1)
            self._note(fault, "while its own memory was watched")
            return None

    def _launch(self, conditions: Conditions, watching: Watching, locating: bool) -> Launch:
        laid = self.grounds.laid(conditions.zones) if self.between_zones else self.grounds.plain()
        arguments = self._with(laid.values)
        self._prepare(arguments, conditions.fresh)
        laid.remember()
        with contextlib.ExitStack() as around:
            around.enter_context(isolated(self._seed))
            memory, locator = self._watch(laid, conditions, watching, locating, around)
            returned = self._timed(arguments)
        outputs = self._named(returned, arguments)
        located = None if locator is None else locator.found
        writes = laid.changes(self.grounds.places, located)
        writes += () if memory is None else memory.changes(outputs, located)
        shared = () if self._operator.contract.may_alias else shared_memory(arguments.items(), outputs, self._written)
        return Launch(outputs=_copied(outputs), memory=writes, aliases=shared, layout_changes=laid.layout_changes())

    def _watch(
        self, laid: Laid, conditions: Conditions, watching: Watching, locating: bool, around: contextlib.ExitStack
    ) -> tuple[FreshMemory | None, Locator | None]:
        """Enter what watches a launch."""
        memory: FreshMemory | None = None

        def damaged() -> set[Any]:
            return laid.damaged() | (set() if memory is None else memory.damaged())

        locator = Locator(damaged) if locating else None
        if watching is not Watching.NOTHING:
            guarded = watching is Watching.GUARDED
            fills = FreshFills(byte=conditions.fresh, zones=conditions.scratch if guarded else None, inside=guarded)
            memory = FreshMemory(fills, self.grounds.places, locator)
        if locator is not None:
            around.enter_context(locator.looking())
        if memory is not None:
            around.enter_context(memory)
        return memory, locator

    def _prepare(self, arguments: Arguments, byte: int) -> None:
        if self._out is not None and isinstance(arguments[self._out], torch.Tensor):
            fill_bytes(arguments[self._out], byte)
        for device, sizes in self._output_sizes.items():
            soil_heap(sizes, byte, device)

    def _named(self, returned: Any, arguments: Arguments) -> Outputs:
        try:
            outputs = named_outputs(returned, self._operator.contract, arguments)
        except ReferenceFaultError as error:
            raise NotAnOutput(error.message) from error
        self._output_sizes = _sizes(outputs)
        return outputs

    def _with(self, values: tuple[Any, ...]) -> Arguments:
        return Arguments(names=self._pristine.names, values=values, by_keyword=self._pristine.by_keyword)

    def _note(self, fault: OperatorFault, when: str) -> None:
        error = fault.__cause__ or fault
        self.note = f"the operator raised `{type(error).__name__}: {error}"[:200] + f"` {when}"

    def _timed(self, arguments: Arguments) -> Any:
        self.launches += 1
        start = time.perf_counter_ns()
        try:
            returned = arguments.call(self._operator.function)
            if torch.accelerator.is_available():
                torch.accelerator.synchronize()
            return returned
        except Unsupported:
            raise
        except BaseException as error:  # sys.exit and KeyboardInterrupt too: they end the case, not the worker
            raise OperatorFault from error
        finally:
            spent_ns = time.perf_counter_ns() - start
            self.duration_ns += spent_ns
            self._quickest_ns = spent_ns if self._quickest_ns is None else min(self._quickest_ns, spent_ns)


def differing_bits(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """bool, shaped like `one`: elements whose bits differ. The two have one shape and one dtype."""
    if one.numel() == 0:
        return torch.zeros(one.shape, dtype=torch.bool, device=one.device)
    return (element_bytes(one) != element_bytes(other)).any(dim=1).reshape(one.shape)


def element_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """uint8[elements, bytes]: copied first, because a single element may carry any stride, which `view` refuses."""
    packed = torch.empty(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    return packed.copy_(tensor.flatten()).view(torch.uint8).reshape(tensor.numel(), -1)


def _copied(outputs: Outputs) -> Outputs:
    return {name: output.clone() for name, output in outputs.items()}


def _sizes(outputs: Outputs) -> dict[torch.device, tuple[int, ...]]:
    """Bytes of the outputs on each device, equal sizes once."""
    sizes = {(output.device, output.numel() * output.element_size()) for output in outputs.values()}
    return {device: tuple(size for where, size in sizes if where == device) for device, _ in sizes}


def _resizes(fault: OperatorFault) -> bool:
    """The operator wanted an argument that can be resized, as those between zones cannot."""
    text = str(fault.__cause__)
    return "not resizable" in text or "does not own its data" in text
