"""The semantic-variant library at work: which altered reference reproduces what the operator returned?

Decides the order of the alterations and how their explanations are told. Deliberately holds none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.variants import (
    alternatives,
    argument_alternatives,
    contradicts,
    explain,
    result_alternatives,
)
from opsdebug_ci.numerics.variants.explanation import COMPLETE, Explanation, share_left
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.probes.alteration import RESULT, Alteration, Candidate, by_zero, measured, said
from opsdebug_ci.worker.probes.altered_run import MOST_CALLS, Watcher, accepts, run_altered
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.scene import Scene

MOST_SECONDS = 2.5
"""Most that altered runs of the reference may cost for one failing output."""

MOST_FOUND = 12
"""Alterations kept of those that explain a failure, the surest ones: other cases tell them apart."""

UNLIKELY = 0.05
"""Confidence that an alternative of no weight costs."""

BY_ZERO = 0.95
"""Confidence of a divisor that is 0 and gives the output, class for class: above what only sees that it is NaN."""

ACCEPTED = 0.9
"""Confidence where all of an output is right by an altered reference that reproduces other cases."""

ONE_OF_MANY = 0.5
"""Times its weight: an alteration of one of more than two steps it fits."""

MOST_LEFT = 0.3
"""Share of the error from which an alteration that leaves no more is tried together with others."""

MOST_PARTS = 4
"""Such alterations that are tried so."""

MOST_INSIDE = 4
"""Calls of one name whose own steps are altered: a loop shows them in the first."""

MOST_SECONDS_IN_TWOS = 1.0
"""Most that this may cost for one failing output."""

RULE = "altered_reference"

Reproduction = tuple[Explanation, Candidate]
"""An altered reference that reproduces an output, and how well."""


def altered_hypotheses(scene: Scene, failure: Failure, only: str = "") -> Iterator[Altered]:
    """Runs the torch reference in float64 with one step or one argument altered, for each that may be the output.

    Told apart from chance by the share of elements reproduced, of bad and of good ones, by how many a candidate
    moved by one place would reproduce, and by the other cases. Silent where no alteration reproduces half of the bad
    elements. `only` the one of that key, where there is one.
    """
    every = [each for each in _candidates(scene) if only in ("", Altered(candidate=each).key)]
    candidates = sorted(every, key=lambda item: -item.alternative.weight)
    for candidate in candidates:
        if candidate.alternative.rounds and not scene.expired:
            yield Altered(candidate=candidate)
    for _, candidate in reproductions(scene, failure, candidates):
        yield Altered(candidate=candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """The operator does what the reference does with one step or argument altered."""

    candidate: Candidate
    """How, told for the case it was found on."""

    most_tests: None = None

    @property
    def counts_bits(self) -> bool:
        return not self.candidate.alternative.rounds and not by_zero(self.candidate)

    @property
    def key(self) -> str:
        how = self.candidate.alteration
        first = f"{how.argument or (self.candidate.call + how.where)}: {how.name}"
        return "; ".join([first, *(f"{each.argument or each.operation}: {each.name}" for each in how.besides)])

    @property
    def cause(self) -> Cause:
        return self.candidate.alternative.cause

    def clues(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        if self.candidate.alternative.rounds:
            if accepts(scene, failing, self.candidate.alteration, rounding=True):
                where = self.candidate.alteration.where
                yield from self._said(failing, f"{where}: its rounding errors are of the size seen")
            return
        explained = reproduction(scene, failing, self.candidate)
        if all(each is not None and each[0].confidence > 0 for each in explained):
            for failure, each in zip(failing, explained, strict=True):
                if each is not None:
                    yield clue_of(failure, *each)

    def clues_at_length(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        if self.candidate.alternative.rounds:
            return
        explained = reproduction(scene, failing, self.candidate)
        if all(each is not None and each[0].bad >= COMPLETE for each in explained):
            told = ": reproduces every bad element"
        elif accepts(scene, failing, self.candidate.alteration):
            told = ": by a reference that does so too the output is right"
        else:
            return
        yield from self._said(failing, told)

    def _said(self, failing: Sequence[Failure], told: str) -> Iterator[Clue]:
        for failure in failing:
            evidence = {"alteration": self.candidate.alternative.name, "step": self.candidate.call or None}
            words = f"{self.candidate.alternative.statement}{told}"
            yield failure.clue(RULE, self.cause, ACCEPTED, words, evidence)

    def shows(self, scene: Scene, outputs: Sequence[Failure]) -> bool:
        altered = run_altered(scene, self.candidate.alteration)
        return altered is not None and any(map(contradicts, outputs, altered.of(scene, outputs)))


def reproductions(scene: Scene, failure: Failure, candidates: Sequence[Candidate]) -> list[Reproduction]:
    """The alterations that explain a failing output, the surest first; two at once where no single one gives all."""
    found: list[Reproduction] = []
    parts: list[tuple[float, Candidate]] = []
    budget = Budget(MOST_SECONDS, within=scene.budget)
    for candidate in candidates:
        if budget.expired:
            break
        if candidate.alternative.rounds:
            continue
        altered = run_altered(scene, candidate.alteration)
        if altered is None:
            continue
        output = altered.of(scene, [failure])[0]
        explanation = explain(failure, output)
        if explanation is not None and explanation.confidence > 0:
            found.append((explanation, replace(candidate, alternative=altered.alternative)))
        left = share_left(failure, output)
        if left <= MOST_LEFT:
            parts.append((left, candidate))
    if not any(explanation.complete for explanation, _ in found):
        nearest = [candidate for _, candidate in sorted(parts, key=lambda part: part[0])[:MOST_PARTS]]
        found += _in_twos(scene, failure, nearest, candidates)
    return sorted(found, key=lambda pair: -_sure(*pair))[:MOST_FOUND]


def _in_twos(
    scene: Scene, failure: Failure, nearest: Sequence[Candidate], every: Sequence[Candidate]
) -> Iterator[Reproduction]:
    """Alterations that come near the output, each with every other one, where both together give all of it."""
    budget = Budget(MOST_SECONDS_IN_TWOS, within=scene.budget)
    for one, other in product(nearest, every):
        if budget.expired:
            return
        mine, theirs = one.alteration, other.alteration
        if (mine.argument, mine.operation, mine.call) == (theirs.argument, theirs.operation, theirs.call):
            continue
        if other.alternative.rounds:
            continue
        both = replace(one, alteration=replace(one.alteration, besides=(other.alteration,)))
        explained = reproduction(scene, [failure], both)[0]
        if explained is not None and explained[0].complete:
            yield explained


def reproduction(scene: Scene, failures: Sequence[Failure], candidate: Candidate) -> list[Reproduction | None]:
    """How far the reference, altered in one way, gives each of these outputs, told for this case; None where it says
    nothing."""
    altered = run_altered(scene, candidate.alteration)
    if altered is None:
        return [None] * len(failures)
    here = replace(candidate, alternative=altered.alternative)
    explained = (
        explain(failure, output) for failure, output in zip(failures, altered.of(scene, failures), strict=True)
    )
    return [None if explanation is None else (explanation, here) for explanation in explained]


def _sure(explanation: Explanation, candidate: Candidate) -> float:
    """The explanation's confidence, a little less for alternatives that many other defects look like, and for several
    at once.

    A divisor of 0 leaves one value, NaN, which says little by chance: but what else makes it of finite numbers?"""
    if by_zero(candidate) and explanation.complete:
        return BY_ZERO
    parts = len(candidate.alteration.parts)
    return explanation.confidence - UNLIKELY * (parts - candidate.alternative.weight)


def _candidates(scene: Scene) -> list[Candidate]:
    """Every alteration of every argument, of every call, of what is returned, and the same of several of them."""
    values = dict(scene.arguments.items())
    of_arguments = [
        Candidate(alteration=Alteration(name=item.name, argument=name), alternative=item)
        for name in values
        for item in argument_alternatives(name, values)
    ]
    recorder = _Recorder(scene.arguments)
    outputs = scene.reference(scene.arguments, recorder) or []
    of_results = {
        item.name: Candidate(alteration=Alteration(name=item.name, argument=RESULT), alternative=item)
        for output in outputs
        for item in result_alternatives(output)
    }
    alike = [*of_arguments, *of_results.values()]
    return [*alike, *_placed(recorder.found), *_alike(alike)]


def _alike(found: Sequence[Candidate]) -> Iterator[Candidate]:
    """The same done to all arguments, or to one or all and to what is returned: one layout that is another one."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in found:
        if candidate.alternative.layout:
            groups.setdefault(candidate.alternative.layout, []).append(candidate)
    for group in groups.values():
        arguments = [each for each in group if each.alteration.argument != RESULT]
        results = [each for each in group if each.alteration.argument == RESULT]
        sets = [*([one] for one in arguments), *map(list, combinations(arguments, 2)), arguments]
        unique = {tuple(each.alteration for each in chosen): chosen for chosen in sets if chosen}
        for chosen in unique.values():
            for rest in ([], results) if results else ([],):
                first, *others = [*chosen, *rest]
                if others:
                    besides = tuple(each.alteration for each in others)
                    yield replace(first, alteration=replace(first.alteration, besides=besides))


def _placed(found: list[Candidate]) -> list[Candidate]:
    """Alterations of calls, each with which one it is where several fit; then those made at every call they fit."""
    count = Counter((candidate.call, candidate.alteration.rule, candidate.alteration.name) for candidate in found)
    total = Counter((candidate.alteration.rule, candidate.alteration.name) for candidate in found)
    seen: Counter[tuple[str, str, str]] = Counter()
    placed, several = [], {}
    for candidate in found:
        rule, name = every = candidate.alteration.rule, candidate.alteration.name
        kind = candidate.call, *every
        seen[kind] += 1
        if total[every] > 1:
            everywhere = Alteration(name=name, rule=rule, where=f", in all {total[every]} such steps")
            several[every] = replace(candidate, alteration=everywhere)
        which = f" (`{candidate.call}` {seen[kind]} of {count[kind]})" if count[kind] > 1 else ""
        likely = candidate.alternative.weight * (ONE_OF_MANY if total[every] > 2 else 1.0)
        alone = replace(candidate.alteration, where=which)
        placed.append(replace(candidate, alteration=alone, alternative=replace(candidate.alternative, weight=likely)))
    return [*placed, *several.values()]


class _Recorder:
    """Observer that notes what every call might have been instead, and changes nothing."""

    def __init__(self, arguments: Arguments) -> None:
        self._watcher = Watcher(arguments)
        self.found: list[Candidate] = []

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        call = self._watcher.read(func, args, kwargs, result)
        if self._watcher.count <= MOST_CALLS:
            place = self._watcher.place
            self.found += [
                Candidate(
                    alteration=Alteration(name=item.name, rule=item.rule, operation=call.name, call=place),
                    alternative=item,
                    call=call.name,
                )
                for item in alternatives(call, inside=place < MOST_INSIDE)
            ]
        return result


def clue_of(failure: Failure, explanation: Explanation, candidate: Candidate) -> Clue:
    """What an altered reference says of a failing output."""
    bad = int(failure.bad.sum())
    share = "every bad element" if explanation.bad == 1.0 else f"{explanation.elements:,} of {bad:,} bad elements"
    leaves = "" if explanation.good >= 0.98 else f", though only {100 * explanation.good:.3g} % of the others"
    return failure.clue(
        RULE,
        candidate.alternative.cause,
        max(0.05, _sure(explanation, candidate)),
        f"{said(explanation, candidate)}: reproduces {share}{leaves}",
        {
            "alteration": candidate.alternative.name,
            "step": candidate.call or None,
            "reproduced_bad": explanation.bad,
            "reproduced_good": explanation.good,
            "by_chance": explanation.chance,
            "bad": bad,
            "bits": explanation.bits,
            **measured(explanation),
        },
    )
