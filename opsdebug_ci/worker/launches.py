"""Launching the operator: fresh copies of its arguments every time, known bytes around them, bytes compared.

Decides what one launch is. Arguments lie between zones; a watched launch also fills and surrounds what the operator
asks for. An operator that cannot run that way (it resizes an argument, or raises while it is watched and not otherwise)
is launched with less: first its own memory is only filled, then nobody watches, and what is left out is told. Which
launches are made, and what they mean, is decided elsewhere (`differences`).

Before every launch but the first, freed memory of the outputs' sizes is filled as well.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any

import torch

from opsdebug_ci.errors import ReferenceFaultError, Unsupported
from opsdebug_ci.guard import (
    FILL_B,
    FreshFills,
    FreshMemory,
    Grounds,
    Laid,
    Locator,
    fill_bytes,
    shared_memory,
    soil_heap,
)
from opsdebug_ci.operators import Arguments, Operator, limit_met, named_outputs, written_leaves, written_names
from opsdebug_ci.trace.interception import launches_through
from opsdebug_ci.worker.isolation import generator_positions, isolated
from opsdebug_ci.worker.launch_reading import Conditions, Launch, Outputs


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

    def __init__(self, operator: Operator, arguments: Arguments, seed: int, *, careful: bool = False) -> None:
        self._operator = operator
        self._seed = seed
        self._pristine = arguments
        written = frozenset(written_names(operator.contract, arguments))
        self._written_leaves = frozenset(written_leaves(operator.contract, arguments))
        out = operator.contract.out
        self._out = None if out is None else arguments.name_of(out)
        self._output_sizes: dict[torch.device, tuple[int, ...]] = {}
        self._quickest_ns: int | None = None
        self.grounds = Grounds(arguments.names, arguments.values, written)
        """Where the arguments are laid out."""
        self.between_zones = True
        """The operator bears arguments that cannot be resized."""
        self.watching = Watching.GUARDED
        """What it bears besides."""
        self.careful = careful
        """It writes beside its own memory, so that no launch may go unwatched."""
        self.note: str | None = None
        """Why it bears less."""
        self.drew = False
        """Its first launch left a random generator elsewhere."""
        self.launches = 0
        """How many were made."""
        self.duration_ns = 0
        """Time inside the operator so far."""

    @property
    def quickest_ns(self) -> int:
        """Time of the quickest launch so far."""
        return self._quickest_ns or 0

    def once(self, *, watched: bool = False) -> Outputs:
        """Outputs of one launch on copies of the arguments, fresh memory filled if `watched`; raises as `launch`."""
        return self.launch(Conditions(watched=watched or self.careful)).outputs

    def on(self, values: tuple[Any, ...]) -> Outputs:
        """One plain launch on these very values, which the operator may write; raises as `launch`."""
        arguments = self._with(values)
        self._prepare(arguments, FILL_B)
        with isolated(self._seed):
            return _copied(self._named(self._timed(arguments), arguments))

    def launch(self, conditions: Conditions, *, locating: bool = False) -> Launch:
        """One launch on copies of the arguments; looked at after every step if `locating`.

        Raises:
            Unsupported: the operator says that the case is outside its domain, or it needs what this machine lacks.
            OperatorFault: it raised anything else.
            NotAnOutput: it returned something that is no output.
        """
        while conditions.watched and self.watching is not Watching.NOTHING:
            launch = self.watched(conditions, locating=locating)
            if isinstance(launch, Launch):
                return launch
            self.watch_less(launch)
        try:
            return self._launch(conditions, Watching.NOTHING, locating)
        except OperatorFault as fault:
            if not (self.between_zones and resizes(fault)):
                raise
            self.between_zones = False
            self._note(fault, "while its arguments lay between zones")
            return self._launch(conditions, Watching.NOTHING, locating)

    def watched(self, conditions: Conditions, *, locating: bool = False) -> Launch | OperatorFault:
        """A watched launch, or what it raised: it takes a plain launch to blame the operator for that."""
        try:
            return self._launch(conditions, self.watching, locating)
        except OperatorFault as fault:
            return fault

    def watch_less(self, fault: OperatorFault) -> None:
        """The operator does not bear what a watched launch does to its memory."""
        self.watching = Watching(self.watching - 1)
        self._note(fault, "while its own memory was watched")

    def _launch(self, conditions: Conditions, watching: Watching, locating: bool) -> Launch:
        laid = self.grounds.laid(conditions.zones) if self.between_zones else self.grounds.plain()
        arguments = self._with(laid.values)
        self._prepare(arguments, conditions.fresh)
        laid.remember()
        with contextlib.ExitStack() as around:
            around.enter_context(isolated(self._seed))
            untouched = generator_positions() if conditions.watched and not self.launches else None
            memory, locator = self._watch(laid, conditions, watching, locating, around)
            returned = self._timed(arguments)
            self.drew |= untouched is not None and generator_positions() != untouched
        outputs = self._named(returned, arguments)
        located = None if locator is None else locator.found
        writes = laid.changes(self.grounds.places, located)
        writes += () if memory is None else memory.changes(outputs, located)
        shared = (
            () if self._operator.contract.may_alias else shared_memory(arguments.items(), outputs, self._written_leaves)
        )
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
            around.enter_context(launches_through(partial(_as_step, locator)))
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
            limit = limit_met(error)
            if limit is not None:
                raise Unsupported(limit) from error
            raise OperatorFault from error
        finally:
            spent_ns = time.perf_counter_ns() - start
            self.duration_ns += spent_ns
            self._quickest_ns = spent_ns if self._quickest_ns is None else min(self._quickest_ns, spent_ns)


def _as_step(locator: Locator, kernel: str, arguments: list[Any], run: Callable[[], Any]) -> Any:
    """A launch of a kernel, told to whoever looks for the step that changes bytes."""
    del arguments
    with locator.launching(kernel):
        return run()


def _copied(outputs: Outputs) -> Outputs:
    return {name: output.clone() for name, output in outputs.items()}


def _sizes(outputs: Outputs) -> dict[torch.device, tuple[int, ...]]:
    """Bytes of the outputs on each device, equal sizes once."""
    sizes = {(output.device, output.numel() * output.element_size()) for output in outputs.values()}
    return {device: tuple(size for where, size in sizes if where == device) for device, _ in sizes}


def resizes(fault: OperatorFault) -> bool:
    """The operator wanted an argument that can be resized, as those between zones cannot."""
    text = str(fault.__cause__)
    return "not resizable" in text or "does not own its data" in text
