"""The text of a trace: what was bisected, where health was lost and where layouts differ, as a person reads it."""

from __future__ import annotations

from judge_notation import judged, output, ran

from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.model.inquiry import TRACE_SCHEMA, TraceDocument
from opsdebug_ci.model.memory import LayoutChange
from opsdebug_ci.model.trace import Bisection, CaseTrace
from opsdebug_ci.model.vocabulary import CheckpointMode
from opsdebug_ci.pipeline.inquiry import subject_of
from opsdebug_ci.report.trace import LAYOUTS_SHOWN, trace_conclusion, trace_text

JUDGEMENT = judged(ran(output()))

EVENT = HealthEvent(
    position=3,
    name="norm/log #2",
    source=StepSource.CALL,
    flow=Flow.APPEAR,
    shape=(4,),
    dtype="float32",
    nan=2,
    infinite=1,
    over_limit=0,
    first_index=(1,),
    legal=False,
    place="/somewhere/ops.py:14",
)

SAMPLED = HealthEvent(
    position=4,
    name="kernel",
    source=StepSource.LAUNCH,
    flow=Flow.APPEAR,
    shape=(4000, 1000),
    dtype="float16",
    nan=1,
    infinite=0,
    over_limit=0,
    first_index=None,
    legal=False,
    sampled=2048,
)

LAYOUTS = (
    LayoutChange(tensor="h", field="stride", before="(4, 1)", after="(1, 4)", place="/somewhere/ops.py:9"),
    LayoutChange(tensor="x", field="shape", before="[8]", after="[1, 8]", step="unsqueeze_"),
)


def bisection(replaced: int, *, alone: bool) -> Bisection:
    return Bisection(
        output="out0", step="mul #2", replaced=replaced, shared=7, alone=alone, launches=5, place="/somewhere/ops.py:21"
    )


def text(**facts: object) -> str:
    answer = CaseTrace(case_id="case", observation=JUDGEMENT.observation, looked_at=9, **facts)
    document = TraceDocument(
        schema=TRACE_SCHEMA,
        subject=subject_of(JUDGEMENT, "the first"),
        mode=CheckpointMode.HEALTH,
        reference=None,
        steps=(),
        first_bad=None,
        health=answer.health,
        looked_at=answer.looked_at,
        notes=(),
        conclusion=trace_conclusion(answer, CheckpointMode.HEALTH),
        next=(),
        exit_code=0,
        layouts=answer.layouts,
        bisections=answer.bisections,
    )
    return trace_text(document)


def test_unhealthy_steps_come_with_their_line_and_what_was_looked_at() -> None:
    told = text(health=(EVENT, SAMPLED))
    assert told.startswith("TRACE: 2 NaN and 1 infinities appear in call `norm/log #2` (ops.py:14), first at [1]")
    assert (
        "2 of 9 steps unhealthy\n"
        "  3. APPEAR call `norm/log #2` float32 [4] (ops.py:14): 2 NaN and 1 infinities, first at [1]\n"
        "  4. APPEAR launch `kernel` float16 [4000, 1000]: 1 NaN; 2,048 elements looked at\n"
    ) in told


def test_layouts_are_told_by_what_they_are_compared_with() -> None:
    assert (
        "checkpoint `h` (ops.py:9): stride (1, 4) in the operator, (4, 1) in the reference\n"
        "argument `x`: shape [8] before `unsqueeze_`, [1, 8] after it\n"
    ) in text(layouts=LAYOUTS)
    many = text(layouts=LAYOUTS[:1] * (LAYOUTS_SHOWN + 3))
    assert many.count("checkpoint `h`") == LAYOUTS_SHOWN
    assert "and 3 more differences of layout\n" in many


def test_a_bisection_says_what_was_replaced() -> None:
    start = (
        "TRACE: no unhealthy value appears in 9 steps\n"
        "  call `mul #2` (ops.py:21) spoils `out0`: right with the reference's results of the first "
    )
    assert f"{start}4 of 7 shared calls, not of the first 3; that result alone is enough\n" in text(
        bisections=(bisection(4, alone=True),)
    )
    assert f"{start}4 of 7 shared calls, not of the first 3; it needs those before it too\n" in text(
        bisections=(bisection(4, alone=False),)
    )
    assert f"{start}1 of 7 shared calls\n" in text(bisections=(bisection(1, alone=True),))
