"""Launch and execute of an operator on the CPU, where no device tells them apart.

Decides what stands for the launch: the same operator on the smallest sizes it accepts; where its inputs do not shrink,
as many of the framework's smallest calls as it makes; and where it makes none, that it cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.profile import Parts, Stopwatch
from opsdebug_ci.model.vocabulary import Direction
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.timing.clock import Clock
from opsdebug_ci.timing.probes.launch import smallest_call_ns
from opsdebug_ci.timing.sampling import calls_for, take_samples, warm_up
from opsdebug_ci.worker.domain import check_domain
from opsdebug_ci.worker.preservation import inputs_of
from opsdebug_ci.worker.properties.gradients import gradient_operator
from opsdebug_ci.worker.timed_case import NotTimed, subject_of
from opsdebug_ci.worker.traffic import distinct_bytes, extents

SIDES = (1, 2, 4, 8, 16)
"""Sizes tried for every dim, smallest first: operators ask for multiples of something."""

PETTY_BYTES = 16 * 1024
"""Inputs that move in less time than the smallest call takes: half a first-level cache, 0.2 us at 100 GB/s."""

MUCH_SMALLER = 64
"""Inputs this many times smaller than the case's take less than 2 % of its time to move."""

MOST_SAMPLES = 9
"""Samples of the smallest call; the shortest counts."""


def on_case(operator: Operator, case: Case) -> tuple[Operator, Arguments]:
    """What is run in the case's direction, and the inputs.

    Raises:
        InputsError: they cannot be made.
        Unsupported: the case is outside the operator's domain, or has no gradient.
    """
    check_domain(operator, case)
    pristine = inputs_of(operator, case, None)
    if case.direction is not Direction.FORWARD:
        operator = gradient_operator(operator, pristine, case)
    return operator, pristine


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """The case whose launch is to be told from its execution."""

    operator: Operator
    """As declared, not its gradient."""

    case: Case
    """What was measured."""

    input_bytes: int
    """Bytes of its inputs."""

    calls: int | None
    """How many calls into the framework it makes; None: not known."""


def host_parts(whole: Whole, measured: Stopwatch, clock: Clock, *, limit_ns: float) -> Parts:
    """Where the shortest sample of `measured` goes.

    Args:
        whole: what was measured.
        measured: what it came to.
        clock: host time.
        limit_ns: time for it, about.
    """
    launch_ns, how = _launch(whole, clock, limit_ns)
    if launch_ns > measured.best_ns:
        how += "; that took no less than the case itself, so nothing is left for execution"
    launch_ns = min(launch_ns, measured.best_ns)
    return Parts(launch_ns=launch_ns, execute_ns=measured.best_ns - launch_ns, sync_ns=0.0, how=how)


def _launch(whole: Whole, clock: Clock, limit_ns: float) -> tuple[float, str]:
    """What stands for the launch, and what it is."""
    for dims in _smaller(whole.case):
        took_ns = _smallest_ns(whole, dims, clock, limit_ns)
        if took_ns is not None:
            sizes = ",".join(f"{name}={size}" for name, size in dims.items())
            return took_ns, f"launch: the shortest sample at {sizes}; execute: the rest of the shortest sample"
    if whole.calls:
        one_ns = min(smallest_call_ns(torch.device(whole.case.device), clock))
        what = f"{whole.calls} framework calls at the {one_ns:.0f} ns of the smallest one"
        return whole.calls * one_ns, f"launch: {what}, since the inputs do not shrink; execute: the rest"
    return 0.0, "launch cannot be told from execution: the inputs do not shrink and no framework call was seen"


def _smaller(case: Case) -> Iterator[Mapping[str, int]]:
    """Dims to try, each once; a dim never grows."""
    seen: list[Mapping[str, int]] = []
    for side in SIDES if case.dims else ():
        dims = {name: min(size, side) for name, size in case.dims.items()}
        if dims not in seen:
            seen.append(dims)
            yield dims


def _smallest_ns(whole: Whole, dims: Mapping[str, int], clock: Clock, limit_ns: float) -> float | None:
    """Shortest sample at `dims`; None: the operator does not take them, or its inputs hardly shrink."""
    try:
        own, pristine = on_case(whole.operator, replace(whole.case, dims=dims))
        size = distinct_bytes(extents(pristine.values))
        if size > PETTY_BYTES and size * MUCH_SMALLER > whole.input_bytes:
            return None
        subject = subject_of(own, pristine)
        warmed = warm_up(subject, clock, least_ns=int(limit_ns / 4), limit_ns=int(limit_ns / 2))
        calls = calls_for(warmed.best_ns)
        return min(take_samples(subject, clock, calls=calls, most=MOST_SAMPLES, limit_ns=limit_ns / 2))
    except (NotTimed, Unsupported, OpsdebugError):
        return None
