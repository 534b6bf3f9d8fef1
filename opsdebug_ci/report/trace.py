"""`opsdebug trace` in words: every step, and the first one that goes wrong.

Decides what a jump is: the first step in the red zone, since the bounds of a step contain what the steps before it may
have contributed; where steps could not be judged, the first whose error outgrows the one before by JUMP.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from opsdebug_ci.model.health import Flow, HealthEvent, StepSource
from opsdebug_ci.model.inquiry import TraceDocument
from opsdebug_ci.model.memory import LayoutChange
from opsdebug_ci.model.trace import Bisection, CaseTrace, Step
from opsdebug_ci.model.vocabulary import CheckpointMode, Zone
from opsdebug_ci.report import figures
from opsdebug_ci.report.attribution import FEWEST, TELLING, split_text
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.subject import ending_lines, heading_lines
from opsdebug_ci.report.table import aligned

JUMP = 1000.0
"""An unjudged step jumps when its error is so many times the one before, and so many units of u*|y|."""

EVENTS_SHOWN = 20
"""Unhealthy steps listed."""

LAYOUTS_SHOWN = 10
"""Differences of layout listed."""

HEADER = ("step", "seen as", "shape", "verdict", "bad", "max error", "u|y|", "x tol", "worst at", "got", "wanted")


def first_jump(steps: Sequence[Step]) -> Step | None:
    """The first step whose error neither rounding nor the steps before it explain; None: there is none."""
    before = 1.0
    for step in steps:
        if step.zone is Zone.RED:
            return step
        if step.zone is None and step.units is not None and step.units > JUMP * max(before, 1.0):
            return step
        before = step.units if step.units is not None else before
    return None


def first_unhealthy(trace: CaseTrace) -> HealthEvent | None:
    """The first step that lets unhealthy values appear where the reference has none; None: there is none."""
    return next((event for event in trace.health if event.flow is Flow.APPEAR and not event.legal), None)


def is_harmless(trace: CaseTrace) -> bool:
    """Whether the outputs are NaN, infinite and finite just where the reference is."""
    return not any(step.classes for step in trace.steps if step.source is StepSource.OUTPUT)


def trace_conclusion(trace: CaseTrace, mode: CheckpointMode) -> tuple[str, ...]:
    """Sentences, the most telling first."""
    health = _health_sentences(trace) if mode is CheckpointMode.HEALTH else ()
    return (*health, *map(_bisected, trace.bisections), *_jump_sentences(trace.steps))


def _bisected(found: Bisection) -> str:
    """What the experiments say of one output."""
    without = f", not of the first {found.replaced - 1:,}" if found.replaced > 1 else ""
    alone = "; that result alone is enough" if found.alone else "; it needs those before it too"
    return (
        f"call `{found.step}`{_at(found.place)} spoils `{found.output}`: right with the reference's results of the "
        f"first {found.replaced:,} of {found.shared:,} shared calls{without}{alone if found.replaced > 1 else ''}"
    )


def _jump_sentences(steps: Sequence[Step]) -> tuple[str, ...]:
    compared = [step for step in steps if step.unpaired is None]
    jump = first_jump(compared)
    if jump is None:
        return (f"no step's error jumps: {len(compared)} compared" if compared else "no step could be compared",)
    where = ""
    if jump.split is not None:
        split = jump.split
        telling = split.balanced_accuracy >= TELLING and min(split.bad, split.good) >= FEWEST
        where = (
            f" where {split_text(split)}" if telling else f"; what separates its bad elements best: {split_text(split)}"
        )
    kind = "output" if jump.source is StepSource.OUTPUT else "step"
    count = f"{jump.bad:,} of {jump.compared:,} elements bad"
    return (f"{kind} `{jump.name}`: error jumps {_from(compared, jump)}{where}; {count}",)


def _from(steps: Sequence[Step], jump: Step) -> str:
    """From the last step before it, else from what rounding explains, to its own."""
    at = steps.index(jump)
    previous = steps[at - 1] if at else None
    to = f"to {figures.measure(jump.max_abs_err)}"
    if jump.classes:
        cell = jump.classes[0]
        to += f" with {cell.count:,}x {cell.actual} for {cell.expected}"
    if previous is not None and previous.max_abs_err is not None:
        return f"from {figures.measure(previous.max_abs_err)} (`{previous.name}`) {to}"
    return f"{to}, {figures.measure(jump.ratio)} x what rounding explains" if jump.ratio is not None else to


def _health_sentences(trace: CaseTrace) -> tuple[str, ...]:
    event = first_unhealthy(trace)
    if event is None:
        legal = sum(event.flow is Flow.APPEAR for event in trace.health)
        known = f"; {legal:,} appear in the reference's run too" if legal else ""
        return (f"no unhealthy value appears in {trace.looked_at:,} steps{known}",)
    innocent = "; the outputs are NaN or infinite only where the reference is" if is_harmless(trace) else ""
    where = f"in {event.source} `{event.name}`{_at(event.place)}, first at {figures.index(event.first_index)}"
    return (f"{_what(event)} appear {where}{innocent}",)


def _what(event: HealthEvent) -> str:
    counts = ((event.nan, "NaN"), (event.infinite, "infinities"), (event.over_limit, "values over the limit"))
    return " and ".join(f"{count:,} {name}" for count, name in counts if count) or "no unhealthy values"


def trace_text(document: TraceDocument) -> str:
    """The answer as text, ending in a newline."""
    against = [] if document.reference is None else [f"compared with {document.reference}"]
    sections = [
        heading_lines("TRACE", document.subject, document.conclusion),
        [*against, *aligned(HEADER, [_row(step) for step in document.steps], left=3)] if document.steps else [],
        _health(document),
        _layouts(document.layouts),
        [f"note: {plain(note)}" for note in document.notes],
        ending_lines(document.next),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _row(step: Step) -> tuple[str, ...]:
    name, shape = plain(step.name, 40), f"{step.dtype} {list(step.shape)}"
    if step.unpaired is not None:
        return (name, str(step.source), shape, step.unpaired, *[figures.MISSING] * 7)
    return (
        name,
        str(step.source),
        shape,
        "not judged" if step.zone is None else str(step.zone),
        figures.count(step.bad),
        figures.measure(step.max_abs_err),
        figures.measure(step.units),
        figures.measure(step.ratio),
        figures.index(step.worst_index),
        figures.measure(step.actual),
        figures.measure(step.expected),
    )


def _health(document: TraceDocument) -> list[str]:
    if document.mode is not CheckpointMode.HEALTH:
        return []
    lines = [
        f"  {event.position}. {event.flow.upper()} {event.source} `{plain(event.name, 40)}` {event.dtype} "
        f"{list(event.shape)}{_at(event.place)}: {_what(event)}"
        + (f", first at {figures.index(event.first_index)}" if event.first_index is not None else "")
        + ("; the reference has them too" if event.legal else "")
        + ("" if event.sampled is None else f"; {event.sampled:,} elements looked at")
        for event in document.health[:EVENTS_SHOWN]
    ]
    more = len(document.health) - len(lines)
    lines += [f"  and {more:,} more"] if more > 0 else []
    return [f"{len(document.health):,} of {document.looked_at:,} steps unhealthy", *lines]


def _layouts(changes: Sequence[LayoutChange]) -> list[str]:
    lines = [_layout(change) for change in changes[:LAYOUTS_SHOWN]]
    more = len(changes) - len(lines)
    return [*lines, *([f"and {more:,} more differences of layout"] if more > 0 else [])]


def _layout(change: LayoutChange) -> str:
    name = plain(change.tensor, 40)
    if change.step is not None:
        return f"argument `{name}`: {change.field} {change.before} before `{change.step}`, {change.after} after it"
    where = f"checkpoint `{name}`{_at(change.place)}"
    return f"{where}: {change.field} {change.after} in the operator, {change.before} in the reference"


def _at(place: str | None) -> str:
    return "" if place is None else f" ({plain(PurePath(place).name, 60)})"
