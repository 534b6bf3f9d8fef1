"""What a run's cases come to, by its document alone: which failures are new, and how the run may have ended.

Decides the same as whoever judged the cases, from what the document keeps of that: the groups that are known, and the
gate of the plan. For readers that do not believe a summary, and for runs made of several. Verdicts on speed are
believed as they stand; that a night is unsettled by them cannot be told from the cases.
"""

from __future__ import annotations

from collections.abc import Iterable

from opsdebug_ci.model.document import ObservationDocument, RunDocument
from opsdebug_ci.model.judgement import Judgement
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Gate, Stage, Verdict

Ending = tuple[Verdict, int]
"""Verdict and exit code of a run."""

UNJUDGED = (Verdict.SKIPPED, Verdict.ERROR)
"""Verdicts of cases in which nothing was judged."""


def case_key(observation: ObservationDocument, stage: str | None) -> tuple[str, str]:
    """What there is but one of in a run of `stage`: a case, and in a replay a bundle."""
    return observation.case.id, (observation.bundle or "") if stage == Stage.REPLAY.value else ""


def failing(observations: Iterable[ObservationDocument]) -> tuple[ObservationDocument, ...]:
    """Cases that failed."""
    return tuple(each for each in observations if each.verdict in FAILING_VERDICTS)


def new_failures(document: RunDocument) -> tuple[ObservationDocument, ...]:
    """Failures that are not known; every one where some are in no group."""
    failures, groups = failing(document.observations), document.summary.groups
    if len(failures) > sum(group.count for group in groups):
        return failures
    # A failure is known when its group is; where that is not told, when every group it may be in is.
    listed = {case: group.known for group in groups for case in group.cases}
    named = {group.fingerprint: group.known for group in groups}
    operators: dict[str, bool] = {}
    for group in groups:
        operators[group.operator] = group.known and operators.get(group.operator, True)
    places = ((each, listed.get(each.case.id, named.get(each.fingerprint or ""))) for each in failures)
    known = ((each, operators.get(each.case.operator, False) if told is None else told) for each, told in places)
    return tuple(each for each, is_known in known if not is_known)


def gates(document: RunDocument, gate: Gate) -> bool:
    """Whether its failures fail a run of this gate. A replay has accepted failures instead of known ones."""
    if gate is Gate.NEVER:
        return False
    if gate is Gate.ALL and document.stage != Stage.REPLAY.value:
        return bool(failing(document.observations))
    return bool(new_failures(document))


def is_judged(document: RunDocument) -> bool:
    """Anything was judged at all."""
    return any(each.verdict not in UNJUDGED for each in document.observations)


def refused_throughout(observations: Iterable[ObservationDocument] | Iterable[Judgement]) -> tuple[str, ...]:
    """Operators all of whose cases were skipped, some of them because they or their references refused the inputs.

    A case that its operator's declaration excludes has no finding.
    """
    judged: dict[str, bool] = {}
    refused: dict[str, bool] = {}
    for each in observations:
        name, skipped = each.case.operator, each.verdict is Verdict.SKIPPED
        judged[name] = judged.get(name, False) or not skipped
        refused[name] = refused.get(name, False) or (skipped and bool(each.findings))
    return tuple(name for name, is_refused in refused.items() if is_refused and not judged[name])


def unsettled(document: RunDocument, planned: int | None) -> Verdict | None:
    """What keeps the cases from passing, whatever gates; None: nothing does.

    Args:
        document: the run.
        planned: cases that were to run; None: as many as there are.
    """
    verdicts = {each.verdict for each in document.observations}
    for verdict in (Verdict.ERROR, Verdict.INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    short = planned is not None and len(document.observations) < planned
    part = document.stage == Stage.REPLAY.value or (document.plan is not None and planned != document.plan.cases)
    refused = not part and bool(refused_throughout(document.observations))
    return Verdict.INCONCLUSIVE if short or refused or not is_judged(document) else None


def possible_endings(document: RunDocument) -> frozenset[Ending]:
    """How the run may have ended, under its gate; under any where it does not say which."""
    plan = document.plan
    every = (_endings(document, gate) for gate in (tuple(Gate) if plan is None else (plan.gate,)))
    return frozenset(ending for endings in every for ending in endings)


def _endings(document: RunDocument, gate: Gate) -> set[Ending]:
    if gates(document, gate) or (document.regressions and gate is not Gate.NEVER):
        return {(Verdict.FAIL, 1)}
    planned = None if document.plan is None else document.plan.mine
    if not document.observations and not planned:
        return {(Verdict.PASS, 0), (Verdict.INCONCLUSIVE, 4)}
    doubt = unsettled(document, planned)
    if doubt is not None:
        return {(doubt, 0 if gate is Gate.NEVER and is_judged(document) else 4)}
    night = document.stage == Stage.FULL.value and gate is not Gate.NEVER
    return {(Verdict.PASS, 0), *([(Verdict.INCONCLUSIVE, 4)] if night else [])}
