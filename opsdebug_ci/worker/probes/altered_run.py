"""A run of the torch reference in float64 with some of its steps, arguments or results altered.

Decides how an alteration is carried out, and whether outputs are right by it. Deliberately knows no hypotheses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import ReferenceKind
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import examine
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.lifting import NodeObserver, ObservedMode
from opsdebug_ci.numerics.spread import Change, Evaluations
from opsdebug_ci.numerics.variants import (
    UNREADABLE,
    Alternative,
    Call,
    alternative_of,
    argument_alternatives,
    read_call,
    result_alternatives,
)
from opsdebug_ci.numerics.variants.explanation import COMPLETE
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.probes.alteration import EVERYWHERE, RESULT, Alteration, together
from opsdebug_ci.worker.probes.scene import Scene

MOST_CALLS = 300
"""Calls of a reference that are considered; a loop over elements shows its body in the first of them."""

MOST_ALTERED = 3000
"""Calls up to which what is altered everywhere is."""

MOST_KEPT = 1 << 24
"""Elements of results that are remembered."""

SEEN = 0.003
"""Median share of an altered reference's own tolerance that errors take up which are its rounding. A tolerance is some
ten deviations of single roundings, and a good order of the same steps has a fifth of those."""

OTHER_ORDER = 16.0
"""Most by which errors may exceed the tolerance of a formula that rounds: one running sum of a few hundred terms."""

WIDER = 4.0
"""Least by which that tolerance must exceed the reference's own, at most bad elements."""


class Watcher:
    """Numbers the calls of a run and remembers which call made which tensor."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
        self._makers: dict[int, Call] = {}
        self._alive: list[Any] = []
        self._kept = 0
        self.count = 0
        self.place = -1
        """Which call of its name the last one was, counted from 0: one copy more, as of a view, moves no other."""
        self._names: Counter[str] = Counter()

    def read(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Call:
        call = read_call(func, args, kwargs, result, self._makers, self._arguments)
        if isinstance(result, torch.Tensor) and self._kept < MOST_KEPT and self.count < MOST_ALTERED:
            self._makers[id(result)] = call
            self._alive.append(result)
            self._kept += result.numel()
        self.count += 1
        self.place = self._names[call.name]
        self._names[call.name] += 1
        return call

    def hand_on(self, result: Any, made: Any) -> None:
        """`made` goes on in the place of `result`, as from the same call."""
        if made is not result and id(result) in self._makers:
            self._makers[id(made)] = self._makers[id(result)]
            self._alive.append(made)


class _Altered:
    """Observer that replaces results of calls: of one, or of every call an alternative of that name fits.

    Shows another observer every other step.
    """

    def __init__(self, alteration: Alteration, arguments: Arguments, inner: NodeObserver | None = None) -> None:
        self._parts = [part for part in alteration.parts if part.argument is None]
        self._inner = inner
        self._watcher = Watcher(arguments)
        self.chosen: dict[Alteration, Alternative] = {}
        """What first took the place of a result, by each part."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        call = self._watcher.read(func, args, kwargs, result)
        for part in self._parts if self._watcher.count <= MOST_ALTERED else ():
            if not self._is_meant(part, call):
                continue
            chosen = alternative_of(call, part.name, part.rule)
            if chosen is None:
                continue
            with ObservedMode(self._inner) if chosen.rounds and self._inner else nullcontext():
                made = chosen.result()
            self.chosen.setdefault(part, chosen)
            if func._schema.is_mutable and isinstance(result, torch.Tensor):
                return result.copy_(made)
            return made
        if self._inner is None:
            return result
        noisy = self._inner(func, args, kwargs, result)
        self._watcher.hand_on(result, noisy)
        return noisy

    def _is_meant(self, part: Alteration, call: Call) -> bool:
        return part.call == EVERYWHERE or (part.operation == call.name and part.call == self._watcher.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Other:
    """The reference with an alteration, to be run."""

    scene: Scene
    alteration: Alteration
    arguments: Arguments
    """With those replaced that it alters."""

    chosen: dict[Alteration, Alternative]
    """What took the place of what; complete after a run."""

    def run(self, change: Change | None = None, observer: NodeObserver | None = None) -> list[torch.Tensor] | None:
        """Its outputs; None where it has none, or something could not be altered."""
        altered = _Altered(self.alteration, self.arguments, observer)
        watched = any(part.argument is None for part in self.alteration.parts)
        outputs = self.scene.reference(self.arguments, altered if watched else observer, change)
        if outputs is None:
            return None
        self.chosen.update(altered.chosen)
        for part in self.alteration.parts:
            if part.argument == RESULT:
                outputs = [self._returned(part, output) for output in outputs]
        return outputs if len(self.chosen) == len(self.alteration.parts) else None

    def _returned(self, part: Alteration, output: torch.Tensor) -> torch.Tensor:
        chosen = next((item for item in result_alternatives(output) if item.name == part.name), None)
        if chosen is None:
            return output
        self.chosen[part] = chosen
        made: torch.Tensor = chosen.result()
        return made


def _other(scene: Scene, alteration: Alteration) -> _Other | None:
    """None where an argument cannot be altered so."""
    values = dict(scene.arguments.items())
    chosen, made = {}, {}
    for part in alteration.parts:
        if part.argument in (None, RESULT):
            continue
        assert part.argument is not None  # noqa: S101 - for mypy
        listed = argument_alternatives(part.argument, values)
        found = next((item for item in listed if item.name == part.name), None)
        if found is None:
            return None
        try:
            chosen[part], made[part.argument] = found, found.result()
        except UNREADABLE:
            return None
    arguments = scene.arguments.map(made.get) if made else scene.arguments
    return _Other(scene=scene, alteration=alteration, arguments=arguments, chosen=chosen)


def accepts(scene: Scene, failures: Sequence[Failure], alteration: Alteration, *, rounding: bool = False) -> bool:
    """Whether what was wrong with these outputs is right by the altered reference: within its own tolerance, and where
    it specifies anything. Where its `rounding` is what is supposed, also whether that tolerance is about as large."""
    other = _other(scene, alteration)
    if other is None:
        return False

    def run(change: Change | None, observer: NodeObserver | None) -> list[torch.Tensor]:
        outputs = other.run(change, observer)
        if outputs is None:
            raise ValueError("the altered reference has no answer")
        return outputs

    evaluations: Evaluations | None = None
    for failure in failures:
        place, compared = scene.position(failure.output), failure.compared
        if compared is None:
            return False
        evaluations = evaluations or Evaluations(run, compared.arithmetic)
        if place >= len(evaluations.centre) or evaluations.centre[place].shape != failure.actual.shape:
            return False
        beside = ComparedOutput(
            name=compared.name,
            kind=compared.kind,
            actual=compared.actual,
            references={ReferenceKind.PRECISE: evaluations.centre[place]},
            derived_precise=False,
            spread=None,
            arithmetic=compared.arithmetic,
            contract=compared.contract,
            index_source=compared.index_source,
            index_axis=compared.index_axis,
            arguments=compared.arguments,
            dims=compared.dims,
            evaluate=partial(_itself, evaluations),
            position=place,
        )
        left = examine(beside, passing=True)[1]
        if left is None or (rounding and not _of_that_size(failure, left)):
            return False
        if not rounding and float((left.bad & failure.bad).sum()) > (1.0 - COMPLETE) * float(failure.bad.sum()):
            return False
    return True


def _of_that_size(failure: Failure, left: Failure) -> bool:
    """Whether the errors are as large as the altered reference's own rounding makes them: neither small beside it nor
    beyond what another order of the same steps makes, and that it is much larger than the reference's own."""
    if left.tolerance is None or failure.tolerance is None:
        return False
    allowed = left.tolerance[failure.bad]
    error = (failure.actual.double() - left.expected.double()).abs()[failure.bad]
    size = torch.minimum(allowed, left.expected.double().abs()[failure.bad].clamp_min(1e-300))  # no more can be lost
    lost = torch.where(left.expected[failure.bad] == 0, error / allowed, error / size)
    usable = torch.isfinite(error) & torch.isfinite(allowed)
    if float(usable.double().mean()) < COMPLETE:
        return False
    beyond = (error > OTHER_ORDER * allowed)[usable].double().mean()
    wider = (allowed / failure.tolerance[failure.bad])[usable].median()
    return float(beyond) <= 1.0 - COMPLETE and float(wider) >= WIDER and float(lost[usable].median()) >= SEEN


def _itself(evaluations: Evaluations) -> Evaluations:
    return evaluations


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredRun:
    """A run of the reference with one alteration."""

    outputs: list[torch.Tensor]
    """What it returned, in float64."""

    alternative: Alternative
    """What was altered, told for these arguments."""

    def of(self, scene: Scene, failures: Sequence[Failure]) -> list[torch.Tensor]:
        """The outputs that failed; an empty one where the reference has none of that name."""
        places = [scene.position(failure.output) for failure in failures]
        return [self.outputs[place] if place < len(self.outputs) else torch.empty(0) for place in places]


def run_altered(scene: Scene, alteration: Alteration) -> AlteredRun | None:
    """The reference with one alteration; None where that makes no sense."""
    other = _other(scene, alteration)
    try:
        outputs = None if other is None else other.run()
    except UNREADABLE:
        return None
    if other is None or outputs is None:
        return None
    made = [other.chosen[part] for part in alteration.parts]
    words = together([f"{item.statement}{part.where}" for item, part in zip(made, alteration.parts, strict=True)])
    name = "; ".join(item.name for item in made)
    return AlteredRun(outputs=outputs, alternative=replace(made[0], name=name, statement=words))
