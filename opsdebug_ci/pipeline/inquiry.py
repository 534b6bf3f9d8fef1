"""Which case `attribute` and `trace` look into: the first of the operator's run cases that fails and can be read.

Decides the order (that of the plan) and what is said about the choice. Deliberately looks into nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import EnvironmentLimitError, UsageError
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Case, Judgement, OperatorDescription, ReferenceKind, Stage, Status
from opsdebug_ci.model.inquiry import Subject
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Verdict
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Axes, cases, select
from opsdebug_ci.report.document import case_document

EXIT_SAID, EXIT_DIED, EXIT_NOTHING = 0, 1, 4
"""Something could be said; the operator raised, crashed or hung instead; nothing was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """Which operator, and what of its cases is fixed by hand."""

    operator: str
    """Operator name."""

    axes: Axes
    """Values fixed by hand."""

    checks: tuple[ReferenceKind, ...] = tuple(ReferenceKind)
    """References to consult."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The case to look into."""

    judgement: Judgement
    """The case as it ran."""

    description: OperatorDescription
    """Its operator."""

    why: str
    """Why this one."""

    @property
    def readable(self) -> bool:
        """It returned outputs that were compared."""
        return is_readable(self.judgement)


def is_readable(judgement: Judgement) -> bool:
    """Whether a case has an output that was compared element by element."""
    observation = judgement.observation
    return observation.status is Status.RAN and any(output.accuracy is not None for output in observation.outputs)


def choose(inquiry: Inquiry, bench: Workbench, world: World, fits: Callable[[Judgement], bool] = is_readable) -> Chosen:
    """Run the operator's cases until the first failing one that `fits` is known; without one, the first that fits.

    Raises:
        UsageError: the name stands for several operators or for none, or an option does not suit it.
        EnvironmentLimitError: there is no device here that it supports.
    """
    description = _only(inquiry, bench)
    planned = cases(description, Stage.RUN, inquiry.axes, inquiry.checks, bench.devices)
    if not planned:
        raise EnvironmentLimitError(
            f"operator `{description.name}` supports {', '.join(description.devices)}; "
            f"here are {', '.join(bench.devices)}",
            next_step="run `opsdebug doctor`",
        )
    judged: dict[str, Judgement] = {}
    world.progress.start(len(planned))
    answers = bench.pool.run(planned)
    try:
        for case, observation in answers:
            judged[case.id] = judge(case, observation, description.contract)
            world.progress.step(judged[case.id])
            if _settled(planned, judged, fits):
                break
    finally:
        answers.close()
        world.progress.stop()
    return _pick(planned, judged, fits, description)


def _only(inquiry: Inquiry, bench: Workbench) -> OperatorDescription:
    found = select(bench.catalogue.operators, (inquiry.operator,))
    if len(found) > 1:
        names = ", ".join(f"`{operator.name}`" for operator in found[:5])
        raise UsageError(
            f"`{inquiry.operator}` stands for {len(found)} operators: {names}; wanted one", next_step="name one of them"
        )
    return found[0]


def _wanted(judgement: Judgement, fits: Callable[[Judgement], bool]) -> bool:
    return judgement.verdict in FAILING_VERDICTS and fits(judgement)


def _settled(planned: Sequence[Case], judged: dict[str, Judgement], fits: Callable[[Judgement], bool]) -> bool:
    """The first wanted case of the plan is known: none before it is still open."""
    for case in planned:
        judgement = judged.get(case.id)
        if judgement is None:
            return False
        if _wanted(judgement, fits):
            return True
    return True


def _pick(
    planned: Sequence[Case],
    judged: dict[str, Judgement],
    fits: Callable[[Judgement], bool],
    description: OperatorDescription,
) -> Chosen:
    known = [judged[case.id] for case in planned if case.id in judged]
    failing = [judgement for judgement in known if judgement.verdict in FAILING_VERDICTS]
    best = next((judgement for judgement in failing if fits(judgement)), failing[0] if failing else None)
    if best is not None:
        which = "the only case" if len(planned) == 1 else f"the first of {len(planned):,} planned cases"
        return Chosen(judgement=best, description=description, why=f"{which} that fails{_narrowed(best, failing)}")
    fitting = next((judgement for judgement in known if fits(judgement)), known[0])
    which = "the only case" if len(planned) == 1 else f"none of {len(planned):,} planned cases fails; this is the first"
    return Chosen(judgement=fitting, description=description, why=which)


def _narrowed(chosen: Judgement, failing: Sequence[Judgement]) -> str:
    return "" if chosen is failing[0] else " and has what was asked for"


def subject_of(judgement: Judgement, why: str) -> Subject:
    """The public form of a chosen case."""
    return Subject(
        case=case_document(judgement.case), chosen=why, verdict=judgement.verdict, findings=judgement.findings
    )


def died(judgement: Judgement) -> tuple[str, int]:
    """What is said about a case that cannot be looked into, and the exit code."""
    reason = judgement.findings[0].statement if judgement.findings else judgement.observation.reason
    code = EXIT_DIED if judgement.verdict in FAILING_VERDICTS else EXIT_NOTHING
    doing = "was not run" if judgement.verdict is Verdict.SKIPPED else "cannot be looked into"
    return f"the case {doing}: {reason or judgement.verdict}", code
