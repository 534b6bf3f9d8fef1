"""Launching the operator: fresh copies of its arguments every time, known fills, bytes compared.

Decides which launches are needed:

(1) plain, output buffers filled with A: its outputs are what is compared with the references.
(2) fresh memory and output buffers filled with B: same bits as (1), and nothing more is launched. An operator that
    cannot run while its allocations are watched (it raises there, and not here) goes on with output buffers alone.
(3) the same again: other bits than (2) mean the operator is not deterministic.
(4) the same with fill A, twice: bits that differ from (2) but not between the two mean that outputs follow memory
    nobody wrote; bits that differ between the two, that the operator is not deterministic.
(5) plain as (1): other bits than (1) mean that the operator does its work once, or recycles memory when nobody watches.
    Equal bits mean that it merely takes another path when watched, which is no defect.
Further plain launches when repeats are asked for. `properties` makes more of them.

Before every launch but the first, freed memory of the outputs' sizes is filled as well.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.errors import ReferenceFaultError, Unsupported
from opsdebug_ci.guard import FILL_A, FILL_B, Snapshot, clone_values, fill_bytes, fresh_memory, soil_heap
from opsdebug_ci.model.memory import MemoryReading
from opsdebug_ci.operators import Arguments, Operator, named_outputs, written_names
from opsdebug_ci.worker.isolation import isolated

Outputs = dict[str, torch.Tensor]
"""Outputs of one launch by name; copies that no later launch can touch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchReading:
    """What the launches of one case showed. Holds live tensors, so it never leaves the worker."""

    outputs: Outputs
    """Of the first launch."""

    memory: tuple[MemoryReading, ...]
    """Undeclared writes of the first launch."""

    repeat_mismatches: int
    """Output elements whose bits differ between two launches under the same conditions."""

    unwritten: int
    """Output elements that follow the fill of fresh memory."""

    duration_ns: int
    """Time inside the operator, all launches."""

    quickest_ns: int
    """Time of the quickest launch: what one more costs."""


class OperatorFault(Exception):  # noqa: N818 - not an error of ours: it carries the operator's own
    """The operator raised; `__cause__` is what."""


class NotAnOutput(Exception):  # noqa: N818 - a fact about the operator, not an error of ours
    """The operator returned something that is no output; the message says what."""


class Launcher:
    """Launches one operator on copies of one set of arguments."""

    def __init__(self, operator: Operator, arguments: Arguments, seed: int) -> None:
        self._operator = operator
        self._seed = seed
        self._watchable = True
        self._pristine = arguments
        self._written = frozenset(written_names(operator.contract, arguments))
        out = operator.contract.out
        self._out = None if out is None else arguments.name_of(out)
        self._memory: tuple[MemoryReading, ...] = ()
        self._output_sizes: dict[torch.device, tuple[int, ...]] = {}
        self.duration_ns = 0
        """Time inside the operator so far."""
        self._quickest_ns: int | None = None

    def observe(self, repeats: int) -> LaunchReading:
        """Run the launches of the module's plan.

        Raises:
            Unsupported: the operator says that the case is outside its domain.
            OperatorFault: it raised anything else.
            NotAnOutput: it returned something that is no output.
        """
        first = self._launch(FILL_A, watched=False)
        memory = self._memory
        second = self._watched_launch(FILL_B)
        mismatches, unwritten = 0, 0
        if _differing(first, second):
            mismatches = _differing(second, self._watched_launch(FILL_B))
            if not mismatches:
                third = self._watched_launch(FILL_A)
                unwritten = _differing(second, third)
                mismatches = _differing(third, self._watched_launch(FILL_A)) if unwritten else 0
                unwritten = 0 if mismatches else unwritten
            if not mismatches and not unwritten:
                mismatches = _differing(first, self._launch(FILL_B, watched=False))
        for _ in range(repeats - 1):
            if mismatches:
                break
            mismatches = _differing(first, self._launch(FILL_A, watched=False))
        return LaunchReading(
            outputs=first,
            memory=memory,
            repeat_mismatches=mismatches,
            unwritten=unwritten,
            duration_ns=self.duration_ns,
            quickest_ns=self._quickest_ns or 0,
        )

    def once(self, *, watched: bool = False) -> Outputs:
        """One launch on copies of the arguments, fresh memory filled if `watched`; raises as `observe` does."""
        return self._watched_launch(FILL_A) if watched else self._launch(FILL_A, watched=False)

    def on(self, values: tuple[Any, ...]) -> Outputs:
        """One plain launch on these very values, which the operator may write; raises as `observe` does."""
        return self._launch_on(self._with(values), FILL_B, watched=False)

    def _watched_launch(self, byte: int) -> Outputs:
        if self._watchable:
            try:
                return self._launch(byte, watched=True)
            except OperatorFault:  # the watching may be at fault, so it takes a plain launch to blame the operator
                self._watchable = False
        return self._launch(byte, watched=False)

    def _launch(self, byte: int, *, watched: bool) -> Outputs:
        return self._launch_on(self._with(clone_values(self._pristine.values)), byte, watched=watched)

    def _with(self, values: tuple[Any, ...]) -> Arguments:
        return Arguments(names=self._pristine.names, values=values, by_keyword=self._pristine.by_keyword)

    def _launch_on(self, arguments: Arguments, byte: int, *, watched: bool) -> Outputs:
        if self._out is not None and isinstance(arguments[self._out], torch.Tensor):
            fill_bytes(arguments[self._out], byte)
        snapshot = Snapshot(arguments.names, arguments.values, self._written)
        for device, sizes in self._output_sizes.items():
            soil_heap(sizes, byte, device)
        with isolated(self._seed), fresh_memory(byte) if watched else contextlib.nullcontext():
            returned = self._timed(lambda: arguments.call(self._operator.function))
        self._memory = snapshot.changes()
        try:
            outputs = named_outputs(returned, self._operator.contract, arguments)
        except ReferenceFaultError as error:
            raise NotAnOutput(error.message) from error
        self._output_sizes = _sizes(outputs)
        return {name: output.clone() for name, output in outputs.items()}

    def _timed(self, call: Callable[[], Any]) -> Any:
        start = time.perf_counter_ns()
        try:
            returned = call()
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
    return (_element_bytes(one) != _element_bytes(other)).any(dim=1).reshape(one.shape)


def _sizes(outputs: Outputs) -> dict[torch.device, tuple[int, ...]]:
    """Bytes of the outputs on each device, equal sizes once."""
    sizes = {(output.device, output.numel() * output.element_size()) for output in outputs.values()}
    return {device: tuple(size for where, size in sizes if where == device) for device, _ in sizes}


def _differing(one: Outputs, other: Outputs) -> int:
    """Elements whose bits differ; all of them where names, shapes or dtypes do."""
    if list(one) != list(other):
        return sum(output.numel() for output in one.values())
    return sum(_differing_elements(one[name], other[name]) for name in one)


def _differing_elements(one: torch.Tensor, other: torch.Tensor) -> int:
    if one.shape != other.shape or one.dtype != other.dtype:
        return max(one.numel(), other.numel())
    return int(differing_bits(one, other).sum())


def _element_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """uint8[elements, bytes]: copied first, because a single element may carry any stride, which `view` refuses."""
    packed = torch.empty(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    return packed.copy_(tensor.flatten()).view(torch.uint8).reshape(tensor.numel(), -1)
