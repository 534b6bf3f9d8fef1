"""The causes of wrong outputs, sought once for all failing cases of an operator, after they were judged.

Decides which cases that pass a cause is held against.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from opsdebug_ci.judge import judge
from opsdebug_ci.model import Judgement, OperatorDescription, Status, Verdict
from opsdebug_ci.model.message import ExplainCases
from opsdebug_ci.pipeline.workbench import Workbench

PASSING = 12
"""Cases that pass which a cause is held against, spread evenly over the plan."""


def with_causes(
    judgements: Mapping[str, Judgement], operators: Iterable[OperatorDescription], bench: Workbench
) -> Iterator[Judgement]:
    """Judgements of the failing cases anew, with what was found out about them; of every operator as it is known."""
    contracts = {operator.name: operator.contract for operator in operators}
    by_operator: dict[str, list[Judgement]] = {}
    for judgement in judgements.values():
        by_operator.setdefault(judgement.case.operator, []).append(judgement)
    requests = [request for each in by_operator.values() if (request := _request(each)) is not None]
    for found in bench.pool.explain(requests):
        for each in found:
            known = judgements[each.case_id]
            mismatches = each.mismatches or known.observation.repeat_mismatches
            observation = replace(known.observation, clues=each.clues, origin=each.origin, repeat_mismatches=mismatches)
            yield judge(known.case, observation, contracts[known.case.operator])


def _request(judgements: Sequence[Judgement]) -> ExplainCases | None:
    failing = [judgement.case for judgement in judgements if _is_wrong(judgement)]
    if not failing:
        return None
    passing = [j.case for j in judgements if j.verdict is Verdict.PASS and 0 not in j.case.dims.values()]
    step = max(1.0, len(passing) / PASSING)
    some = [passing[int(place * step)] for place in range(min(PASSING, len(passing)))]
    return ExplainCases(case=failing[0], failing=tuple(failing), passing=tuple(some))


def _is_wrong(judgement: Judgement) -> bool:
    """Outputs have wrong values, in a structure that can be compared."""
    observation = judgement.observation
    ran = observation.status is Status.RAN and observation.structure is None and observation.refusal is None
    return ran and any(output.rejected for output in observation.outputs)
