"""Timing an operator on a case: one visit, on a fresh copy of its inputs.

Decides what is inside the clock: the operator's call and nothing else. Inputs lie at new addresses on every visit,
because where pages lie changes times by several per cent; the shortest sample of several visits is then less a matter
of luck. What the operator says it changes is put back before every call. Deliberately compares nothing.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, final

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.model.message import TimeCase
from opsdebug_ci.model.timing import CaseTimed, Visit
from opsdebug_ci.model.vocabulary import Direction
from opsdebug_ci.operators import Arguments, Operator, launches, limit_met, written_leaves
from opsdebug_ci.timing.clock import clock_of
from opsdebug_ci.timing.clock_state import ClockWatch
from opsdebug_ci.timing.sampling import Subject, calls_for, take_samples, warm_up
from opsdebug_ci.worker.domain import check_domain
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.placement import settled
from opsdebug_ci.worker.preservation import inputs_of
from opsdebug_ci.worker.properties.gradients import gradient_operator

KEPT_BYTES = 2**29
"""Inputs kept between visits, all cases together."""

AGAIN_NS = 2_000_000
"""Shortest warm-up of a case that was visited before."""


class NotTimed(Exception):  # noqa: N818 - a fact about the case, not an error of ours
    """The operator raised, or has no inputs; the message says what."""


@final
class TimedCases:
    """Cases this process has timed: their inputs, and that they are warm."""

    def __init__(self) -> None:
        self._pristine: OrderedDict[str, Arguments] = OrderedDict()
        self._visited: set[str] = set()

    def visit(self, operator: Operator, request: TimeCase) -> CaseTimed:
        """Time one case; nothing that the operator raises escapes."""
        case, before = request.case, launches()
        try:
            with isolated(case.seed):
                visit = self._visit(self._subject(operator, request), request)
                return CaseTimed(case_id=case.id, visit=visit, interpreted=launches() > before)
        except Unsupported as refusal:
            return CaseTimed(case_id=case.id, visit=None, reason=str(refusal) or "unsupported", unsupported=True)
        except (OpsdebugError, NotTimed) as fault:
            return CaseTimed(case_id=case.id, visit=None, reason=str(fault))

    def _visit(self, subject: Subject, request: TimeCase) -> Visit:
        case = request.case
        clock = clock_of(torch.device(case.device))
        fresh = case.id not in self._visited
        self._visited.add(case.id)
        warmed = warm_up(subject, clock) if fresh else warm_up(subject, clock, least_ns=AGAIN_NS)
        calls = calls_for(warmed.best_ns) if request.calls is None else request.calls
        watch = ClockWatch(torch.device(case.device))
        wall, processor = time.perf_counter_ns(), time.process_time_ns()
        limit_ns = request.visit_s * 1e9
        samples = take_samples(subject, clock, calls=calls, most=request.samples, limit_ns=limit_ns)
        wall, processor = time.perf_counter_ns() - wall, time.process_time_ns() - processor
        return Visit(
            calls=calls,
            samples_ns=samples,
            first_call_ns=warmed.first_ns if fresh else None,
            warm_calls=warmed.calls,
            resolution_ns=clock.resolution_ns(),
            cpu_share=processor / wall if case.device == "cpu" else None,
            clocks=watch.read(),
            steady=warmed.steady,
        )

    def _subject(self, operator: Operator, request: TimeCase) -> Subject:
        case = request.case
        check_domain(operator, case)
        pristine = self._arguments(operator, request)
        if case.direction is not Direction.FORWARD:
            operator = gradient_operator(operator, pristine, case)
        return subject_of(operator, pristine)

    def _arguments(self, operator: Operator, request: TimeCase) -> Arguments:
        key = request.case.id
        if key not in self._pristine:
            self._pristine[key] = inputs_of(operator, request.case, request.inputs)
            while len(self._pristine) > 1 and sum(map(_bytes, self._pristine.values())) > KEPT_BYTES:
                self._pristine.popitem(last=False)
        return self._pristine[key]


def subject_of(operator: Operator, pristine: Arguments, function: Callable[..., Any] | None = None) -> Subject:
    """The operator, or `function` in its place, on a fresh copy of its arguments; what it raises becomes NotTimed."""
    live = Arguments(names=pristine.names, values=settled(pristine.values), by_keyword=pristine.by_keyword)
    mutated, kept = (written_leaves(replace(operator.contract, out=None), arguments) for arguments in (live, pristine))
    tensors = [(to, kept[place]) for place, to in mutated.items() if isinstance(to, torch.Tensor)]
    return Subject(
        call=guarded(call_of(operator, live, function)), restore=partial(_restore, tensors) if tensors else None
    )


def call_of(operator: Operator, arguments: Arguments, function: Callable[..., Any] | None = None) -> Callable[[], Any]:
    """The bare call of the operator, or of `function` in its place."""
    called = operator.function if function is None else function
    if arguments.by_keyword:
        return partial(called, **dict(arguments.items()))
    return partial(called, *arguments.values)


def guarded(call: Callable[[], Any], what: str = "the operator") -> Callable[[], Any]:
    """The same call of `what`; the first time it raises is the last.

    Raises:
        Unsupported: as the operator does, or it needs what this machine lacks.
        NotTimed: it raised anything else.
    """

    def guard() -> Any:
        try:
            return call()
        except Unsupported:
            raise
        except BaseException as error:  # whatever user code raises ends the timing, not the worker
            limit = limit_met(error)
            if limit is not None:
                raise Unsupported(limit) from error
            raise NotTimed(f"{what} raised {type(error).__name__}: {error}"[:500]) from error

    return guard


def _restore(tensors: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for live, kept in tensors:
        live.copy_(kept)


def _bytes(arguments: Arguments) -> int:
    return sum(value.untyped_storage().nbytes() for value in arguments.values if isinstance(value, torch.Tensor))
