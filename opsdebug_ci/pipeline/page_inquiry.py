"""`opsdebug trace --guard pages`: which line of the chosen case touches memory beyond its tensors. Stores nothing."""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.execution.page_faults import page_faults
from opsdebug_ci.judge import judge
from opsdebug_ci.judge.command import rerun
from opsdebug_ci.judge.rules.pages import fault_text
from opsdebug_ci.model import Judgement, Status
from opsdebug_ci.model.inquiry import TRACE_SCHEMA, TraceDocument
from opsdebug_ci.model.memory import PageInquiry
from opsdebug_ci.model.vocabulary import CheckpointMode
from opsdebug_ci.pipeline.inquiry import EXIT_DIED, EXIT_NOTHING, EXIT_SAID, Inquiry, choose, died, subject_of
from opsdebug_ci.pipeline.workbench import workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.report.pages import pages_conclusion

NOTHING_ASKED = PageInquiry(launches=(), faults=(), notes=())
"""What is known of pages where the case was not launched."""


def watch_pages(wanted: Inquiry, configuration: Configuration, world: World) -> TraceDocument:
    """Choose a case, launch it under watched pages, name the lines that touch one."""
    with workbench(configuration, world) as bench:
        chosen = choose(wanted, bench, world, fits=launches)
        if not launches(chosen.judgement):
            said, code = died(chosen.judgement)
            return _document(chosen.judgement, chosen.why, NOTHING_ASKED, (said,), code)
        case = chosen.judgement.case
        found = page_faults(bench.pool, case)
    judgement = judge(case, replace(chosen.judgement.observation, pages=found.faults), chosen.description.contract)
    conclusion = pages_conclusion(found, [fault_text(fault) for fault in found.faults])
    return _document(judgement, chosen.why, found, conclusion, exit_code(found))


def launches(judgement: Judgement) -> bool:
    """Whether the operator itself ran: to an answer, or to the death of its worker."""
    return judgement.observation.status in (Status.RAN, Status.CRASHED)


def exit_code(inquiry: PageInquiry) -> int:
    """As `trace` has it: something could be said, the operator died of something else, nothing was watched."""
    if inquiry.faults:
        return EXIT_SAID
    if inquiry.launches and inquiry.launches[-1].died:
        return EXIT_DIED
    return EXIT_SAID if inquiry.watched else EXIT_NOTHING


def _document(
    judgement: Judgement, why: str, inquiry: PageInquiry, conclusion: tuple[str, ...], code: int
) -> TraceDocument:
    again = rerun(judgement.case, "--guard", "pages", command="trace") if inquiry.faults else rerun(judgement.case)
    return TraceDocument(
        schema=TRACE_SCHEMA,
        subject=subject_of(judgement, why),
        mode=CheckpointMode.NONE,
        reference=None,
        steps=(),
        first_bad=None,
        health=(),
        looked_at=0,
        notes=inquiry.notes,
        conclusion=conclusion,
        next=(again,),
        exit_code=code,
        pages=inquiry,
    )
