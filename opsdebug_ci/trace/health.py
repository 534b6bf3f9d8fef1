"""NaN, infinities and enormous values, as they arise in one run: which step lets them appear, pass or vanish.

Decides what is unhealthy and what becomes of it from the arguments of a call to its result. Deliberately blames nobody:
an infinity may be the right answer, which only a reference can tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from opsdebug_ci.model.checkpoint import listening
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.numerics.classes import unravel
from opsdebug_ci.numerics.formats import dtype_name

ALLOCATIONS = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
"""Calls whose results hold whatever the memory held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Magnitude that counts as unhealthy."""

    magnitude: float
    """For any dtype."""

    by_dtype: Mapping[str, float] = field(default_factory=dict)
    """For some."""

    overflow: float = math.inf
    """Finite magnitudes above this count as infinities: what a run in a wider format would be in a narrower one."""

    def of(self, dtype: str) -> float:
        """That of one dtype."""
        return self.by_dtype.get(dtype, self.magnitude)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Unhealthy elements of one tensor."""

    nan: int = 0
    """NaN."""

    infinite: int = 0
    """Infinities."""

    over_limit: int = 0
    """Finite ones above the limit."""

    first: tuple[int, ...] | None = None
    """First of any kind."""

    sick_nan: torch.Tensor | None = None
    """bool: where the NaN are; None: nowhere."""

    @property
    def any(self) -> bool:
        """There is something unhealthy."""
        return bool(self.nan or self.infinite or self.over_limit)


class HealthWatch:
    """Looks at every checkpoint and ATen call of a run; nothing is kept but counts."""

    def __init__(self, limits: Limits, limit: int | None = None) -> None:
        """Look at no more than `limit` steps."""
        self.events: list[HealthEvent] = []
        self.looked_at = 0
        self._limits = limits
        self._limit = limit
        self._looking = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the checkpoints of this block."""
        with listening(self._hear):
            yield

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """See one ATen call; changes nothing."""
        name = func.overloadpacket.__name__
        if not self._looking and name not in ALLOCATIONS:
            self._look(name, StepSource.CALL, tree_leaves((args, kwargs)), tree_leaves(result))
        return result

    def _hear(self, name: str, value: object) -> None:
        if not self._looking:
            self._look(name, StepSource.CHECKPOINT, [value], [value])

    def _look(self, name: str, source: StepSource, given: list[Any], made: list[Any]) -> None:
        results = [value for value in made if _is_float(value)]
        if not results or (self._limit is not None and self.looked_at >= self._limit):
            return
        self._looking = True  # looking makes ATen calls of its own
        try:
            before = [self._counts(value) for value in given if _is_float(value)]
            for result in results:
                self._note(name, source, result, self._counts(result), before)
        finally:
            self._looking = False
        self.looked_at += 1

    def _note(
        self, name: str, source: StepSource, result: torch.Tensor, counts: _Counts, before: list[_Counts]
    ) -> None:
        if not counts.any and not any(given.any for given in before):
            return
        flow = Flow.DISAPPEAR if not counts.any else Flow.APPEAR if _is_new(counts, before) else Flow.PROPAGATE
        self.events.append(
            HealthEvent(
                position=self.looked_at,
                name=name,
                source=source,
                flow=flow,
                shape=tuple(result.shape),
                dtype=dtype_name(result.dtype),
                nan=counts.nan,
                infinite=counts.infinite,
                over_limit=counts.over_limit,
                first_index=counts.first,
                legal=False,
            )
        )

    def _counts(self, values: torch.Tensor) -> _Counts:
        """One look at the extremes settles a healthy tensor; only an unhealthy one is counted."""
        if values.numel() == 0:
            return _Counts()
        wide = values.detach() if values.dtype.itemsize > 1 else values.detach().float()
        limit = min(self._limits.of(dtype_name(values.dtype)), self._limits.overflow)
        low, high = (bound.item() for bound in torch.aminmax(wide))
        if -limit <= low and high <= limit:  # NaN fails both
            return _Counts()
        size = wide.double().abs()
        nan, infinite = torch.isnan(wide), torch.isinf(wide) | (size > self._limits.overflow)
        over = ~infinite & (size > limit)
        sick = (nan | infinite | over).flatten()
        first = unravel(int(sick.to(torch.uint8).argmax()), tuple(values.shape)) if bool(sick.any()) else None
        return _Counts(
            nan=int(nan.sum()),
            infinite=int(infinite.sum()),
            over_limit=int(over.sum()),
            first=first,
            sick_nan=nan if bool(nan.any()) else None,
        )


def _is_new(counts: _Counts, before: list[_Counts]) -> bool:
    """Something of a kind that no argument has; or, where arguments have NaN, NaN at an element where none has one.

    The latter tells inf - inf and 0 * inf from NaN handed on; it can be told only of arguments shaped like the result.
    """
    if counts.nan and not any(given.nan for given in before):
        return True
    if counts.sick_nan is not None:
        known = [given.sick_nan for given in before if given.sick_nan is not None]
        alike = all(mask.shape == counts.sick_nan.shape for mask in known)
        if alike and bool((counts.sick_nan & ~torch.stack(known).any(0)).any()):
            return True
    spread = any(given.nan or given.infinite for given in before)
    return bool(counts.infinite and not spread) or bool(
        counts.over_limit and not counts.infinite and not any(given.any for given in before)
    )


def _is_float(value: object) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and not value.is_meta
        and str(value.dtype).removeprefix("torch.") in FLOAT_FORMATS
    )
