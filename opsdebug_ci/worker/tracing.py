"""`opsdebug trace` in the worker: one case, its steps beside the same steps of its references.

(1) the case as `run` runs it            -> its outputs, each a step
(2) the operator again, watched          -> its checkpoints, or its ATen calls where it marks none
(3) the references again, watched        -> the same, the torch one in float64
(4) step by step: the bounds an output would have, and what separates the bad elements of a step from its good ones

Decides what is compared with what. Deliberately names no cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.health import StepSource
from opsdebug_ci.model.memory import LayoutChange
from opsdebug_ci.model.message import Breadcrumb, RunCase, TraceCase
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.trace import CaseTrace
from opsdebug_ci.model.vocabulary import CheckpointMode, Phase, ReferenceKind, Status
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import PREFERENCE
from opsdebug_ci.numerics.spread import Spread
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.trace import LayoutWatch, Limits, Mark, Recorder, common_start, unlike
from opsdebug_ci.worker.arithmetic import arithmetic_of
from opsdebug_ci.worker.bisection import Bisector
from opsdebug_ci.worker.case_run import Trail, run_case
from opsdebug_ci.worker.health_reading import read_health, survey_health
from opsdebug_ci.worker.step_reading import StepPair, read_output_step, read_steps
from opsdebug_ci.worker.watched_runs import (
    by_name,
    intercept_operator,
    listen_to_operator,
    listen_to_reference,
    spread_of_steps,
    watch_operator,
    watch_reference,
)

HOW_TO_MARK = (
    'mark a step with `y = checkpoint("name", y)` (from opsdebug_ci) in the operator and, under the same name, in its '
    "reference"
)
"""What to do where there is nothing to compare."""

UNREPEATED = "unhealthy values of a first launch did not come again in a second one, in which everything was looked at"
"""Said of what a quick look alone saw."""


def trace(operator: Operator, request: TraceCase, trail: Trail) -> CaseTrace:
    """Run the case and trace it. Nothing the operator or its references raise escapes."""
    seen: list[tuple[Arguments, list[ComparedOutput]]] = []

    def witness(arguments: Arguments, compared: list[ComparedOutput]) -> None:
        seen.append((arguments, compared))

    observation = run_case(operator, RunCase(case=request.case), trail, witness)
    if observation.status is not Status.RAN or not seen:
        return CaseTrace(case_id=request.case.id, observation=observation)
    trail(Breadcrumb(phase=Phase.PROBE, detail="tracing"))
    arguments, compared = seen[0]
    return _Tracing(
        operator=operator, request=request, observation=observation, arguments=arguments, outputs=compared
    ).traced()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tracing:
    """A case that ran, to be traced."""

    operator: Operator
    """The operator."""

    request: TraceCase
    """What was asked."""

    observation: Observation
    """What happened when the case ran."""

    arguments: Arguments
    """Its pristine arguments."""

    outputs: list[ComparedOutput]
    """Its outputs beside those of the references."""

    @property
    def case(self) -> Case:
        """The case."""
        return self.request.case

    def traced(self) -> CaseTrace:
        """The whole answer."""
        outputs = tuple(read_output_step(output, self.arguments) for output in self.outputs)
        answer = CaseTrace(
            case_id=self.case.id, observation=self.observation, reference=self._reference(), steps=outputs
        )
        if self.request.bisect:
            answer = self._with_bisection(answer)
        if self.request.mode is CheckpointMode.NONE:
            return answer
        answer = replace(answer, layouts=self._restrided())
        if self.request.mode is CheckpointMode.HEALTH:
            return self._with_health(answer)
        return self._with_steps(answer)

    def _reference(self) -> str | None:
        if not self.outputs:
            return None
        used = next(which for which in PREFERENCE if which in self.outputs[0].references)
        if used is ReferenceKind.PRECISE and self.outputs[0].derived_precise:
            return "the torch reference in float64"
        return f"reference `{used}`"

    def _with_steps(self, answer: CaseTrace) -> CaseTrace:
        mine, theirs, naive = self._recordings(calls=False)
        notes = (*answer.notes, *self._refusals(mine))
        layouts = (*answer.layouts, *self._laid_out(mine))
        if mine.checkpoints and (theirs.checkpoints or naive.checkpoints):
            source = StepSource.CHECKPOINT
            pairs, more = self._marked(mine, theirs, naive)
        else:
            source = StepSource.CALL
            mine, theirs, _ = self._recordings(calls=True)
            pairs, more = self._called(mine, theirs)
        steps = tuple(read_steps(pairs, source, self.outputs[0], self.arguments))
        return replace(answer, steps=(*steps, *answer.steps), layouts=layouts, notes=(*notes, *more))

    def _with_bisection(self, answer: CaseTrace) -> CaseTrace:
        mine, theirs, _ = self._recordings(calls=True)
        what = (self.operator, self.arguments, self.case, self.outputs, mine.calls, theirs.calls)
        found, notes = Bisector(*what).bisect()
        return replace(answer, bisections=found, notes=notes)

    def _restrided(self) -> tuple[LayoutChange, ...]:
        """Arguments that a step leaves otherwise in memory."""
        watch = LayoutWatch()
        intercept_operator(self.operator, self.arguments, self.case, watch)
        return tuple(watch.changes)

    def _laid_out(self, mine: Recorder) -> Iterator[LayoutChange]:
        """Checkpoints of one shape that lie otherwise than in a reference run as it is written."""
        theirs = Recorder(calls=False, limit=self.request.step_limit)
        for which in (ReferenceKind.TORCH, ReferenceKind.NAIVE):
            if mine.checkpoints and not theirs.checkpoints:
                listen_to_reference(self.operator, self.arguments, self.case, theirs, which)
        known = by_name(theirs, calls=False)
        for name, mark in by_name(mine, calls=False).items():
            other = known.get(name)
            if other is None or mark.geometry is None or other.geometry is None:
                continue
            if mark.values.shape == other.values.shape and mark.values.numel():
                yield from unlike(name, other.geometry, mark.geometry, step=None, place=mark.place)

    def _recordings(self, *, calls: bool) -> tuple[Recorder, Recorder, Recorder]:
        """What operator, best reference and naive reference show; copies of calls only where asked for."""
        limit = self.request.step_limit
        mine, theirs, naive = (Recorder(calls=calls, limit=limit) for _ in range(3))
        if not calls or not watch_operator(self.operator, self.arguments, self.case, mine):
            mine = Recorder(calls=False, limit=limit)
            listen_to_operator(self.operator, self.arguments, self.case, mine)
        lifted = {ReferenceKind.TORCH, ReferenceKind.PRECISE} & set(self.case.checks)
        if lifted and not watch_reference(self.operator, self.arguments, self.case, theirs):
            theirs = Recorder(calls=calls, limit=limit)
            listen_to_reference(self.operator, self.arguments, self.case, theirs, ReferenceKind.TORCH)
        if ReferenceKind.NAIVE in self.case.checks:
            listen_to_reference(self.operator, self.arguments, self.case, naive, ReferenceKind.NAIVE)
        if ReferenceKind.PRECISE in self.case.checks and not theirs.checkpoints:
            listen_to_reference(self.operator, self.arguments, self.case, theirs, ReferenceKind.PRECISE)
        return mine, theirs, naive

    def _marked(self, mine: Recorder, theirs: Recorder, naive: Recorder) -> tuple[list[StepPair], list[str]]:
        own, best, other = (by_name(recorder, calls=False) for recorder in (mine, theirs, naive))
        spreads = self._spreads(calls=False) if best else {}
        pairs = [
            StepPair(
                name=name,
                actual=mark.values,
                expected=_values(best, name),
                second=_values(other, name),
                spread=spreads.get(name),
            )
            for name, mark in own.items()
        ]
        unheard = [name for name in {**best, **other} if name not in own]
        missed = f"marked by a reference alone: {', '.join(f'`{name}`' for name in unheard)}"
        return pairs, [missed] if unheard else []

    def _called(self, mine: Recorder, theirs: Recorder) -> tuple[list[StepPair], list[str]]:
        alike = common_start(mine.calls, theirs.calls)
        own, best = by_name(mine, calls=True), by_name(theirs, calls=True)
        spreads = self._spreads(calls=True) if alike else {}
        pairs = [
            StepPair(
                name=name,
                actual=mark.values,
                expected=_values(best, name),
                second=None,
                spread=spreads.get(name),
            )
            for name, mark in list(own.items())[:alike]
        ]
        return pairs, list(self._call_notes(mine, theirs, alike))

    def _call_notes(self, mine: Recorder, theirs: Recorder, alike: int) -> Iterator[str]:
        if mine.checkpoints or theirs.checkpoints:
            who, whom = ("operator", "references") if mine.checkpoints else ("reference", "operator")
            names = ", ".join(f"`{mark.name}`" for mark in (mine.checkpoints or theirs.checkpoints)[:5])
            yield f"only the {who} marks steps ({names}): mark the same ones in the {whom}"
        else:
            yield f"no checkpoints: {HOW_TO_MARK}"
        if alike == 0:
            yield "no ATen calls to compare either: operator and reference begin with different ones"
        elif alike < max(len(mine.calls), len(theirs.calls)):
            yield (
                f"compared are the first {alike} ATen calls; then the operator calls {_name_at(mine.calls, alike)}, "
                f"the reference {_name_at(theirs.calls, alike)}"
            )
        else:
            yield f"compared are all {alike} ATen calls, which operator and reference share"

    def _spreads(self, *, calls: bool) -> dict[str, Spread]:
        if ReferenceKind.TORCH not in self.operator.references:
            return {}
        arithmetic = arithmetic_of(self.operator, self.case)
        return spread_of_steps(
            self.operator, self.arguments, self.case, arithmetic, calls=calls, limit=self.request.step_limit
        )

    def _refusals(self, mine: Recorder) -> Iterator[str]:
        for name in dict.fromkeys(mine.refused):
            yield f"checkpoint `{name}` is no real tensor: not compared"

    def _with_health(self, answer: CaseTrace) -> CaseTrace:
        limits = Limits(magnitude=self.request.health_limit, by_dtype=self.request.health_limits)
        what = (self.operator, self.arguments, self.case, limits, self.request.step_limit)
        survey = survey_health(*what)
        if survey is not None and not survey.anything():
            return replace(answer, looked_at=survey.looked_at)
        found = read_health(*what)
        events, notes = found.events, (*answer.notes, *found.notes)
        if survey is not None and survey.flagged is not None and not events:
            events, notes = (survey.flagged,), (*notes, UNREPEATED)
        unlike = {step.name for step in answer.steps if step.classes}
        events = tuple(
            replace(event, legal=event.name not in unlike) if event.source is StepSource.OUTPUT else event
            for event in events
        )
        return replace(answer, health=events, looked_at=found.looked_at, notes=notes)


def _values(marks: Mapping[str, Mark], name: str) -> torch.Tensor | None:
    return marks[name].values if name in marks else None


def _name_at(calls: list[Mark], position: int) -> str:
    return f"`{calls[position].name}`" if position < len(calls) else "nothing more"
