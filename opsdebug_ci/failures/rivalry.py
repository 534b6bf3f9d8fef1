"""Whether another cause, which far more cases of an operator have, explains the cases of one that few have as well.

Decides by what the rules of each case say beside the first: an explanation that few cases have, though the usual one is
as good there, is a chance match within the tolerance. So is a number that was fitted to each case anew. Deliberately
not how many more cases it takes to speak of a usual cause at all: `likeness` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from opsdebug_ci.failures.bunch import Bunch
from opsdebug_ci.failures.fingerprint import LIKELY
from opsdebug_ci.failures.separators import covers
from opsdebug_ci.model import Judgement
from opsdebug_ci.model.finding import EvidenceValue

SPECIFIC = 0.75
"""Confidence below which an explanation is a hint that has rivals: the scale of docs/causes.md."""

FITTED = "fitted_constant"
"""Rule of the worker that fits a number to one case."""

SAME = 0.01
"""Relative difference up to which two fitted numbers are one: within the tolerance of an output they are not exact."""


def explained_as_well(few: Bunch, many: Bunch) -> bool:
    """Whether every case of `few` may be one of `many`, told by what has nothing to do with its own explanation.

    Another explanation must be about as sure of the cause of `many` there. Where nothing but a hint or a fitted number
    speaks for the own one, it is enough that another makes that cause likely, or that the cases of `many` lie there.
    """
    if weak(many):
        return False
    for judgement, poor in zip(few.failing, _poor(few), strict=True):
        rival = _suspicion(judgement, many)
        if rival < SPECIFIC and not (poor and (rival >= LIKELY or covers(many.separators, [judgement.case]))):
            return False
    return True


def weak(bunch: Bunch) -> bool:
    """Most of its cases have nothing but a hint or a fitted number."""
    poor = _poor(bunch)
    return 2 * sum(poor) > len(poor)


def _poor(bunch: Bunch) -> list[bool]:
    """Of every case: whether its cause is a hint, or a number that was fitted and not found again in another case."""
    repeated = _repeated(bunch.failing)
    tops = [judgement.findings[0] for judgement in bunch.failing]
    return [top.confidence < SPECIFIC or (_rule(top.evidence) == FITTED and not repeated) for top in tops]


def _repeated(failing: Iterable[Judgement]) -> bool:
    """The same number was fitted to several cases, and no other one."""
    fitted = list(_fits(failing))
    if len(fitted) < 2:
        return False
    values = [value for _, value in fitted]
    return len({constant for constant, _ in fitted}) == 1 and max(values) - min(values) <= SAME * max(map(abs, values))


def _fits(failing: Iterable[Judgement]) -> Iterator[tuple[float, float]]:
    """What stands in the formula and what was fitted for it, of every case whose cause is a fitted number."""
    for judgement in failing:
        evidence = judgement.findings[0].evidence
        constant, fitted = evidence.get("constant"), evidence.get("fitted")
        if _rule(evidence) == FITTED and isinstance(constant, (int, float)) and isinstance(fitted, (int, float)):
            yield constant, fitted


def _suspicion(judgement: Judgement, many: Bunch) -> float:
    """How sure other explanations than the first are, there, of the cause of `many`; one has several names at times."""
    own = judgement.findings[0].statement
    return max(
        (
            finding.confidence
            for finding in judgement.findings[1:]
            if str(finding.cause) == many.identity.cause
            and finding.statement != own
            and finding.evidence.get("output") in (None, many.identity.target)
        ),
        default=0.0,
    )


def _rule(evidence: Mapping[str, EvidenceValue]) -> str:
    """Rule of the worker that says so; empty: a rule of the judge."""
    return str(evidence.get("rule", ""))
