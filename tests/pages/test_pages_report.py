"""`opsdebug trace --guard pages` as text, whole, and how it ends."""

from __future__ import annotations

import pytest

from opsdebug_ci.model import Case, Family, Layout
from opsdebug_ci.model.inquiry import TRACE_SCHEMA, Subject, TraceDocument
from opsdebug_ci.model.memory import PageFault, PageInquiry, PageLaunch
from opsdebug_ci.model.vocabulary import Access, CheckpointMode, PageMode, Side, Verdict
from opsdebug_ci.pipeline.page_inquiry import exit_code
from opsdebug_ci.report import pages_text
from opsdebug_ci.report.document import case_document
from opsdebug_ci.report.pages import pages_conclusion

CASE = Case(operator="f", dims={"N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0)
PLACE = "/p/ops.py:20"


def launch(mode: str, *, died: bool = False, protected: bool = True, alignment: int = 1, reason=None) -> PageLaunch:
    place = PLACE if died else None
    return PageLaunch(
        mode=PageMode(mode), alignment=alignment, protected=protected, died=died, place=place, reason=reason
    )


def inquiry(*launches: PageLaunch, faults: tuple[PageFault, ...] = (), notes: tuple[str, ...] = ()) -> PageInquiry:
    return PageInquiry(launches=launches, faults=faults, notes=notes)


FAULT = PageFault(
    access=Access.WRITE,
    side=Side.TAIL,
    place=PLACE,
    frames=(f"{PLACE} bad_store",),
    modes=(PageMode.TAIL, PageMode.TAIL_READABLE),
    source="tl.store(out + i, y)",
)
FOUND = inquiry(
    launch("tail", died=True),
    launch("tail_readable", died=True),
    launch("tail", protected=False),
    launch("head", alignment=16),
    launch("inputs_readable", reason="60 s"),
    faults=(FAULT,),
    notes=("a process dies once",),
)
CLEAN = inquiry(launch("tail"), launch("head"), launch("inputs_readable"))
PARTLY = inquiry(launch("tail"), launch("head", reason="60 s"), notes=("60 s",))
NEVER = inquiry(launch("tail", reason="pages are watched on the CPU"), notes=("pages are watched on the CPU",))
ANYWAY = inquiry(launch("tail", died=True), launch("tail", died=True, protected=False), notes=("dies anyway",))


@pytest.mark.parametrize(
    ("found", "faults", "said", "code"),
    [
        (FOUND, ["writes there"], "writes there", 0),
        (CLEAN, [], "touches nothing beyond its tensors under watched pages (tail, head, inputs_readable)", 0),
        (
            PARTLY,
            [],
            "touches nothing beyond its tensors under watched pages (tail); then nothing more was learnt: 60 s",
            0,
        ),
        (NEVER, [], "no page was watched: pages are watched on the CPU", 4),
        (inquiry(), [], "no page was watched: nothing was launched", 4),
        (ANYWAY, [], "dies anyway", 1),
    ],
)
def test_conclusion_and_exit_code(found: PageInquiry, faults: list[str], said: str, code: int) -> None:
    assert pages_conclusion(found, faults) == (said,)
    assert exit_code(found) == code


def test_the_text_has_conclusion_launches_line_and_next_command() -> None:
    document = TraceDocument(
        schema=TRACE_SCHEMA,
        subject=Subject(case=case_document(CASE), chosen="the only case", verdict=Verdict.PASS, findings=()),
        mode=CheckpointMode.NONE,
        reference=None,
        steps=(),
        first_bad=None,
        health=(),
        looked_at=0,
        notes=FOUND.notes,
        conclusion=("writes there",),
        next=("opsdebug trace f --guard pages",),
        exit_code=0,
        pages=FOUND,
    )
    assert (
        pages_text(document)
        == """\
TRACE: writes there
case f[N=4 float32 contiguous normal seed=0 cpu]: pass
  the only case

mode             pages watched                                the operator   at
tail             behind ends: no access                       dies           /p/ops.py:20
tail_readable    behind ends: reads allowed                   dies           /p/ops.py:20
tail             behind ends: all allowed                     lives          -
head             before beginnings: no access, aligned to 16  lives          -
inputs_readable  arguments nobody may write: reads allowed    tells nothing  -

write at /p/ops.py:20
    tl.store(out + i, y)

note: a process dies once

next: opsdebug trace f --guard pages
"""
    )
