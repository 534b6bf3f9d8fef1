"""From which size of its argument on is a function set to its limits, or its argument clipped?

Decides the limit from all failing cases together, since one case may hold a single value beyond it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.variants import Call, contradicts, explain, read_call
from opsdebug_ci.numerics.variants.activations import CLIPPED, ENDS
from opsdebug_ci.worker.probes.scene import Scene

RULE = "fitted_limit"

SURE = 0.93
"""Confidence where the limit fits every failing case that it is told of."""

MOST_CALLS = 50
"""Calls of a reference that are looked at."""

SIDES = ("beyond", "above", "below")
"""In words: on both sides, for arguments above the limit, for those below its negative."""

HALVINGS = 50
"""Steps of the search for a clip: as many bits as a float64 has, nearly."""


def limit_hypotheses(scene: Scene, failure: Failure, only: str = "") -> Iterator[FittedLimit]:
    """Functions set to their ends, or taken of a clipped argument, from the smallest argument on that is wrong.

    Told apart from another formula by the right elements, none of which lies beyond the limit. For calls whose argument
    has the output's shape.
    """
    noted = _Noted()
    if scene.reference(scene.arguments, noted) is None:
        return
    if bool((failure.expected.double().abs()[failure.bad] < failure.compute.min_normal).all()):
        return  # flushed, rather than cut off
    for (_, place), call in noted.calls.items():
        for clips, side in itertools.product((False, True), SIDES):
            if call.name in (CLIPPED if clips else ENDS):
                found = FittedLimit(call=place, operation=call.name, clips=clips, side=side, limit=math.inf)
                if only not in ("", found.key):
                    continue
                found = found.fitted([(scene, [failure])])
                if math.isfinite(found.limit):
                    yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLimit:
    """A function is at its limits from some size of its argument on."""

    operation: str
    """Name of the call."""

    call: int
    """Which call of that name, counted from 0."""

    clips: bool
    """Its argument is clipped, rather than its result set to the ends."""

    side: str
    """On which side of 0, see SIDES."""

    limit: float
    """From which size on."""

    most_tests: None = None
    counts_bits: bool = True

    @property
    def key(self) -> str:
        return f"{self.operation} {self.call}: {'clipped' if self.clips else 'at its limits'} {self.side}"

    @property
    def cause(self) -> Cause:
        return Cause.APPROXIMATION

    def fitted(self, cases: Sequence[tuple[Scene, Sequence[Failure]]]) -> FittedLimit:
        """The same with the smallest limit that wrong elements of these cases show."""
        limits = [self._limit_in(scene, failure) for scene, failing in cases for failure in failing]
        return replace(self, limit=min([self.limit, *limits]))

    def clues(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        altered = scene.reference(scene.arguments, _Limited(self))
        for failure in failing:
            explanation = None if altered is None else explain(failure, altered[scene.position(failure.output)])
            if explanation is not None and explanation.complete:
                evidence = {"limit": self.limit, "bits": explanation.bits, "reproduced_bad": explanation.bad}
                yield failure.clue(RULE, self.cause, SURE, f"{self._words()}: reproduces every bad element", evidence)

    def clues_at_length(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        del scene, failing
        yield from ()

    def shows(self, scene: Scene, outputs: Sequence[Failure]) -> bool:
        altered = scene.reference(scene.arguments, _Limited(self))
        return altered is not None and any(map(contradicts, outputs, altered))

    def altered(self, call: Call) -> Any:
        """The call's result with this limit."""
        x = call.values["self"]
        if self.clips:
            low = None if self.side == "above" else -self.limit
            return call.again(self=x.clamp(low, None if self.side == "below" else self.limit))
        left, right = ENDS[self.operation]
        ends = torch.where(x > 0, right(x), left(x))
        return torch.where((x.abs() >= self.limit) & self._on_side(x), ends, call.result)

    def _on_side(self, x: torch.Tensor) -> torch.Tensor:
        return (x < 0 if self.side == "below" else x > 0) if self.side != "beyond" else torch.ones_like(x).bool()

    def _words(self) -> str:
        limit = f"{'-' if self.side == 'below' else ''}{self.limit:.4g}"
        if self.clips:
            both = "+-" if self.side == "beyond" else "at most " if self.side == "above" else "at least "
            return f"the argument of `{self.operation}` is clipped to {both}{limit}"
        left, right = (float(end(torch.zeros(1))) for end in ENDS[self.operation])
        early = math.inf in (abs(left), abs(right)) and (0.0 if self.side == "below" else right) in (0.0, math.inf)
        why = ", before the range of the format ends" if early else ""
        return f"`{self.operation}` is set to its limits {self.side} about {limit}{why}"

    def _limit_in(self, scene: Scene, failure: Failure) -> float:
        """Infinite where the case shows none."""
        noted = _Noted()
        scene.reference(scene.arguments, noted)
        call = noted.calls.get((self.operation, self.call))
        x = None if call is None else call.tensor("self")
        if call is None or x is None or x.shape != failure.bad.shape:
            return math.inf
        wrong = failure.bad & torch.isfinite(x) & self._on_side(x)
        if not bool(wrong.any()):
            return math.inf
        least = float(x[wrong].abs().min())
        return self._clip(call, x, failure, wrong) if self.clips else least

    def _clip(self, call: Call, x: torch.Tensor, failure: Failure, wrong: torch.Tensor) -> float:
        """Where the function takes the value that the farthest wrong element has, if the call made the output."""
        if call.result.shape != failure.expected.shape or not torch.equal(
            call.result.double(), failure.expected.double()
        ):
            return math.inf
        farthest = int(torch.where(wrong, x.abs(), -1.0).argmax())
        point, got = x.reshape(-1)[farthest], float(failure.actual.reshape(-1)[farthest])
        low, high = 0.0, abs(float(point))
        at = [float(call.again(self=(point.sign() * value).reshape(1))) for value in (low, high)]
        if not min(at) < got < max(at):
            return math.inf
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            beyond = float(call.again(self=(point.sign() * middle).reshape(1))) > got
            low, high = (low, middle) if beyond == (at[1] > at[0]) else (middle, high)
        return high


class _Noted:
    """Observer that keeps the calls of functions that have ends or clipped arguments."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, int], Call] = {}
        """By name, and which of that name."""
        self._names: Counter[str] = Counter()

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        call = read_call(func, args, kwargs, result, {})
        if call.name in ENDS.keys() | CLIPPED and len(self.calls) < MOST_CALLS:
            self.calls[call.name, self._names[call.name]] = call
        self._names[call.name] += 1
        return result


class _Limited:
    """Observer that puts a limit to one call."""

    def __init__(self, limit: FittedLimit) -> None:
        self._limit = limit
        self._count = -1

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        call = read_call(func, args, kwargs, result, {})
        self._count += call.name == self._limit.operation
        if call.name != self._limit.operation or self._count != self._limit.call:
            return result
        made = self._limit.altered(call)
        return result.copy_(made) if func._schema.is_mutable and isinstance(result, torch.Tensor) else made
