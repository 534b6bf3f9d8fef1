"""Why an operator fails: hypotheses found on one failing case and tested on all the others.

(1) of the failing cases nobody has explained, the plainest one leads; (2) hypotheses about it: patterns in its
tensors, alterations of the reference that reproduce it, numbers fitted to it, probes; (3) each is asked about every
other failing case, and whether it would have shown in cases that pass; (4) the one that explains most is told of all
it explains. What is left gets another lead, and after LEADS of them stays unexplained.

Deliberately ranks nothing beside what the judge finds without launching.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Cause, Direction, Family, Layout
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns import PATTERNS, Pattern
from opsdebug_ci.worker.containment import heard
from opsdebug_ci.worker.probes import PROBES
from opsdebug_ci.worker.probes.altered_reference import altered_hypotheses
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.fitted_constant import fitted_hypotheses
from opsdebug_ci.worker.probes.fitted_limit import FittedLimit, limit_hypotheses
from opsdebug_ci.worker.probes.fitted_table import table_hypotheses
from opsdebug_ci.worker.probes.health_origin import is_unhealthy, origin_of
from opsdebug_ci.worker.probes.hypothesis import Hypothesis, OfRule
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.probes.steadiness import changed_bits

LEADS = 4
"""Failing cases of an operator that hypotheses are sought on."""

CASE_S = 4.0
"""What may be spent on one of them, see `Budget`."""

OPERATOR_S = 10.0
"""What may be spent on an operator; another lead is begun within it."""

STEADY = 3
"""Failing cases launched again and again before anything is sought."""

MOST_CLUES = 8
"""Clues kept per output, the most probable ones."""

CORROBORATED = 0.95
"""Most that several rules together are worth."""

SHADOWING = (Cause.BROADCASTING,)
"""Causes that look like another one, so that the search goes on: one entry for all is also what a write smears."""

SETTLED = 0.93
"""Confidence from which no further probe is made."""

PROBED = 4
"""Other cases that a probe is asked about; where it sees the same in most of them, it stands for the rest."""

AGREED = 0.75
"""Share of them that are most."""

TRACED = 2
"""Cases of which it is asked where NaN or infinities come from."""

LEAST_BITS = 16.0
"""Evidence below which a reproduction may be one of some hundred alterations that were tried, by chance."""

CONDITIONAL_BITS = 256.0
"""Evidence of several cases from which passing ones, where it would have shown, limit a hypothesis and do not refute
it."""

MOST = 0.9
"""Share of the failing cases from which a hypothesis explains the operator, so that no other is sought."""

LEADING = 0.4
"""Share of the failing cases from which a hypothesis is asked at length about the others."""

MAJORITY = 0.5
"""Share of the cases left unexplained that a hypothesis must explain more than: of some hundred hypotheses one fits a
few cases by chance, while a fault of its own makes most of what is left: of the plain ones, and half as much of all."""

REFUTED = 0.3
"""What the confidence in a hypothesis is multiplied with that would have shown in cases that pass."""

EVERYDAY = (Family.NORMAL, Family.UNIFORM, Family.OWN)
PLAIN = (*EVERYDAY, Family.INTEGER, Family.CONSTANT, Family.SHIFTED, Family.INDEX_CODED, Family.OWN_EMPTY)

UNUSUAL = 2
"""What `_plainness` says of values of other families."""

FEW_ELEMENTS = 64
"""Elements of an output below which a case tells little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A case of an operator, launched and compared, to be looked at. Holds live tensors."""

    case: Case
    """Which one."""

    observation: Observation
    """What happened."""

    failures: tuple[Failure, ...]
    """Every output; those that are right have no bad element."""

    scene: Scene
    """To probe it."""

    @property
    def is_plain(self) -> bool:
        """Everyday values or nearly so, and enough elements that a fault can be seen in them."""
        _, unusual, few, *_ = _plainness(self)
        return unusual != UNUSUAL and not few

    @property
    def failing(self) -> tuple[Failure, ...]:
        """The outputs that are wrong."""
        wrong = {output.name for output in self.observation.outputs if output.rejected}
        return tuple(failure for failure in self.failures if failure.output in wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What was found out about the failure of a case."""

    clues: tuple[Clue, ...] = ()
    """For every failing output, most probable first per output."""

    origin: HealthEvent | None = None
    """First step that lets NaN or infinities appear; None: there is none, or nobody looked."""

    mismatches: int = 0
    """Output elements whose bits changed in another launch like the first: nothing was sought then where the contract
    promises that none do, and all are written."""

    is_plain: bool = True
    """See `Exhibit.is_plain`: what explains an operator is counted on such cases, where there are any."""


def investigate(failing: Sequence[Exhibit], passing: Sequence[Exhibit] = (), only: str = "") -> dict[str, Explanation]:
    """Case id -> what was found out, of every failing case.

    Args:
        failing: cases of one operator with wrong outputs, in the order of the plan.
        passing: some of its cases that pass.
        only: key of the one hypothesis that is asked; empty: they are sought.
    """
    unsteady = {exhibit.case.id: count for exhibit, count in _unsteady(failing)}
    found = {case: Explanation(mismatches=count) for case, count in unsteady.items()}
    steady = [exhibit for exhibit in failing if exhibit.case.id not in unsteady]
    if unsteady and all(exhibit.scene.operator.contract.deterministic for exhibit in steady):
        steady = []
    told = _Search(steady, passing, only).told() if steady else {}
    origins = _origins(steady)
    for exhibit in failing:
        case = exhibit.case.id
        if case not in found:
            clues = tuple(told.get(case, ()))
            found[case] = Explanation(clues=clues, origin=origins.get(case), is_plain=exhibit.is_plain)
    return found


def _unsteady(failing: Sequence[Exhibit]) -> Iterator[tuple[Exhibit, int]]:
    """Cases whose bits change from launch to launch although the contract promises that they do not."""
    asked = {exhibit.case.id for exhibit in sorted(failing, key=_plainness)[:STEADY]}
    for exhibit in failing:
        seen = exhibit.observation
        if seen.repeat_mismatches and exhibit.scene.operator.contract.deterministic and not seen.unwritten:
            yield exhibit, seen.repeat_mismatches
        elif exhibit.case.id in asked:
            count = changed_bits(exhibit.scene)
            if count:
                yield exhibit, count


def _plainness(exhibit: Exhibit) -> tuple[object, ...]:
    """What makes a case easy to read, best first: everyday values, then few elements, though not too few."""
    case = exhibit.case
    elements = max((failure.actual.numel() for failure in exhibit.failing), default=0)
    return (
        case.direction is not Direction.FORWARD,
        (case.inputs not in EVERYDAY) + (case.inputs not in PLAIN),
        elements < FEW_ELEMENTS,
        case.layout not in (Layout.CONTIGUOUS, Layout.OWN),
        elements,
        case.id,
    )


def _patterns(scene: Scene, failure: Failure, only: str) -> Iterator[Hypothesis]:
    """What the tensors alone show."""
    del scene
    for pattern in PATTERNS:
        if only and not only.startswith(pattern.__name__):
            continue

        def rule(_: Scene, asked: Failure, pattern: Pattern = pattern) -> Iterable[Clue]:
            return pattern(asked)

        for clue in heard(pattern, failure):
            yield OfRule(rule=rule, name=pattern.__name__, seen=clue)


def _probed(scene: Scene, failure: Failure, only: str) -> Iterator[Hypothesis]:
    """What a few launches show."""
    for probe in PROBES:
        if scene.expired:
            return
        if only and not only.startswith(probe.__name__):
            continue
        for clue in heard(probe, scene, failure):
            yield OfRule(rule=probe, name=probe.__name__, seen=clue, most_tests=PROBED)


def _origins(failing: Sequence[Exhibit]) -> dict[str, HealthEvent]:
    """Case id -> where what is not finite comes from, of the plainest cases that show any."""
    unhealthy = [exhibit for exhibit in failing if any(map(is_unhealthy, exhibit.failing))]
    found = {}
    for exhibit in sorted(unhealthy, key=_plainness)[:TRACED]:
        for origin in heard(_origin, exhibit.scene):
            found[exhibit.case.id] = origin
    return found


def _origin(scene: Scene) -> Iterator[HealthEvent]:
    found = None if scene.expired else origin_of(scene)
    if found is not None:
        yield found


@dataclass(slots=True, kw_only=True)
class _Tested:
    """A hypothesis and what it explains."""

    hypothesis: Hypothesis
    """What is supposed."""

    clues: dict[str, tuple[Clue, ...]] = field(default_factory=dict)
    """Case id -> what it says of that case, of the failing cases it explains."""

    at_length: set[str] = field(default_factory=set)
    """Ids of the cases it was asked about at length."""

    asked: int = 0
    """Failing cases it was asked about."""

    shown: int = 0
    """Passing cases in which it would have shown."""

    of_passing: int = 0
    """Passing cases it was asked about."""

    @property
    def bits(self) -> float:
        """Evidence of all cases together."""
        return sum(float(clue.evidence.get("bits") or 0.0) for clues in self.clues.values() for clue in clues)

    @property
    def doubt(self) -> float:
        """What its confidence is multiplied with. What is that sure of several cases is there under a condition: in one
        dtype or at some sizes."""
        conditional = len(self.clues) > 1 and self.bits >= CONDITIONAL_BITS
        return REFUTED if self.shown > 0.1 * self.of_passing and not conditional else 1.0

    def worth(self, cases: Iterable[str]) -> float:
        """How much of `cases` it explains, each as surely as it does."""
        mine = [max(clue.confidence for clue in self.clues[case]) for case in cases if case in self.clues]
        return self.doubt * sum(mine)


PREDICTING = (altered_hypotheses, fitted_hypotheses)
"""Sources whose hypotheses predict values; they are ended only by one that does: what a pattern sees in places may be a
table, a constant."""

SOURCES = (_patterns, limit_hypotheses, *PREDICTING, table_hypotheses, _probed)
"""Where hypotheses come from, in the order in which they are asked."""


class _Search:
    """Leads, hypotheses and what they explain."""

    def __init__(self, failing: Sequence[Exhibit], passing: Sequence[Exhibit], only: str = "") -> None:
        self._only = only
        self._failing = {exhibit.case.id: exhibit for exhibit in failing}
        self._passing = passing
        self._tested: list[_Tested] = []

    def told(self) -> dict[str, list[Clue]]:
        """Case id -> clues, most probable first."""
        left = sorted(self._failing.values(), key=_plainness)
        budget = Budget(OPERATOR_S, within=left[0].scene.budget)
        for _ in range(LEADS):
            if not left or budget.expired:
                break
            lead = left[0]
            self._look_into(lead, left)
            explained = self._explained()
            left = [exhibit for exhibit in left[1:] if exhibit.case.id not in explained]
        return self._said()

    def _look_into(self, lead: Exhibit, left: Sequence[Exhibit]) -> None:
        """Hypotheses about one case, until one of them explains nearly all that is left."""
        budget = Budget(CASE_S, within=lead.scene.budget)
        scene = replace(lead.scene, budget=budget)
        names = [exhibit.case.id for exhibit in left]
        for source in SOURCES:
            for failure in lead.failing:
                for hypothesis in heard(source, scene, failure, self._only):
                    if self._only in ("", hypothesis.key):
                        self._test(hypothesis, lead)
                    if source is _probed and self._is_settled(names, alone=False):
                        return
                if budget.expired:
                    return
            if source not in (_patterns, limit_hypotheses) and self._is_settled(names, alone=source in PREDICTING):
                return

    def _is_settled(self, names: Sequence[str], *, alone: bool) -> bool:
        """A hypothesis explains nearly all of them as surely as it gets; `alone` those that predict values count."""
        return any(
            each.hypothesis.cause not in SHADOWING
            and (each.hypothesis.counts_bits or not alone)
            and sum(name in each.clues for name in names) >= MOST * len(names)
            and each.worth(names) >= SETTLED * sum(name in each.clues for name in names)
            for each in self._tested
        )

    def _test(self, hypothesis: Hypothesis, lead: Exhibit) -> None:
        if any(each.hypothesis.key == hypothesis.key for each in self._tested):
            return
        if isinstance(hypothesis, FittedLimit):
            hypothesis = hypothesis.fitted([(each.scene, each.failing) for each in self._failing.values()])
        tested = _Tested(hypothesis=hypothesis)
        others = [exhibit for exhibit in self._failing.values() if exhibit is not lead][: hypothesis.most_tests]
        for exhibit in (lead, *others):
            tested.asked += 1
            clues = tuple(heard(hypothesis.clues, exhibit.scene, exhibit.failing))
            if clues:
                tested.clues[exhibit.case.id] = clues
            elif exhibit is lead:
                return
        untested = self._failing.keys() - {exhibit.case.id for exhibit in (lead, *others)}
        if untested and len(tested.clues) >= AGREED * tested.asked:
            tested.clues |= dict.fromkeys(untested, tested.clues[lead.case.id])
        for exhibit in self._passing:
            tested.of_passing += 1
            tested.shown += hypothesis.shows(exhibit.scene, exhibit.failures)
        self._tested.append(tested)

    def _chosen(self) -> list[tuple[_Tested, list[str]]]:
        """Hypotheses that explain most, each with the cases that none before it explains."""
        chosen: list[tuple[_Tested, list[str]]] = []
        left = list(self._failing)
        able = [each for each in self._tested if not each.hypothesis.counts_bits or each.bits >= LEAST_BITS]
        while left and able:
            best = max(able, key=lambda each: (each.worth(left), -each.shown, each.bits))
            mine = [case for case in left if case in best.clues]
            plain = [case for case in left if self._failing[case].is_plain] or left
            least = (1 - MOST) * len(self._failing) if chosen else MAJORITY / 2 * len(left)
            if not mine or len(mine) < least or len(set(plain) - set(mine)) > (1 - MAJORITY) * len(plain):
                break
            chosen.append((best, mine))
            left = [case for case in left if case not in best.clues]
            able.remove(best)
        return chosen

    def _explained(self) -> set[str]:
        """Cases explained; those which the leading hypothesis does not explain at first sight are asked at length."""
        chosen = self._chosen()
        if chosen and len(chosen[0][1]) >= LEADING * len(self._failing):
            best = chosen[0][0]
            for exhibit in self._failing.values():
                if exhibit.case.id in best.clues or exhibit.case.id in best.at_length or exhibit.scene.expired:
                    continue
                best.at_length.add(exhibit.case.id)
                clues = tuple(heard(best.hypothesis.clues_at_length, exhibit.scene, exhibit.failing))
                if clues:
                    best.clues[exhibit.case.id] = clues
        return {case for _, cases in self._chosen() for case in cases}

    def _said(self) -> dict[str, list[Clue]]:
        """What the chosen hypotheses say of their cases, and how many they explain; then what else is known."""
        said: dict[str, list[Clue]] = {}
        for best, cases in self._chosen():
            extent: dict[str, EvidenceValue] = {
                "hypothesis": best.hypothesis.key,
                "explains": len(cases),
                "of_failing": len(self._failing),
                "invisible_in": best.of_passing - best.shown,
                "of_passing": best.of_passing,
            }
            for case in cases:
                first = [_with(clue, extent, best.doubt) for clue in best.clues[case]]
                rest = [
                    _with(clue, {}, each.doubt)
                    for each in self._tested
                    if each is not best
                    for clue in each.clues.get(case, ())
                ]
                said[case] = _ranked(first, rest)
        return said


def _with(clue: Clue, extent: Mapping[str, EvidenceValue], doubt: float) -> Clue:
    return replace(clue, confidence=clue.confidence * doubt, evidence={**clue.evidence, **extent})


def _ranked(first: Sequence[Clue], rest: Sequence[Clue]) -> list[Clue]:
    """The chosen clues as sure as all rules of their cause are together, then the others, none surer than they are."""
    told: list[Clue] = []
    for clue in first:
        same = {each.rule: each.confidence for each in rest if each.output == clue.output and each.cause is clue.cause}
        agreed = 1 - math.prod(1 - confidence for rule, confidence in same.items() if rule != clue.rule)
        together = clue.confidence + 0.5 * (1 - clue.confidence) * agreed
        told.append(replace(clue, confidence=max(clue.confidence, min(together, CORROBORATED))))
    limit = min((clue.confidence for clue in told), default=1.0)
    said = {(clue.output, clue.statement) for clue in told}
    others = [
        replace(clue, confidence=min(clue.confidence, limit - 0.01))
        for clue in rest
        if (clue.output, clue.statement) not in said
    ]
    return [*told, *sorted(others, key=lambda clue: -clue.confidence)[: MOST_CLUES - len(told)]]
