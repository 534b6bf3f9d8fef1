"""Judged cases of planted defects, as workers tell them: NaN of a step, bytes written outside, crashes with a stack."""

from __future__ import annotations

from dataclasses import replace

from judge_notation import ended, judged, output, process, ran

from opsdebug_ci.model import Cause, Clue, ExceptionFacts, Judgement, MemoryReading, Observation, Role, Side, Status
from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.model.memory import ForeignRead
from opsdebug_ci.model.region import Span


def good(**axes: object) -> Judgement:
    return judged(ran(output()), **axes)


def step(name: str) -> HealthEvent:
    """The first unhealthy step."""
    return HealthEvent(
        position=2,
        name=name,
        source=StepSource.CALL,
        flow=Flow.APPEAR,
        shape=(4, 8),
        dtype="float32",
        nan=1,
        infinite=0,
        over_limit=0,
        first_index=(0, 3),
        legal=False,
    )


def nan(at: str | None = "aten.div", count: int = 3, **axes: object) -> Judgement:
    """NaN where the reference is finite; `at` None: the step was not looked for."""
    seen = ran(output(rejected=count, classes=f"normal->nan:{count}"), origin=None if at is None else step(at))
    return judged(seen, **axes)


def wrote(
    side: str = "tail",
    nearest: int = 1,
    at: str | None = None,
    tensor: str = "out0",
    role: str = "output",
    **axes: object,
) -> Judgement:
    """Bytes outside a tensor were overwritten."""
    reading = MemoryReading(
        argument=tensor,
        side=Side(side),
        bytes_changed=4 * nearest,
        first_offset=-nearest if side == "head" else 64,
        role=Role(role),
        nearest_bytes=0 if side == "gap" else nearest,
        step=at,
    )
    return judged(ran(output(), memory=(reading,)), **axes)


def read(side: str = "tail", at: str | None = None, **axes: object) -> Judgement:
    """An output follows bytes of nobody's."""
    seen = ForeignRead(side=Side(side), argument=None, output="out0", elements=3, fill="NaN", step=at)
    return judged(ran(output(rejected=3), reads=(seen,)), **axes)


def unwritten(**axes: object) -> Judgement:
    return judged(ran(output(rejected=2), unwritten=2), **axes)


def wrong(
    cause: str | None = None,
    name: str = "out0",
    box: str = "0..3 0..24",
    rejected: int = 5,
    hypothesis: str = "",
    **axes: object,
) -> Judgement:
    """Wrong values; `cause` as a clue names it, None: it could not be named; of what was tested, if it was. `box` holds
    the bad elements."""
    spans = [tuple(map(int, word.split(".."))) for word in box.split()]
    region = tuple(Span(first=first, last=last) for first, last in spans)
    reading = replace(output(name, rejected=rejected), bad_region=region)
    clue = Clue(rule="r", cause=Cause(cause or "unknown"), confidence=0.9, output=name, statement="so", evidence={})
    clue = replace(clue, evidence={"hypothesis": hypothesis}) if hypothesis else clue
    return judged(ran(reading, clues=() if cause is None else (clue,)), **axes)


STACK = ("kernel fused.py", "launch fused.py", "fused ops.py")
"""A stack of the user's code, innermost first."""


def told(stack: tuple[str, ...]) -> tuple[str, ...]:
    """A stack as the worker's last words give it: outermost first, ours around the user's."""
    users = [f"/src/{file}:{7 * depth + 3} {name}" for depth, (name, file) in enumerate(map(str.split, stack))]
    return ("/env/lib/python3.11/site-packages/opsdebug_ci/worker/launches.py:90 launch", *reversed(users))


def crashed(signal: str = "SIGSEGV", stack: tuple[str, ...] = STACK, **axes: object) -> Judgement:
    """A fatal signal; no `stack`: it did not say where."""
    facts = replace(process(signal=signal), frames=told(stack) if stack else ())
    return judged(ended("crashed", process=facts), **axes)


def threw(*frames: str, type_: str = "RuntimeError", message: str = "bad", **axes: object) -> Judgement:
    """An exception with these frames, outermost first."""
    facts = ExceptionFacts(type=type_, message=message, frames=frames)
    return judged(Observation(case_id="", status=Status.RAISED, exception=facts), **axes)


class Silent:
    """Progress nobody listens to."""

    def start(self, total: int) -> None:
        """Not told."""

    def step(self, judgement: Judgement) -> None:
        """Not told."""

    def drop(self, count: int) -> None:
        """Not told."""

    def stop(self) -> None:
        """Not told."""
