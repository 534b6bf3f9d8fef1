"""From judged cases to the run's exit code.

Decides what gates. An error, an inconclusive case or a run that judged nothing never passes for a success, except
that the person who sets `gate = "never"` has asked for exit code 0 whenever anything was judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.judgement import Group, Judgement, Summary
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Gate, Verdict

_UNSETTLED = (Verdict.ERROR, Verdict.INCONCLUSIVE)

EXIT_PASS, EXIT_FAIL, EXIT_UNSETTLED = 0, 1, 4
"""Gate passes, gate fails, incomplete or inconclusive or nothing judged."""


def summarise(
    judgements: Sequence[Judgement],
    groups: Sequence[Group],
    gate: Gate,
    known: frozenset[str] = frozenset(),
    *,
    planned: int | None = None,
) -> Summary:
    """Count verdicts and decide the exit code.

    Args:
        judgements: every judged case.
        groups: the failures among them, grouped.
        gate: which failures gate.
        known: fingerprints already recorded at the baseline; under `new` they do not gate.
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
    if _gating(judgements, groups, gate, known):
        verdict, exit_code = Verdict.FAIL, EXIT_FAIL
    elif unsettled is not None:
        verdict, exit_code = unsettled, EXIT_PASS if gate is Gate.NEVER and judged else EXIT_UNSETTLED
    else:
        verdict, exit_code = Verdict.PASS, EXIT_PASS
    return Summary(verdict=verdict, exit_code=exit_code, counts=counts, groups=tuple(groups))


def _gating(judgements: Sequence[Judgement], groups: Sequence[Group], gate: Gate, known: frozenset[str]) -> bool:
    failing = sum(j.verdict in FAILING_VERDICTS for j in judgements)
    if gate is Gate.NEVER or not failing:
        return False
    ungrouped = failing > sum(group.count for group in groups)
    excused = known if gate is Gate.NEW else frozenset()
    return ungrouped or any(group.fingerprint not in excused for group in groups)
