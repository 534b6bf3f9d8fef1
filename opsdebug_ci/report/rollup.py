"""A run, seen by operator and by reason: what tables and lists of any format show.

Decides what is added up. Renders nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from opsdebug_ci.model.accuracy import Accuracy
from opsdebug_ci.model.document import ObservationDocument, RunDocument
from opsdebug_ci.model.gating import refused_throughout
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Verdict, Zone

UNSETTLED = (Verdict.ERROR, Verdict.INCONCLUSIVE)

SHORT_COMMIT = 7
"""Hex digits of a commit within a sentence, as git shows them."""

SLOW_S = 5.0
"""Seconds from which an operator is worth naming: most take less than one."""

OVERRIDDEN = "overridden by the contract"
"""How a bound begins that is the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRow:
    """One operator's cases."""

    operator: str
    """Operator name."""

    cases: int
    """Cases judged, skipped ones included."""

    passed: int
    """Verdict `pass`."""

    failed: int
    """Verdicts `fail`, `crash` and `timeout`."""

    other: int
    """Verdicts `inconclusive`, `error` and `skipped`."""

    worst: Accuracy | None
    """The most severe accuracy of any case."""

    ulp_p99: float | None
    """Largest P99 of any case, in units in the last place of the output dtype."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Cases of one operator that share a verdict and the kind of reason for it."""

    verdict: Verdict
    """Which."""

    operator: str
    """Operator name."""

    reason: str
    """Why, in the words and with the numbers of the first of them."""

    count: int
    """Cases."""

    next: str | None
    """Command for the first of them, when a finding names one."""


def operator_rows(document: RunDocument) -> tuple[OperatorRow, ...]:
    """One row per operator, those with failures first, then in order of appearance."""
    cases: dict[str, list[ObservationDocument]] = {}
    for observation in document.observations:
        cases.setdefault(observation.case.operator, []).append(observation)
    rows = [_row(operator, observations) for operator, observations in cases.items()]
    return tuple(sorted(rows, key=lambda row: (row.failed == 0, row.passed == row.cases)))


def _row(operator: str, observations: list[ObservationDocument]) -> OperatorRow:
    measured = [o.accuracy for o in observations if o.accuracy is not None]
    ulps = [a.ulp.p99 for a in measured if a.ulp.p99 is not None]
    passed = sum(o.verdict is Verdict.PASS for o in observations)
    failed = sum(o.verdict in FAILING_VERDICTS for o in observations)
    return OperatorRow(
        operator=operator,
        cases=len(observations),
        passed=passed,
        failed=failed,
        other=len(observations) - passed - failed,
        worst=max(measured, key=lambda accuracy: accuracy.severity, default=None),
        ulp_p99=max(ulps, default=None),
    )


def reasons(document: RunDocument, verdicts: Iterable[Verdict]) -> tuple[Reason, ...]:
    """Cases with these verdicts, together where operator, verdict and reason agree, numbers apart; as they appear.

    Skipped cases in which something was refused are together whatever the words of that.
    """
    wanted = tuple(verdicts)
    found: dict[tuple[Verdict, str, str], list[ObservationDocument]] = {}
    for observation in document.observations:
        if observation.verdict in wanted:
            refused = observation.verdict is Verdict.SKIPPED and observation.findings
            kind = str(observation.findings[0].cause) if refused else _kind(_why(observation))
            key = (observation.verdict, observation.case.operator, kind)
            found.setdefault(key, []).append(observation)
    return tuple(
        Reason(
            verdict=verdict,
            operator=operator,
            reason=_why(observations[0]),
            count=len(observations),
            next=_command(observations[0]),
        )
        for (verdict, operator, _), observations in found.items()
    )


def _kind(reason: str) -> str:
    """`reason` without its numbers and the plurals they bring; digits of names such as `out0` stay."""
    return _COUNTED.sub(r"#\1", _NUMBERS.sub("#", reason))


_NUMBER = r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)"
_NUMBERS = re.compile(f"{_NUMBER}(?:, {_NUMBER})*")
_COUNTED = re.compile(r"#( \w+?)s\b")


def never_judged(document: RunDocument) -> tuple[str, ...]:
    """Operators all of whose cases were skipped."""
    operators = dict.fromkeys(o.case.operator for o in document.observations)
    judged = {o.case.operator for o in document.observations if o.verdict is not Verdict.SKIPPED}
    return tuple(operator for operator in operators if operator not in judged)


def slowest(document: RunDocument) -> dict[str, float]:
    """Seconds that operators took with their references in all cases, the longest first; those of `SLOW_S` or more."""
    spent_s: dict[str, float] = {}
    for o in document.observations:
        spent_s[o.case.operator] = spent_s.get(o.case.operator, 0.0) + (o.timing.total_ns / 1e9 if o.timing else 0.0)
    return dict(sorted(((name, s) for name, s in spent_s.items() if s >= SLOW_S), key=lambda item: -item[1]))


def _why(observation: ObservationDocument) -> str:
    if observation.findings:
        return observation.findings[0].statement
    return observation.reason or "no reason was recorded"


def _command(observation: ObservationDocument) -> str | None:
    return observation.findings[0].next if observation.findings else None


def representative(document: RunDocument, group: Group) -> ObservationDocument | None:
    """The case that speaks for `group`: the first of its ids whose statement is the group's, else the first."""
    found = {o.case.id: o for o in document.observations if o.case.id in group.cases}
    cases = [found[case] for case in group.cases if case in found]
    mine = (o for o in cases if o.findings and o.findings[0].statement == group.statement)
    return next(mine, cases[0] if cases else None)


def group_facts(group: Group) -> tuple[str, ...]:
    """What is known of a group beyond its representative: where it begins, what fails and what passes, what it is."""
    return (*group_where(group), *([group.why] if group.why else []))


def group_where(group: Group) -> tuple[str, ...]:
    """Where a group begins, and what separates its failing cases from passing ones."""
    where = (group.boundary, *(f"fails where {separator}" for separator in group.separators))
    return tuple(line for line in where if line)


def recorded(group: Group) -> str:
    """`known since abc1234`, `known` where no commit is known for it; empty: it is new."""
    return f"known since {group.since[:SHORT_COMMIT]}" if group.known and group.since else "known" * group.known


def amber_cases(document: RunDocument) -> int:
    """Passing cases with an output in the amber zone."""
    return sum(
        o.verdict is Verdict.PASS and o.accuracy is not None and o.accuracy.zone is Zone.AMBER
        for o in document.observations
    )


def amber_causes(document: RunDocument) -> dict[str, int]:
    """Amber passes by what their first finding takes them for, most frequent first."""
    counts: dict[str, int] = {}
    for o in document.observations:
        if o.verdict is Verdict.PASS and o.accuracy is not None and o.accuracy.zone is Zone.AMBER and o.findings:
            cause = str(o.findings[0].cause)
            counts[cause] = counts.get(cause, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def overridden_operators(document: RunDocument) -> tuple[str, ...]:
    """Operators judged by a tolerance of the user's own."""
    return tuple(
        dict.fromkeys(
            o.case.operator
            for o in document.observations
            if any(out.accuracy is not None and out.accuracy.bound.startswith(OVERRIDDEN) for out in o.outputs)
        )
    )


def conclusion(document: RunDocument) -> str:
    """The run in one sentence: what was judged, what does not count although it failed, how many became slower."""
    slower = len(document.regressions)
    return judged(document) + (f"; slower, needs a person: {_plural(slower, 'operator')}" if slower else "")


def judged(document: RunDocument) -> str:
    """The same without a word on speed."""
    counts = document.summary.counts
    total = len(document.observations)
    if not total and document.unchanged and document.summary.verdict is Verdict.PASS:
        return f"nothing to run; the change touches none of {_plural(len(document.unchanged), 'operator')}"
    if not total and document.plan is not None and document.plan.cases > document.plan.mine == 0:
        return f"nothing to run; all of {_plural(document.plan.cases, 'case')} are in other shards"
    failed = sum(counts.get(str(verdict), 0) for verdict in FAILING_VERDICTS)
    rest = ", ".join(f"{counts[name]:,} {name}" for name in _REST if counts.get(name))
    operators = len({o.case.operator for o in document.observations})
    known = sum(group.count for group in document.summary.groups if group.known)
    text = (
        f"{failed:,} of {_plural(total, 'case')} of {_plural(operators, 'operator')} failed{_of_known(known, failed)}"
    )
    if document.summary.verdict is Verdict.INCONCLUSIVE and not counts.get(str(Verdict.INCONCLUSIVE)):
        refused = refused_throughout(document.observations)
        if not (failed or counts.get(str(Verdict.PASS))):
            text += "; nothing was judged"
        else:
            which = f"nothing of {_plural(len(refused), 'operator')}" if refused else "not every planned case"
            text += f"; {which} was judged"
    text += f"; {rest}" if rest else ""
    excused = known < failed and document.summary.verdict is not Verdict.FAIL
    return text + (f"; the {'others' if known else 'failures'} do not gate" if excused else "")


def _of_known(known: int, failed: int) -> str:
    """How many failing cases are not of this change."""
    if not known:
        return ""
    which = f"{known:,} of them " if known < failed else "all " if failed > 1 else ""
    return f", {which}known already"


_REST = tuple(str(v) for v in (Verdict.PASS, *UNSETTLED, Verdict.SKIPPED))


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
