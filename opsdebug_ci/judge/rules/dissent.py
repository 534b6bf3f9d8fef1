"""The references do not agree with each other: who is odd, and what that says."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.reference import all_differ, dissent_text, dissenters, odd_one_out, outvoted
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.dtype import compute_format
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.observation import OutputReading, Vote
from opsdebug_ci.model.vocabulary import Blame, Cause, Confidence, ReferenceKind

ROUNDING_APART = 16.0
"""Allowed distances up to which another order or precision explains a naive reference: quarters of the tolerance of an
operator, so 4 tolerances, as far as a framework's error licenses anything; other semantics are seldom as close."""


def dissent(subject: Subject) -> Iterator[Finding]:
    """Fires where references are apart: names the odd one out, or says that there is none. Silent where they agree."""
    for output in subject.observation.outputs:
        if output.unspecified and not (output.rejected or output.disputed):
            continue  # `unspecified` says it
        if all_differ(output):
            yield _all_differ(subject, output)
        elif (odd := odd_one_out(output)) is not None:
            yield _odd(subject, output, odd)
        elif output.disputed or output.confidence is Confidence.LOW:
            yield from (_finding(subject, output, vote) for vote in dissenters(output))
            yield from _loose(subject, output)


def _all_differ(subject: Subject, output: OutputReading) -> Finding:
    listed = ", ".join(dissent_text(vote) for vote in dissenters(output))
    names = ", ".join(f"`{which}`" for which in (output.used, *(vote.reference for vote in output.votes)))
    statement = (
        f"`{output.name}`: do not trust the reference blindly: all of {names} differ from each other; "
        f"compared with `{output.used}`, {listed}"
    )
    evidence: Evidence = {"output": output.name, "used": str(output.used), "references": 1 + len(output.votes)}
    return subject.finding(Cause.UNKNOWN, 0.8, statement, evidence, blame=Blame.REFERENCE)


def _odd(subject: Subject, output: OutputReading, odd: ReferenceKind) -> Finding:
    votes = dissenters(output)
    loudest = max(votes, key=lambda vote: (vote.elements, vote.disagreement or 0.0))
    differs = (
        dissent_text(loudest) if odd is not output.used else f"both others differ from it: {dissent_text(loudest)}"
    )
    blame, meaning = _meaning(subject, output, odd, loudest)
    statement = f"`{output.name}`: compared with `{output.used}`, {differs}; `{odd}` alone is odd: {meaning}"
    return subject.finding(Cause.UNKNOWN, 0.8, statement, {**_evidence(output, loudest), "odd": str(odd)}, blame=blame)


def _meaning(subject: Subject, output: OutputReading, odd: ReferenceKind, vote: Vote) -> tuple[Blame, str]:
    """Whom an odd reference speaks against, and in what words."""
    if odd is ReferenceKind.TORCH:
        return Blame.REFERENCE, _framework(output)
    if odd is ReferenceKind.NAIVE and vote.disagreement is not None and 1 < vote.disagreement <= ROUNDING_APART:
        return Blame.REFERENCE, "it rounds more than a reference may"
    if odd is ReferenceKind.NAIVE:
        return Blame.REFERENCE, "semantics mismatch, it computes something else than the others"
    derived = any(r.reference is odd and r.derived for r in subject.observation.references)
    if derived:
        return Blame.RUNTIME, "harness suspect, it is derived here from `torch` and does not say what `torch` says"
    return Blame.REFERENCE, "it is declared as the best one and contradicts the others"


def _framework(output: OutputReading) -> str:
    """A framework that works in half precision inside is another matter than one that is wrong at full precision."""
    dtype = output.actual.dtype
    low = compute_format(dtype).name != dtype
    return "framework low-precision suspect" if low else "framework reference suspect"


def _loose(subject: Subject, output: OutputReading) -> Iterator[Finding]:
    """No element is too far, but so many nearly are that no tolerance can rest on either reference."""
    if dissenters(output) or not output.votes:
        return
    furthest = max(output.votes, key=lambda vote: vote.disagreement or 0.0)
    statement = (
        f"`{output.name}`: `{output.used}` and `{furthest.reference}` agree only loosely, up to "
        f"{furthest.disagreement or 0.0:.3g} x what references may on more than 1 % of the elements"
    )
    yield subject.finding(Cause.UNKNOWN, 0.5, statement, _evidence(output, furthest), blame=Blame.REFERENCE)


def _finding(subject: Subject, output: OutputReading, vote: Vote) -> Finding:
    statement = f"`{output.name}`: compared with `{output.used}`, {dissent_text(vote)}{_consequence(output, vote)}"
    confidence = 0.8 if outvoted(output) else 0.5
    return subject.finding(Cause.UNKNOWN, confidence, statement, _evidence(output, vote), blame=Blame.REFERENCE)


def _evidence(output: OutputReading, vote: Vote) -> Evidence:
    return {
        "output": output.name,
        "used": str(output.used),
        "dissenting": str(vote.reference),
        "elements": vote.elements,
        "disagreement": vote.disagreement,
        "sides_with_operator": vote.sides_with_operator,
    }


def _consequence(output: OutputReading, vote: Vote) -> str:
    if outvoted(output):
        return f", which clears the operator: {_framework(output)}"
    if vote.sides_with_operator:
        return f", and it accepts {quantity(vote.sides_with_operator, 'element')} which `{output.used}` rejects"
    return ": no verdict can rest on either"
