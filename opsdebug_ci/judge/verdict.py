"""From an observation to a verdict.

Decides pass, fail, inconclusive, error, crash, timeout or skipped; rules say why. Deliberately trusts the worker's
counts (classes, bounds, votes) and measures nothing itself. What cannot be judged is never a pass.
"""

from __future__ import annotations

from opsdebug_ci.judge.ending import blamed_for_ending
from opsdebug_ci.judge.promises import breaks_promise, excuses
from opsdebug_ci.judge.reference import outvoted, reference_use
from opsdebug_ci.judge.rules import Subject, explain
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.judgement import Judgement
from opsdebug_ci.model.observation import Observation, OutputReading
from opsdebug_ci.model.vocabulary import Blame, Confidence, Status, Verdict, Zone

_FIXED = {
    Status.RAISED: Verdict.FAIL,
    Status.SKIPPED: Verdict.SKIPPED,
    Status.INPUTS_BROKEN: Verdict.ERROR,
    Status.REFERENCE_BROKEN: Verdict.ERROR,
    Status.WORKER_BROKEN: Verdict.ERROR,
}

_ENDED = {
    Status.CRASHED: Verdict.CRASH,
    Status.TIMED_OUT: Verdict.TIMEOUT,
    Status.OUT_OF_MEMORY: Verdict.CRASH,
}
"""Only when it was the operator that ended the process; otherwise it is an error."""


def judge(case: Case, observation: Observation, contract: Contract) -> Judgement:
    """Judge what happened when `case` ran against what `contract` promises."""
    verdict = _verdict(observation, contract)
    return Judgement(
        case=case,
        observation=observation,
        verdict=verdict,
        reference=reference_use(observation),
        findings=explain(Subject(case=case, observation=observation, contract=contract), verdict),
    )


def _verdict(observation: Observation, contract: Contract) -> Verdict:
    if observation.status in _FIXED:
        excused = observation.status is Status.RAISED and excuses(observation, contract)
        return Verdict.SKIPPED if excused else _FIXED[observation.status]
    if observation.status in _ENDED:
        operator_did_it = blamed_for_ending(observation) is Blame.OPERATOR
        return _ENDED[observation.status] if operator_did_it else Verdict.ERROR
    if _misbehaved(observation, contract):
        return Verdict.FAIL
    if observation.refusal is not None:
        return Verdict.SKIPPED
    if not any(reference.answered for reference in observation.references):
        broke = any(reference.fault for reference in observation.references)
        return Verdict.ERROR if broke else Verdict.INCONCLUSIVE
    verdicts = {_output_verdict(output) for output in observation.outputs}
    return next((v for v in (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS) if v in verdicts), Verdict.INCONCLUSIVE)


def _misbehaved(observation: Observation, contract: Contract) -> bool:
    """Broken promises that need no reference's values, only its structure, shapes and dtypes."""
    return bool(
        observation.structure is not None
        or any(output.actual != output.expected for output in observation.outputs)
        or observation.memory
        or observation.reads
        or observation.layout_changes
        or observation.unwritten
        or (observation.repeat_mismatches and contract.deterministic)
        or any(breaks_promise(reading, contract) for reading in observation.properties)
    )


def _output_verdict(output: OutputReading) -> Verdict:
    accuracy = output.accuracy
    if output.rejected:
        return Verdict.FAIL
    if output.disputed or accuracy is None:
        return Verdict.INCONCLUSIVE
    if accuracy.zone is Zone.RED:
        return Verdict.FAIL
    if accuracy.compared == 0:
        empty = 0 in output.actual.shape
        return Verdict.PASS if empty else Verdict.INCONCLUSIVE
    if output.confidence is Confidence.LOW and not outvoted(output):
        return Verdict.INCONCLUSIVE
    return Verdict.PASS
