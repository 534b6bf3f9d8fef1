"""The semantic-variant library at work: which altered reference reproduces what the operator returned?

Decides the order of the alterations and how their explanations are told. Deliberately holds none of them.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.variants import (
    UNREADABLE,
    Call,
    alternatives,
    argument_alternatives,
    explain,
    read_call,
)
from opsdebug_ci.numerics.variants.explanation import Explanation
from opsdebug_ci.operators import Operator
from opsdebug_ci.worker.probes.alteration import EVERYWHERE, Alteration, Candidate, as_well, by_zero, measured, said
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.scene import Scene

MOST_CALLS = 300
"""Calls of a reference that are considered; a loop over elements shows its body in the first of them."""

MOST_SECONDS = 2.5
"""Longest that alterations of one failing output are tried."""

UNLIKELY = 0.05
"""Confidence that an alternative of no weight costs."""

BY_ZERO = 0.95
"""Confidence of a divisor that is 0 and gives the output, class for class: above what only sees that it is NaN."""

RULE = "altered_reference"


_SUCCESSES: weakref.WeakKeyDictionary[Operator, list[Alteration]] = weakref.WeakKeyDictionary()
"""What explained a failure of an operator in this process: tried first when it fails again."""


def altered_reference(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Runs the torch reference in float64 with one step or one argument altered, until one run is the output.

    Told apart from chance by the share of elements reproduced, of bad and of good ones, and by how many a candidate
    moved by one place would reproduce. Silent where no alteration reproduces half of the bad elements.
    """
    recorded = _candidates(scene)
    known = _SUCCESSES.setdefault(scene.operator, [])
    ordered = sorted(recorded, key=lambda item: (item.alteration not in known, -item.alternative.weight))
    best: list[tuple[Explanation, Candidate]] = []
    budget = Budget(MOST_SECONDS, within=scene.budget)
    tried = 0
    for candidate in ordered:
        if budget.expired:
            break
        tried += 1
        explanation = _explanation(scene, failure, candidate.alteration)
        if explanation is not None and explanation.confidence > 0:
            best.append((explanation, candidate))
            if explanation.complete and explanation.confidence > 0.9:
                if candidate.alteration not in known:
                    known.append(candidate.alteration)
                break
    best.sort(key=lambda found: -_sure(*found))
    yield from _told(failure, best, tried)


def _sure(explanation: Explanation, candidate: Candidate) -> float:
    """The explanation's confidence, a little less for alternatives that many other defects look like.

    A divisor of 0 leaves one value, NaN, which says little by chance: but what else makes it of finite numbers?"""
    if by_zero(candidate) and explanation.complete:
        return BY_ZERO
    return explanation.confidence - UNLIKELY * (1 - candidate.alternative.weight)


def _candidates(scene: Scene) -> list[Candidate]:
    """Every alteration of every argument and call."""
    values = dict(scene.arguments.items())
    found = [
        Candidate(alteration=Alteration(name=item.name, argument=name), alternative=item)
        for name in values
        for item in argument_alternatives(name, values)
    ]
    recorder = _Recorder()
    scene.reference(scene.arguments, recorder)
    return [*found, *_placed(recorder.found)]


def _placed(found: list[Candidate]) -> list[Candidate]:
    """Alterations of calls, each with which one it is where several fit; then those made at every call they fit."""
    count = Counter(candidate.alternative.name for candidate in found)
    seen: Counter[str] = Counter()
    placed, several = [], {}
    for candidate in found:
        name = candidate.alternative.name
        seen[name] += 1
        if count[name] > 1:
            several[name] = replace(
                candidate, alteration=Alteration(name=name), where=f", in all {count[name]} such steps"
            )
        which = f" (`{candidate.call}` {seen[name]} of {count[name]})" if count[name] > 1 else ""
        placed.append(replace(candidate, where=which))
    return [*placed, *several.values()]


class _Watcher:
    """Numbers the calls of a run and remembers which call made which tensor."""

    def __init__(self) -> None:
        self._makers: dict[int, Call] = {}
        self._alive: list[Any] = []
        self.count = 0

    def read(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Call:
        call = read_call(func, args, kwargs, result, self._makers)
        if isinstance(result, torch.Tensor) and len(self._makers) < MOST_CALLS:
            self._makers[id(result)] = call
            self._alive.append(result)
        self.count += 1
        return call


class _Recorder:
    """Observer that notes what every call might have been instead, and changes nothing."""

    def __init__(self) -> None:
        self._watcher = _Watcher()
        self.found: list[Candidate] = []

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        place = self._watcher.count
        call = self._watcher.read(func, args, kwargs, result)
        if place < MOST_CALLS:
            self.found += [
                Candidate(alteration=Alteration(name=item.name, call=place), alternative=item, call=call.name)
                for item in alternatives(call)
            ]
        return result


class _Altered:
    """Observer that replaces the result of one call, or of every call an alternative of that name fits."""

    def __init__(self, alteration: Alteration) -> None:
        self._alteration = alteration
        self._watcher = _Watcher()

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        place = self._watcher.count
        call = self._watcher.read(func, args, kwargs, result)
        if self._alteration.call not in (EVERYWHERE, place) or place >= MOST_CALLS:
            return result
        chosen = next((item for item in alternatives(call) if item.name == self._alteration.name), None)
        if chosen is None:
            return result
        made = chosen.result()
        if func._schema.is_mutable and isinstance(result, torch.Tensor):
            return result.copy_(made)
        return made


def _explanation(scene: Scene, failure: Failure, alteration: Alteration) -> Explanation | None:
    outputs = run_altered(scene, alteration)
    position = scene.position(failure.output)
    if outputs is None or position >= len(outputs):
        return None
    return explain(failure, outputs[position])


def run_altered(scene: Scene, alteration: Alteration) -> list[torch.Tensor] | None:
    """Outputs of the reference with one alteration; None where that makes no sense."""
    if alteration.argument is None:
        return scene.reference(scene.arguments, _Altered(alteration))
    values = dict(scene.arguments.items())
    listed = argument_alternatives(alteration.argument, values)
    chosen = next(item for item in listed if item.name == alteration.name)
    try:
        made = chosen.result()
    except UNREADABLE:
        return None
    return scene.reference(scene.arguments.map(lambda name, old: made if name == alteration.argument else old))


def _told(failure: Failure, best: list[tuple[Explanation, Candidate]], tried: int) -> Iterator[Clue]:
    """The best explanation of each cause, and what the best one may be called as well."""
    told: set[Cause] = set()
    for place, (explanation, candidate) in enumerate(best):
        alternative = candidate.alternative
        if alternative.cause in told:
            continue
        told.add(alternative.cause)
        rival = best[place + 1] if place + 1 < len(best) else None
        yield _clue(failure, explanation, candidate, alternative.cause, 0.0, rival, tried)
        if place == 0:
            for step, cause in enumerate(alternative.also, start=1):
                if cause not in told:
                    told.add(cause)
                    yield _clue(failure, explanation, candidate, cause, 0.1 + 0.02 * step, rival, tried)


def _clue(
    failure: Failure,
    explanation: Explanation,
    candidate: Candidate,
    cause: Cause,
    less: float,
    rival: tuple[Explanation, Candidate] | None,
    tried: int,
) -> Clue:
    bad = int(failure.bad.sum())
    share = "every bad element" if explanation.bad == 1.0 else f"{explanation.elements:,} of {bad:,} bad elements"
    leaves = "" if explanation.good >= 0.98 else f", though only {100 * explanation.good:.3g} % of the others"
    return failure.clue(
        RULE,
        cause,
        max(0.05, _sure(explanation, candidate) - less),
        f"{said(explanation, candidate)}: reproduces {share}{leaves}{as_well(candidate, rival)}",
        {
            "alteration": candidate.alternative.name,
            "step": candidate.call or None,
            "reproduced_bad": explanation.bad,
            "reproduced_good": explanation.good,
            "by_chance": explanation.chance,
            "bad": bad,
            "alterations_tried": tried,
            "runner_up": None if rival is None else rival[1].alternative.name,
            "runner_up_reproduced_bad": None if rival is None else rival[0].bad,
            **measured(explanation),
        },
    )
