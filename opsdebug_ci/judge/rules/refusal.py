"""The operator or its reference refuses the inputs, and that is no failure."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.promises import excuses
from opsdebug_ci.judge.rules.exception import exception_evidence, exception_text
from opsdebug_ci.judge.rules.rule import Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Blame, Cause, Refusal

_BLAMED = {
    Refusal.EMPTY: (Cause.EMPTY_OR_ZERO_DIM, Blame.INPUT),
    Refusal.LAYOUT: (Cause.STRIDE_VIEW, Blame.INPUT),
    Refusal.REFERENCE: (Cause.EXCEPTION, Blame.REFERENCE),
}


def refusal(subject: Subject) -> Iterator[Finding]:
    """Fires where inputs are refused and nobody pays for it, and says how to declare that. Silent otherwise."""
    observation = subject.observation
    if observation.refusal is None or not excuses(observation, subject.contract):
        return
    facts = observation.exception
    statement = observation.reason or "these inputs are refused"
    if observation.refusal is Refusal.EMPTY and facts is not None:
        statement = f'takes no empty input, it raised {exception_text(facts)}; `empty = "fail"` makes that a failure'
    cause, blame = _BLAMED[observation.refusal]
    yield subject.finding(cause, 0.95, statement, exception_evidence(facts), blame=blame)
