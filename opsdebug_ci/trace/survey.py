"""A quick look at every node of a run: is there anything unhealthy at all?

Decides how much of each result is looked at: all of it up to FULL_ELEMENTS on the CPU, a sample beyond; on other
devices all of it, by flags that stay on the device until the end, since asking for one would wait for it. Deliberately
tells no flow: whatever is flagged is looked at again, in full, by `HealthWatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, final

import torch

from opsdebug_ci.model.checkpoint import listening
from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.trace.counts import COMPLEX, GREATEST_FINITE, REAL, Limits, count, extremes, has_health, is_sick
from opsdebug_ci.trace.nodes import Node, leaves
from opsdebug_ci.trace.place import place_here
from opsdebug_ci.trace.sampling import FULL_ELEMENTS, sample, seed_of

FLAGS = 4096
"""Flags one vector on a device holds; another one follows."""

_LOOKED_AT = REAL | COMPLEX | GREATEST_FINITE.keys()


def is_remote(values: torch.Tensor) -> bool:
    """Whether reading one number of `values` waits for its device."""
    return values.device.type != "cpu"


@final
class Survey:
    """Looks at the results of every call and launch, at checkpoints and at the outputs of one run."""

    def __init__(
        self,
        limits: Limits,
        case_id: str,
        limit: int | None = None,
        remote: Callable[[torch.Tensor], bool] = is_remote,
    ) -> None:
        """Look at no more than `limit` steps; `case_id` seeds the samples, `remote` says whose flags have to wait."""
        self.looked_at = 0
        self.flagged: HealthEvent | None = None
        """The first step with anything unhealthy on the CPU, as far as it was looked at."""
        self._limits = limits
        self._bounds = {dtype: limits.bound(dtype) for dtype in _LOOKED_AT}
        self._case_id = case_id
        self._limit = limit
        self._remote = remote
        self._flags: list[torch.Tensor] = []
        self._waiting = 0
        self._looking = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the checkpoints of this block."""
        with listening(self._hear):
            yield

    def given(self, arguments: Mapping[str, Any]) -> None:
        """Look at the arguments: what is unhealthy in them may vanish."""
        for name, value in arguments.items():
            for leaf in leaves([value]):
                if has_health(leaf):
                    self._look_at(name, StepSource.CALL, leaf, whole=True)

    def before(self, name: str, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Nothing: arguments are results of other steps."""

    def after(self, name: str, node: Node, remembered: None, made: list[Any]) -> None:
        """Look at what a call made."""
        del remembered
        if not (node.views or node.allocates or self._looking):
            self._look(name, StepSource.CALL, made)

    def launching(self, tensors: list[torch.Tensor]) -> None:
        """Nothing, as before a call."""

    def launched(self, name: str, remembered: None, tensors: list[torch.Tensor]) -> None:
        """Look at what a kernel may have written."""
        del remembered
        self._look(name, StepSource.LAUNCH, tensors)

    def returned(self, outputs: Mapping[str, torch.Tensor]) -> None:
        """Look at all of the outputs."""
        for name, value in outputs.items():
            if has_health(value):
                self._look_at(name, StepSource.OUTPUT, value, whole=True)

    def anything(self) -> bool:
        """Whether anything was unhealthy; the one place that waits for a device."""
        return self.flagged is not None or any(bool(flags.any()) for flags in self._flags)

    def _hear(self, name: str, value: object) -> None:
        if not self._looking:
            self._look(name, StepSource.CHECKPOINT, [value])

    def _look(self, name: str, source: StepSource, values: Any) -> None:
        if self._limit is not None and self.looked_at >= self._limit:
            return
        self._looking = True  # looking makes calls of its own
        try:
            found = [value for value in leaves(values) if has_health(value)]
            for value in found:
                self._look_at(name, source, value, whole=False)
        finally:
            self._looking = False
        self.looked_at += bool(found)

    def _look_at(self, name: str, source: StepSource, value: torch.Tensor, *, whole: bool) -> None:
        elements, bound = value.numel(), self._bounds[value.dtype]
        if elements == 0 or self.flagged is not None:
            return
        if self._remote(value):
            self._flag(value, bound)
        elif whole or elements <= FULL_ELEMENTS:
            if is_sick(value, bound):
                self._keep(name, source, value, value, sampled=None)
        else:
            some = sample(value.detach(), seed_of(self._case_id, name))
            if is_sick(some, bound):
                self._keep(name, source, value, some, sampled=some.numel())

    def _flag(self, value: torch.Tensor, bound: float) -> None:
        place = self._waiting % FLAGS
        if place == 0:
            self._flags.append(torch.zeros(FLAGS, dtype=torch.bool, device=value.device))
        low, high = extremes(value)
        self._flags[-1][place] = ~((low >= -bound) & (high <= bound))
        self._waiting += 1

    def _keep(
        self, name: str, source: StepSource, value: torch.Tensor, some: torch.Tensor, *, sampled: int | None
    ) -> None:
        counts = count(some, self._limits)
        self.flagged = HealthEvent(
            position=self.looked_at,
            name=name,
            source=source,
            flow=Flow.APPEAR,
            shape=tuple(value.shape),
            dtype=str(value.dtype).removeprefix("torch."),
            nan=counts.nan,
            infinite=counts.infinite,
            over_limit=counts.over_limit,
            first_index=None if sampled else counts.first,
            legal=False,
            sampled=sampled,
            place=place_here(),
        )
