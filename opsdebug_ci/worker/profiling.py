"""Profiling an operator on a case: what it must move and compute, and where its time goes.

Decides what is measured, on which inputs and in which share of the time asked for. A second or more per call is
answered too, later. What the operator raises ends its profile; what its reference raises costs the reference alone.
Deliberately knows no peaks, so it has no floor and no advice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.guard.nesting import has_bytes
from opsdebug_ci.model.contract import Cost
from opsdebug_ci.model.message import ProfileCase
from opsdebug_ci.model.profile import CaseProfile, Parts, Stopwatch, Traffic
from opsdebug_ci.model.vocabulary import ReferenceKind
from opsdebug_ci.operators import Arguments, Operator, launches
from opsdebug_ci.timing.caches import flush_of, last_level_bytes
from opsdebug_ci.timing.clock import clock_of
from opsdebug_ci.timing.clock_state import ClockWatch
from opsdebug_ci.timing.device_parts import device_parts
from opsdebug_ci.timing.device_queue import queue_of
from opsdebug_ci.timing.sampling import Subject, take_samples
from opsdebug_ci.timing.stopwatch import Timing, measure
from opsdebug_ci.worker.call_count import CallCount, counted
from opsdebug_ci.worker.host_parts import Whole, host_parts, on_case
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.placement import settled
from opsdebug_ci.worker.taming import tame
from opsdebug_ci.worker.timed_case import NotTimed, call_of, guarded, subject_of
from opsdebug_ci.worker.traffic import distinct_bytes, extents, traffic_of

COPIES = 5
"""Copies timed of arguments that are not contiguous; the shortest counts."""


def profile(operator: Operator, request: ProfileCase) -> CaseProfile:
    """Profile one case; nothing that the operator raises escapes."""
    case, before = request.case, launches()
    watch = ClockWatch(torch.device(case.device))
    blank = CaseProfile(case_id=case.id, operator=None)
    try:
        with isolated(case.seed):
            told = _profiled(operator, request, blank)
            return replace(told, clocks=watch.read(), interpreted=launches() > before)
    except Unsupported as refusal:
        return replace(blank, reason=str(refusal) or "unsupported", unsupported=True, clocks=watch.read())
    except (OpsdebugError, NotTimed) as fault:
        return replace(blank, reason=str(fault), clocks=watch.read())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launched:
    """One more launch, looked at rather than timed."""

    traffic: Traffic
    """What it moved."""

    count: CallCount | None
    """What it asked of the framework; None: it does not bear being counted."""

    reason: str | None
    """Why its cost is not known although it states one."""


def _profiled(declared: Operator, request: ProfileCase, blank: CaseProfile) -> CaseProfile:
    """Everything that was asked for, in turn. Raises what the operator's own calls do."""
    operator, pristine = on_case(declared, request.case)
    if request.tame and not tame(pristine):
        return replace(blank, reason="its floating arguments hold no NaN, infinity, zero or subnormal number")
    dense, scattered = _gathered(pristine) if request.copied else (pristine, [])
    timing = _timing(request, functions=1 + bool(scattered) + _wants_reference(operator, request))
    subject = subject_of(operator, pristine)
    measured = measure(subject, timing, guarded(_nothing))
    launched = _launched(operator, pristine, request)
    parts = _parts(_whole(declared, request, pristine, launched), subject, measured, timing) if request.parts else None
    del subject  # its inputs, before there are more of them
    copied = measure(subject_of(operator, dense), replace(timing, flush=None), guarded(_nothing)) if scattered else None
    count = launched.count if request.count else None
    return replace(
        _with_reference(blank, operator, pristine, request, timing),
        operator=measured,
        parts=parts,
        traffic=launched.traffic,
        copied=copied,
        copying_ns=_copying_ns(scattered, timing) if scattered else None,
        torch_calls=None if count is None else count.calls,
        handled_bytes=None if count is None else count.handled_bytes,
        host_reads=None if count is None else count.host_reads,
        reason=launched.reason,
    )


def _timing(request: ProfileCase, functions: int) -> Timing:
    """A stint for each thing to be done: warm, sample and flush every function, and tell parts apart."""
    device = torch.device(request.case.device)
    stints = functions * (2 + request.cold) + request.parts
    return Timing(
        clock=clock_of(device),
        stint_ns=request.budget_s * 1e9 / stints,
        flush=flush_of(device, last_level_bytes(device)) if request.cold else None,
        processor_ns=time.process_time_ns if device.type == "cpu" else None,
    )


def _launched(operator: Operator, pristine: Arguments, request: ProfileCase) -> _Launched:
    live, count = _live(pristine), None
    try:
        returned, count = counted(guarded(call_of(operator, live)))
    except NotTimed:  # compiled code may refuse to be watched
        live = _live(pristine)
        returned = guarded(call_of(operator, live))()
    cost, reason = _cost(operator, request)
    return _Launched(traffic=traffic_of(operator, live, returned, cost), count=count, reason=reason)


def _cost(operator: Operator, request: ProfileCase) -> tuple[Cost | None, str | None]:
    """What the operator's cost says of the case; None and why, where it cannot be used."""
    function = operator.cost_function
    if function is None:
        return None, None
    case = request.case
    try:
        cost = guarded(partial(function, dict(case.dims), case.dtype), "its cost")()
    except (NotTimed, Unsupported) as fault:
        return None, str(fault)
    if isinstance(cost, Cost):
        return cost, None
    return None, f"its cost returned {type(cost).__name__}; wanted Cost(flops, bytes)"


def _whole(declared: Operator, request: ProfileCase, pristine: Arguments, launched: _Launched) -> Whole:
    return Whole(
        operator=declared,
        case=request.case,
        input_bytes=distinct_bytes(extents(pristine.values)),
        calls=None if launched.count is None else launched.count.calls,
    )


def _parts(whole: Whole, subject: Subject, measured: Stopwatch, timing: Timing) -> Parts:
    queue = queue_of(torch.device(whole.case.device))
    if queue is not None:
        return device_parts(subject, timing.clock, queue, limit_ns=timing.stint_ns)
    return host_parts(whole, measured, timing.clock, limit_ns=timing.stint_ns)


def _gathered(pristine: Arguments) -> tuple[Arguments, list[torch.Tensor]]:
    """The arguments with everything contiguous, and the tensors that were not."""
    scattered: list[torch.Tensor] = []

    def gather(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and has_bytes(value) and not value.is_contiguous():
            scattered.append(value)
            return value.contiguous()
        return value

    return pristine.map(lambda _, value: gather(value)), scattered


def _copying_ns(scattered: list[torch.Tensor], timing: Timing) -> float:
    copying = Subject(call=lambda: [tensor.contiguous() for tensor in scattered])
    return min(take_samples(copying, timing.clock, calls=1, most=COPIES, limit_ns=timing.stint_ns))


def _wants_reference(operator: Operator, request: ProfileCase) -> bool:
    return request.reference and ReferenceKind.TORCH in operator.references


def _with_reference(
    blank: CaseProfile, operator: Operator, pristine: Arguments, request: ProfileCase, timing: Timing
) -> CaseProfile:
    """Times of the torch reference and what it asks of the framework; nothing where it raises or there is none."""
    function = operator.references.get(ReferenceKind.TORCH)
    if function is None:
        return blank
    try:
        stopwatch = count = None
        if request.reference:
            stopwatch = measure(subject_of(operator, pristine, function), timing, guarded(_nothing))
        if request.count:
            _, count = counted(guarded(call_of(operator, _live(pristine), function)))
    except (NotTimed, Unsupported, OpsdebugError):
        return blank
    return replace(
        blank,
        reference=stopwatch,
        reference_calls=None if count is None else count.calls,
        reference_handled_bytes=None if count is None else count.handled_bytes,
        reference_host_reads=None if count is None else count.host_reads,
    )


def _live(pristine: Arguments) -> Arguments:
    return replace(pristine, values=settled(pristine.values))


def _nothing() -> None:
    """What the clock is started and stopped around to know its own cost."""
