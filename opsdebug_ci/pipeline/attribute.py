"""`opsdebug attribute`: a region of an output of the chosen case against the rest of it. Stores nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opsdebug_ci.errors import UsageError
from opsdebug_ci.judge import judge
from opsdebug_ci.judge.command import rerun
from opsdebug_ci.model import Judgement
from opsdebug_ci.model.attribution import Attribution, RegionReading
from opsdebug_ci.model.inquiry import ATTRIBUTE_SCHEMA, AttributionDocument
from opsdebug_ci.model.message import AttributeCase
from opsdebug_ci.model.region import Region, admits, resolve
from opsdebug_ci.pipeline.inquiry import EXIT_SAID, Chosen, Inquiry, choose, died, is_readable, subject_of
from opsdebug_ci.pipeline.workbench import workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.report.attribution import around_worst, conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionInquiry:
    """What to look into."""

    inquiry: Inquiry
    """Operator and fixed axes."""

    region: Region | None
    """Which region; None: all of the output."""

    output: str | None = None
    """Which output; None: the worst one."""


def attribute(wanted: RegionInquiry, configuration: Configuration, world: World) -> AttributionDocument:
    """Choose a case, read the region, say what separates its bad elements.

    Raises:
        UsageError: the region fits the output of no case, or there is no such output; names the shape.
    """
    with workbench(configuration, world) as bench:
        chosen = choose(wanted.inquiry, bench, world, lambda judgement: _fits(wanted, judgement))
        if not chosen.readable:
            return _unread(chosen.judgement, chosen.why)
        _refuse_misfit(wanted, chosen)
        request = AttributeCase(case=chosen.judgement.case, region=wanted.region, output=wanted.output)
        answer = bench.pool.about(request, Attribution)
    observation = answer.observation if isinstance(answer, Attribution) else answer
    judgement = judge(chosen.judgement.case, observation, chosen.description.contract)
    if isinstance(answer, Attribution) and answer.refusal is not None:
        raise UsageError(answer.refusal, next_step=answer.remedy or "")
    if not isinstance(answer, Attribution) or answer.reading is None:
        return _unread(judgement, chosen.why)
    told = replace(judgement, findings=chosen.judgement.findings or judgement.findings)
    return AttributionDocument(
        schema=ATTRIBUTE_SCHEMA,
        subject=subject_of(told, chosen.why),
        reading=answer.reading,
        conclusion=conclusion(answer.reading),
        next=_next(judgement, answer.reading),
        exit_code=EXIT_SAID,
    )


def _next(judgement: Judgement, reading: RegionReading) -> tuple[str, ...]:
    """The steps of the case; before them, where the region holds nothing bad, the surroundings of the worst element."""
    if not reading.inside.bad + reading.outside.bad:
        return (rerun(judgement.case),)
    worst = next((output for output in judgement.observation.outputs if output.name == reading.output), None)
    at = None if worst is None or worst.accuracy is None else around_worst(worst.accuracy, reading.shape)
    elsewhere = [] if reading.inside.bad or at is None else [rerun(judgement.case, "--range", at, command="attribute")]
    return (*elsewhere, rerun(judgement.case, command="trace"))


def _unread(judgement: Judgement, why: str) -> AttributionDocument:
    said, code = died(judgement)
    return AttributionDocument(
        schema=ATTRIBUTE_SCHEMA,
        subject=subject_of(judgement, why),
        reading=None,
        conclusion=(said,),
        next=(rerun(judgement.case),),
        exit_code=code,
    )


def _fits(wanted: RegionInquiry, judgement: Judgement) -> bool:
    if not is_readable(judgement):
        return False
    worst = judgement.observation.worst_output
    named = [output for output in judgement.observation.outputs if output.name == wanted.output]
    shape = (named[0] if named else worst or judgement.observation.outputs[0]).actual.shape
    return wanted.region is None or admits(wanted.region, shape)


def _refuse_misfit(wanted: RegionInquiry, chosen: Chosen) -> None:
    """Raises UsageError at once where the region does not fit, before the case is run again."""
    outputs = chosen.judgement.observation.outputs
    worst = chosen.judgement.observation.worst_output or outputs[0]
    output = next((output for output in outputs if output.name == wanted.output), worst)
    if wanted.region is not None and wanted.output in (None, output.name):
        what = f"output `{output.name}` of {chosen.judgement.case.name}"
        resolve(wanted.region, output.actual.shape, what)
