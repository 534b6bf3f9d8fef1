"""NaN, infinities and enormous values, as they arise in one run: which step lets them appear, pass or vanish.

Decides what becomes of unhealthy values from the arguments of a step, judged before it, to its result, and which values
came from no step at all. Deliberately blames nobody: an infinity may be the right answer, which only a reference can
tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from opsdebug_ci.model.checkpoint import listening
from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.trace.counts import HEALTHY, Counts, Limits, count, has_health
from opsdebug_ci.trace.nodes import Node, leaves, node_of, tensors_read, tensors_written
from opsdebug_ci.trace.place import place_here
from opsdebug_ci.trace.storages import Known, Storages


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What a call was given."""

    read: list[Counts]
    """Of its arguments."""

    appeared: int
    """How often unhealthy values had appeared before it."""

    stale: bool
    """What is unhealthy in them is only what memory held that it writes."""


class HealthWatch:
    """Looks at all of every checkpoint, call and launch of a run; nothing is kept but counts."""

    def __init__(self, limits: Limits, limit: int | None = None) -> None:
        """Look at no more than `limit` steps, the outputs aside."""
        self.events: list[HealthEvent] = []
        self.looked_at = 0
        self._limits = limits
        self._limit = limit
        self._looking = False
        self._storages = Storages()
        self._given: list[Counts] = []
        self._heard: dict[str, int] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the checkpoints of this block."""
        with listening(self._hear):
            yield

    def given(self, arguments: Mapping[str, Any]) -> None:
        """The arguments of the operator: what is unhealthy in them is no step's doing."""
        for value in leaves(arguments.values()):
            if has_health(value):
                counts = count(value, self._limits)
                self._given.append(counts)
                self._storages.note_result(value, sick=counts.any)

    def before(self, name: str, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Before | None:
        """Judge what a call reads."""
        if node.views or node.allocates or self._looking or self._done:
            return None
        written = {id(value) for value in tensors_written(node, args, kwargs)}
        given = tensors_read(node, args, kwargs)
        read = [self._argument(name, value, is_written=id(value) in written) for value in given]
        sick = [value for value, counts in zip(given, read, strict=True) if counts.any]
        stale = [id(value) in written and self._storages.of(value) is Known.FRESH for value in sick]
        return _Before(read=read, appeared=self._appeared, stale=bool(stale) and all(stale))

    def after(self, name: str, node: Node, remembered: _Before | None, made: list[Any]) -> None:
        """Judge what a call made."""
        results = [value for value in leaves(made) if has_health(value)]
        if node.allocates and not self._looking:
            for value in results:
                self._storages.note(value, Known.FRESH)
        elif remembered is not None and results:
            inner = node.custom and self._appeared > remembered.appeared  # a step inside it is to blame
            before = [replace(HEALTHY, nan=1, infinite=1)] if inner else remembered.read
            self._judge(name, StepSource.CALL, results, before, stale=remembered.stale)

    def launching(self, tensors: list[torch.Tensor]) -> list[tuple[torch.Tensor, Counts]]:
        """Judge what a kernel may read: what was written by somebody."""
        if self._done:
            return []
        floats = [value for value in map(self._storages.as_written, tensors) if has_health(value)]
        return [(value, count(value, self._limits)) for value in floats]

    def launched(self, name: str, remembered: list[tuple[torch.Tensor, Counts]], tensors: list[torch.Tensor]) -> None:
        """Judge what it left in those that it seems to have written."""
        del tensors
        fresh = [self._storages.of(value) is Known.FRESH for value, _ in remembered]
        before = [counts for (_, counts), is_fresh in zip(remembered, fresh, strict=True) if not is_fresh]
        written = [
            value
            for (value, counts), is_fresh in zip(remembered, fresh, strict=True)
            if is_fresh or _differ(counts, count(value, self._limits))
        ]
        if remembered:
            self._judge(name, StepSource.LAUNCH, written, before)

    def returned(self, outputs: Mapping[str, torch.Tensor]) -> None:
        """Judge the outputs of the run: unhealthy values that no step and no argument had appear here."""
        for name, value in outputs.items():
            if has_health(value):
                counts = count(value, self._limits)
                if counts.any and not any(event.flow is not Flow.DISAPPEAR for event in self.events):
                    self._note(name, StepSource.OUTPUT, value, counts, self._given)

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """See one call of a lifted run, with its arguments as they were before; changes nothing."""
        node = node_of(func)
        if not (self._looking or self._done or node.views or node.allocates):
            read = [self._counts(value) for value in tensors_read(node, args, kwargs)]
            self._judge(node.name, StepSource.CALL, [v for v in leaves([result]) if has_health(v)], read)
        return result

    def _hear(self, name: str, value: object) -> None:
        if has_health(value) and not self._looking and not self._done:
            self._heard[name] = heard = self._heard.get(name, 0) + 1
            named = name if heard == 1 else f"{name} #{heard}"
            self._judge(named, StepSource.CHECKPOINT, [value], [self._argument(named, value, is_written=False)])

    @property
    def _done(self) -> bool:
        return self._limit is not None and self.looked_at >= self._limit

    @property
    def _appeared(self) -> int:
        return sum(event.flow is Flow.APPEAR for event in self.events)

    def _argument(self, reader: str, value: Any, *, is_written: bool) -> Counts:
        """An argument before its call; an event of its own where no step put what is unhealthy in it."""
        counts = self._counts(value)
        if (counts.nan or counts.infinite) and not is_written and isinstance(value, torch.Tensor):
            known = self._storages.of(value)
            if known in (Known.FRESH, Known.HEALTHY):
                self._note(f"{known.value}, read by {reader}", StepSource.CALL, value, counts, [])
                self._storages.note(value, Known.SICK)
        return counts

    def _judge(
        self, name: str, source: StepSource, results: Sequence[Any], before: list[Counts], *, stale: bool = False
    ) -> None:
        for result in results:
            counts = self._counts(result)
            appears = self._note(name, source, result, counts, before)
            if not counts.any or appears or not stale:
                self._storages.note_result(result, sick=counts.any)
        self.looked_at += bool(results)

    def _note(
        self, name: str, source: StepSource, result: torch.Tensor, counts: Counts, before: Sequence[Counts]
    ) -> bool:
        """Keep an event where there is one; True when something appears."""
        if not counts.any and not any(given.any for given in before):
            return False
        flow = Flow.DISAPPEAR if not counts.any else Flow.APPEAR if _is_new(counts, before) else Flow.PROPAGATE
        self.events.append(
            HealthEvent(
                position=self.looked_at,
                name=name,
                source=source,
                flow=flow,
                shape=tuple(result.shape),
                dtype=str(result.dtype).removeprefix("torch."),
                nan=counts.nan,
                infinite=counts.infinite,
                over_limit=counts.over_limit,
                first_index=counts.first,
                legal=False,
                place=place_here(),
            )
        )
        return flow is Flow.APPEAR

    def _counts(self, value: Any) -> Counts:
        """Of a tensor, or of a number that is an argument: -inf is a legal mask where it is handed in."""
        if isinstance(value, float):
            return replace(HEALTHY, nan=int(math.isnan(value)), infinite=int(math.isinf(value)))
        if not has_health(value):
            return HEALTHY
        looking, self._looking = self._looking, True  # looking makes calls of its own
        try:
            return count(value, self._limits)
        finally:
            self._looking = looking


def _differ(one: Counts, other: Counts) -> bool:
    return (one.nan, one.infinite, one.over_limit, one.first) != (
        other.nan,
        other.infinite,
        other.over_limit,
        other.first,
    )


def _is_new(counts: Counts, before: Sequence[Counts]) -> bool:
    """Something of a kind that no argument has; or, where arguments have NaN, NaN at an element where none has one.

    The latter tells inf - inf and 0 * inf from NaN handed on; it can be told only of arguments shaped like the result.
    """
    if counts.nan and not any(given.nan for given in before):
        return True
    if counts.sick_nan is not None:
        known = [given.sick_nan for given in before if given.sick_nan is not None]
        alike = bool(known) and all(mask.shape == counts.sick_nan.shape for mask in known)
        if alike and bool((counts.sick_nan & ~torch.stack(known).any(0)).any()):
            return True
    spread = any(given.nan or given.infinite for given in before)
    return bool(counts.infinite and not spread) or bool(
        counts.over_limit and not counts.infinite and not any(given.any for given in before)
    )
