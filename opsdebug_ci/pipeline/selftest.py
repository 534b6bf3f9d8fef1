"""`opsdebug selftest`: does the tool catch what is wrong, name it, and leave alone what is right?

(1) pick defects and correct operators; (2) run the wrong operator that hangs, alone and briefly; (3) run all others,
the wrong ones until they have failed often enough; (4) score, and decide whether the tool may be trusted.

Decides how many cases each operator gets. Runs them as `run` does, in the same workers, judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase

import opsdebug_ci
from opsdebug_ci.errors import UsageError
from opsdebug_ci.judge import Scorecard, objections, score
from opsdebug_ci.model import Stage, Verdict
from opsdebug_ci.model.description import Unavailable
from opsdebug_ci.model.document import ObservationDocument
from opsdebug_ci.model.judgement import Judgement
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.planted import DEFECTS, RIGHT, WRONG, Defect
from opsdebug_ci.model.run import CiContext, Revision
from opsdebug_ci.model.selftest import SELFTEST_SCHEMA, SelftestDocument
from opsdebug_ci.model.vocabulary import Cause, Gate
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.verification import Baseline, verify
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Axes, Configuration

MODULES = (
    "opsdebug_ci.catalogue.planted.wrong",
    "opsdebug_ci.catalogue.planted.right",
    "opsdebug_ci.catalogue",
)
"""Where the operators are."""

WRONG_CASES = 48
"""Most cases of a wrong operator: some defects show only in one family or size of many. Most fail in their first."""

CLEAN_CASES = 8
"""Most cases of a correct operator: 140 of them make more than 1,000, whose upper bound is 0.38 % without an alarm."""

ENOUGH_FAILURES = 2
"""Failing cases after which a wrong operator is caught, and its cause named as well as it will be."""

HANG_TIMEOUT_S = 8.0
"""Longest a case of the operator that hangs may take. A second is enough for its references."""

PASS_CODE, FAIL_CODE, UNSETTLED_CODE = 0, 1, 4
"""Exit codes of documentation: the gate passes, fails, nothing can be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestRequest:
    """What to test of ourselves."""

    patterns: tuple[str, ...] = ()
    """Names or globs of defects or operators; empty: everything."""

    axes: Axes = field(default_factory=Axes)
    """Seeds fixed by hand."""

    defects: tuple[Defect, ...] = DEFECTS
    """The register of planted defects."""

    modules: tuple[str, ...] = MODULES
    """Modules that hold the wrong and the correct operators."""

    hang_timeout_s: float = HANG_TIMEOUT_S
    """Longest a case of an operator that hangs may take."""

    def picks(self, *names: str) -> bool:
        """Whether any of these names is asked for."""
        return not self.patterns or any(fnmatchcase(name, pattern) for name in names for pattern in self.patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What was run."""

    observations: tuple[ObservationDocument, ...]
    """Every judged case."""

    machine: Machine
    """Where."""

    unavailable: tuple[Unavailable, ...]
    """What cannot run here."""

    defects: tuple[Defect, ...]
    """Defects whose wrong operator was run."""


def selftest(request: SelftestRequest, configuration: Configuration, world: World) -> SelftestDocument:
    """Run planted and correct operators, and score.

    Raises:
        UsageError: a pattern matches nothing.
    """
    started_at, started_ns = world.now(), world.monotonic_ns()
    settings = replace(configuration, operators=request.modules, devices=())
    hanging = _hung(request, settings, world)
    outcome = _run(request, settings, world, hanging)
    card = score(outcome.defects, outcome.observations)
    return _document(card, outcome, started_at, world.monotonic_ns() - started_ns, whole=not request.patterns)


def _hung(request: SelftestRequest, settings: Configuration, world: World) -> tuple[ObservationDocument, ...]:
    """The wrong operators that hang, each until its first case timed out."""
    names = [f"{WRONG}{d.name}" for d in request.defects if d.cause is Cause.HANG and request.picks(*_names(d))]
    if not names:
        return ()
    patient = replace(settings, timeout_s=request.hang_timeout_s)
    with workbench(patient, replace(world, progress=_Unheard())) as bench:
        present = [o.name for o in bench.catalogue.operators if o.name in names]
        return _verified(request, bench, patient, replace(world, progress=_Unheard()), present, enough=1)


def _run(
    request: SelftestRequest, settings: Configuration, world: World, hanging: tuple[ObservationDocument, ...]
) -> _Outcome:
    with workbench(settings, world) as bench:
        here = {operator.name for operator in bench.catalogue.operators}
        defects = tuple(d for d in request.defects if request.picks(*_names(d)) and f"{WRONG}{d.name}" in here)
        wrong = [f"{WRONG}{d.name}" for d in defects if d.cause is not Cause.HANG]
        clean = [name for name in here if _is_clean(request, name)]
        _check_patterns(request, here)
        observations = _verified(request, bench, settings, world, [*wrong, *clean], enough=ENOUGH_FAILURES)
        return _Outcome(
            observations=hanging + observations,
            machine=bench.machine,
            unavailable=bench.catalogue.unavailable,
            defects=defects,
        )


def _names(defect: Defect) -> tuple[str, ...]:
    return defect.name, f"{WRONG}{defect.name}", f"{RIGHT}{defect.name}"


def _is_clean(request: SelftestRequest, operator: str) -> bool:
    """Whether an operator must pass, and is asked for by its own name or by that of its defect."""
    return not operator.startswith(WRONG) and request.picks(operator, operator.removeprefix(RIGHT))


def _verified(
    request: SelftestRequest,
    bench: Workbench,
    settings: Configuration,
    world: World,
    operators: Sequence[str],
    *,
    enough: int,
) -> tuple[ObservationDocument, ...]:
    """The judged cases of these operators, as `run` would have them."""
    if not operators:
        return ()
    limits = {name: WRONG_CASES if name.startswith(WRONG) else CLEAN_CASES for name in operators}
    selection = Selection(
        stage=Stage.RUN, patterns=tuple(operators), axes=request.axes, limits=limits, enough_failures=enough
    )
    baseline, revision = Baseline(gate=Gate.ALL), Revision()
    document = verify(selection, bench, settings, world, baseline=baseline, revision=revision, ci=CiContext())
    return document.observations


def _document(
    card: Scorecard, outcome: _Outcome, started_at: datetime, duration_ns: int, *, whole: bool
) -> SelftestDocument:
    said = objections(card, whole=whole)
    open_questions = _open_questions(card)
    verdict = Verdict.FAIL if said else Verdict.INCONCLUSIVE if open_questions else Verdict.PASS
    codes = {Verdict.FAIL: FAIL_CODE, Verdict.INCONCLUSIVE: UNSETTLED_CODE, Verdict.PASS: PASS_CODE}
    return SelftestDocument(
        schema=SELFTEST_SCHEMA,
        tool_version=opsdebug_ci.__version__,
        machine=outcome.machine,
        started_at=started_at.isoformat(timespec="milliseconds"),
        duration_ns=duration_ns,
        verdict=verdict,
        exit_code=codes[verdict],
        reasons=said + open_questions,
        detection=card.detection,
        top1=card.top1,
        top3=card.top3,
        false_alarms=card.false_alarms,
        inconclusive=card.inconclusive,
        errors=card.errors,
        causes=card.causes,
        defects=card.defects,
        troubles=card.troubles,
        unavailable=outcome.unavailable,
    )


def _open_questions(card: Scorecard) -> tuple[str, ...]:
    """Why nothing can be said, where nothing speaks against the tool."""
    return tuple(
        text
        for said, text in (
            (card.errors > 0, f"{card.errors:,} correct cases broke"),
            (card.false_alarms.of == 0, "no correct case was judged"),
        )
        if said
    )


def _check_patterns(request: SelftestRequest, here: set[str]) -> None:
    names = [*here, *(name for defect in request.defects for name in _names(defect))]
    missed = [pattern for pattern in request.patterns if not any(fnmatchcase(name, pattern) for name in names)]
    if missed:
        raise UsageError(
            f"`--only` has {', '.join(f'`{pattern}`' for pattern in missed)}, which no planted defect and no built-in "
            "operator matches",
            next_step="run `opsdebug selftest --json` for their names, or give a glob, e.g. --only 'tail*'",
        )


class _Unheard:
    """Progress of a run that is too short to tell."""

    def start(self, total: int) -> None:
        """Not told."""

    def step(self, judgement: Judgement) -> None:
        """Not told."""

    def tell(self, doing: str) -> None:
        """Not told."""

    def drop(self, count: int) -> None:
        """Not told."""

    def stop(self) -> None:
        """Not told."""
