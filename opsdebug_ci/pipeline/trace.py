"""`opsdebug trace`: the steps of the chosen case against those of its references. Stores nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opsdebug_ci.judge import judge
from opsdebug_ci.judge.command import rerun
from opsdebug_ci.model import Case, Judgement, ReferenceKind
from opsdebug_ci.model.inquiry import TRACE_SCHEMA, TraceDocument
from opsdebug_ci.model.message import TraceCase
from opsdebug_ci.model.trace import CaseTrace
from opsdebug_ci.model.vocabulary import CheckpointMode
from opsdebug_ci.pipeline.inquiry import EXIT_SAID, Inquiry, choose, died, subject_of
from opsdebug_ci.pipeline.workbench import workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.plan.setting import DEFAULT_HEALTH_LIMIT
from opsdebug_ci.report.trace import first_jump, first_unhealthy, is_harmless, trace_conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInquiry:
    """What to look into."""

    inquiry: Inquiry
    """Operator and fixed axes."""

    mode: CheckpointMode
    """What to look at."""

    step_limit: int | None = None
    """Steps to look at besides the outputs; None: all of them."""

    bisect: bool = False
    """Find by bisection which call spoils each wrong output."""


def trace(wanted: StepInquiry, configuration: Configuration, world: World) -> TraceDocument:
    """Choose a case, trace it, name the first step that goes wrong."""
    limits = configuration.health_limit
    with workbench(configuration, world) as bench:
        chosen = choose(wanted.inquiry, bench, world)
        if not chosen.readable:
            return _untraced(chosen.judgement, chosen.why, wanted.mode)
        case = in_higher_precision(chosen.judgement.case)
        request = TraceCase(
            case=case,
            mode=wanted.mode,
            health_limit=DEFAULT_HEALTH_LIMIT if limits.default is None else limits.default,
            health_limits={name: limit for name, limit in limits.by_name.items() if limit is not None},
            step_limit=wanted.step_limit,
            bisect=wanted.bisect,
        )
        answer = bench.pool.about(request, CaseTrace)
    observation = answer.observation if isinstance(answer, CaseTrace) else answer
    judgement = judge(case, observation, chosen.description.contract)
    if not isinstance(answer, CaseTrace) or not answer.steps:
        return _untraced(judgement, chosen.why, wanted.mode)
    return _traced(answer, replace(chosen.judgement, verdict=judgement.verdict), chosen.why, wanted.mode)


def in_higher_precision(case: Case) -> Case:
    """`case` with the precise reference asked too, where the torch one is: steps are compared in higher precision."""
    lifted = ReferenceKind.TORCH in case.checks and ReferenceKind.PRECISE not in case.checks
    return replace(case, checks=(*case.checks, ReferenceKind.PRECISE)) if lifted else case


def _traced(answer: CaseTrace, judgement: Judgement, why: str, mode: CheckpointMode) -> TraceDocument:
    jump = first_jump([step for step in answer.steps if step.unpaired is None])
    watching = mode is CheckpointMode.HEALTH and not is_harmless(answer)
    sick = first_unhealthy(answer) if watching else None
    first = sick.name if sick is not None else None if jump is None else jump.name
    return TraceDocument(
        schema=TRACE_SCHEMA,
        subject=subject_of(judgement, why),
        mode=mode,
        reference=answer.reference,
        steps=answer.steps,
        first_bad=first,
        health=answer.health,
        looked_at=answer.looked_at,
        layouts=answer.layouts,
        bisections=answer.bisections,
        notes=answer.notes,
        conclusion=trace_conclusion(answer, mode),
        next=(rerun(judgement.case),),
        exit_code=EXIT_SAID,
    )


def _untraced(judgement: Judgement, why: str, mode: CheckpointMode) -> TraceDocument:
    said, code = died(judgement)
    return TraceDocument(
        schema=TRACE_SCHEMA,
        subject=subject_of(judgement, why),
        mode=mode,
        reference=None,
        steps=(),
        first_bad=None,
        health=(),
        looked_at=0,
        notes=(),
        conclusion=(said,),
        next=(rerun(judgement.case),),
        exit_code=code,
    )
