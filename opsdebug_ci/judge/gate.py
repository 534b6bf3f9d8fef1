"""From judged cases to the run's exit code.

Decides what gates. An error, an inconclusive case or a run that judged nothing never passes for a success, except
that the person who sets `gate = "never"` has asked for exit code 0 whenever anything was judged.

What is known: a failure whose fingerprint is recorded. The fingerprint of a failure with a named cause tells it from
others; `unknown` tells little more than the operator, so such a failure is known only case by case. A second defect
that fails on no other case than the first goes unseen.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.judgement import Group, Judgement, KnownFailures, Summary
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Cause, Gate, Verdict

_UNSETTLED = (Verdict.ERROR, Verdict.INCONCLUSIVE)

EXIT_PASS, EXIT_FAIL, EXIT_UNSETTLED = 0, 1, 4
"""Gate passes, gate fails, incomplete or inconclusive or nothing judged."""


def summarise(
    judgements: Sequence[Judgement],
    groups: Sequence[Group],
    gate: Gate,
    known: KnownFailures | None = None,
    *,
    planned: int | None = None,
) -> Summary:
    """Count verdicts and decide the exit code.

    Args:
        judgements: every judged case.
        groups: the failures among them, grouped.
        gate: which failures gate.
        known: what is already recorded at the baseline; under `new` it does not gate. None: nothing is.
        planned: cases that were to run; fewer judged ones make the run incomplete. None: all of them ran.

    Returns:
        The worst verdict that gates: `fail`, else `error`, else `inconclusive` (also for an incomplete run and for
        one that judged nothing), else `pass`.
    """
    counts = {str(verdict): sum(j.verdict is verdict for j in judgements) for verdict in Verdict}
    judged = any(j.verdict not in (Verdict.SKIPPED, Verdict.ERROR) for j in judgements)
    unsettled = next((v for v in _UNSETTLED if counts[str(v)]), None)
    if unsettled is None and (not judged or (planned is not None and len(judgements) < planned)):
        unsettled = Verdict.INCONCLUSIVE
    if _gating(judgements, groups, gate, known or KnownFailures()):
        verdict, exit_code = Verdict.FAIL, EXIT_FAIL
    elif unsettled is not None:
        verdict, exit_code = unsettled, EXIT_PASS if gate is Gate.NEVER and judged else EXIT_UNSETTLED
    else:
        verdict, exit_code = Verdict.PASS, EXIT_PASS
    return Summary(verdict=verdict, exit_code=exit_code, counts=counts, groups=tuple(groups))


def _gating(judgements: Sequence[Judgement], groups: Sequence[Group], gate: Gate, known: KnownFailures) -> bool:
    failing = [judgement for judgement in judgements if judgement.verdict in FAILING_VERDICTS]
    if gate is Gate.NEVER or not failing:
        return False
    if gate is Gate.ALL or len(failing) > sum(group.count for group in groups):
        return True
    return any(group.fingerprint not in known.fingerprints for group in groups) or any(
        _unnamed(judgement) and judgement.case.id not in known.cases for judgement in failing
    )


def _unnamed(judgement: Judgement) -> bool:
    return judgement.findings[0].cause is Cause.UNKNOWN
