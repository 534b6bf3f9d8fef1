"""The causes of an operator's failures, sought after its cases were judged.

Decides which of the failing cases are run again for it: TESTED of them, in turn of every dtype and family, the smallest
first. What explains most of those is said of the others too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from opsdebug_ci.model.bundle import StoredInputs
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.message import Breadcrumb, CasesExplained, CauseFound, ExplainCases
from opsdebug_ci.model.vocabulary import Direction, Phase
from opsdebug_ci.operators import Operator
from opsdebug_ci.worker.case_run import WHOLE_S, Trail, exhibit_of
from opsdebug_ci.worker.investigation import MAJORITY, MOST, Exhibit, Explanation, investigate
from opsdebug_ci.worker.probes.budget import Budget, Prices

TESTED = 24
"""Failing cases that are run again."""

MOST_ELEMENTS = 1 << 24
"""Elements of all outputs that are held at once: about 1 GB of them, their references and bounds."""

IN_PART = 0.6
"""Confidence where it does not explain a case of unusual values in full."""

NOT_ALL = ", in the other cases; not all of this one"


def explain_cases(operator: Operator, request: ExplainCases, trail: Trail) -> CasesExplained:
    """Why the failing cases fail. A case that does not fail again is left unexplained."""
    found: list[CauseFound] = []
    by_direction = sorted(request.failing, key=_is_backward)
    for backward, members in groupby(by_direction, key=_is_backward):
        failing = _in_turn(list(members))
        passing = [case for case in request.passing if _is_backward(case) is backward]
        elements: list[int] = []
        wrong = [
            each for each in _exhibits(operator, failing[:TESTED], request.inputs, elements, trail) if each.failing
        ]
        right = [each for each in _exhibits(operator, passing, None, elements, trail) if not each.failing]
        if wrong:
            told = investigate(_within(wrong), _within(right), request.only)
            found += _with_others(failing, told)
    return CasesExplained(case_id=request.case.id, found=tuple(found))


def _within(exhibits: list[Exhibit]) -> list[Exhibit]:
    """The exhibits with one budget and one list of prices."""
    budget, prices = Budget(WHOLE_S), Prices()
    return [replace(each, scene=replace(each.scene, budget=budget, prices=prices)) for each in exhibits]


def _in_turn(cases: list[Case]) -> list[Case]:
    """Cases of every dtype and family in turn, the smallest of each first."""
    met: Counter[tuple[str, str]] = Counter()
    turns = {}
    for case in sorted(cases, key=lambda case: math.prod(case.dims.values())):
        turns[case.id] = met[case.dtype, str(case.inputs)]
        met[case.dtype, str(case.inputs)] += 1
    return sorted(cases, key=lambda case: turns[case.id])


def _with_others(failing: list[Case], told: dict[str, Explanation]) -> Iterator[CauseFound]:
    """What was found out, and of cases that were not tested what explains most of those that were. Less sure, the same
    of cases that nothing explains in full: of those with unusual values or few elements, and of the last few."""
    leading = _leading(list(told.values()))
    unexplained = sum(not each.clues for each in told.values() if each.is_plain)
    few = unexplained <= (1 - MOST) * len(told)
    for case in failing:
        mine = told.get(case.id)
        if mine is None and leading:
            yield CauseFound(case_id=case.id, clues=leading, origin=None, mismatches=0)
        elif mine is not None:
            clues = mine.clues
            if leading and (few or not mine.is_plain) and not clues and not mine.mismatches:
                clues = tuple(
                    replace(clue, confidence=IN_PART, statement=f"{clue.statement}{NOT_ALL}") for clue in leading
                )
            yield CauseFound(case_id=case.id, clues=clues, origin=mine.origin, mismatches=mine.mismatches)


def _leading(told: list[Explanation]) -> tuple[Clue, ...]:
    """Clues of the hypothesis that explains most of these cases, as told of one; none where none does."""
    plain = [each for each in told if each.is_plain] or told
    named = Counter(each.clues[0].evidence.get("hypothesis") for each in plain if each.clues)
    named.pop(None, None)
    key, count = next(iter(named.most_common(1)), (None, 0))
    if key is None or count < MAJORITY * len(plain):
        return ()
    model = next(each for each in told if each.clues and each.clues[0].evidence.get("hypothesis") == key)
    return tuple(clue for clue in model.clues if clue.evidence.get("hypothesis") == key)


def _is_backward(case: Case) -> bool:
    return case.direction is not Direction.FORWARD


def _exhibits(
    operator: Operator, cases: Iterable[Case], inputs: StoredInputs | None, held: list[int], trail: Trail
) -> Iterator[Exhibit]:
    for case in cases:
        if sum(held) > MOST_ELEMENTS:
            return
        trail(Breadcrumb(phase=Phase.PROBE, detail=case.id))
        made = exhibit_of(operator, case, inputs)
        if made is not None:
            held.append(sum(failure.actual.numel() for failure in made.failures))
            yield made
