"""Launch, execute and synchronise of a call on an accelerator, told apart by marks in its queue.

Decides how each is measured. `execute`: marks around calls that were queued while the device was held up, so that no
launch shows between them. `sync`: waiting for a device that has nothing to do. `launch`: what remains of a single call
from an idle device to the host's being told, which is what a caller waits for.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from opsdebug_ci.model.profile import Parts
from opsdebug_ci.timing.clock import Clock
from opsdebug_ci.timing.device_queue import DeviceQueue
from opsdebug_ci.timing.sampling import Subject, take_samples

MOST_SINGLES = 15
"""Single calls at most; their median is within the middle half with probability > 0.99."""

ROUNDS = 3
"""Times a batch is queued; the median counts."""

MOST_BATCH = 10
"""Calls queued at once: a mark's resolution, half a microsecond, is then a twentieth of one."""

BATCH_NS = 2_000_000
"""Time a batch is to fill: longer calls need no batch, and many kernels do not fit into a queue."""

HELD = 2.0
"""The device is held this many times as long as queueing the batch should take."""

_HELD = "device events around calls queued while the device was held, so that no launch shows in them"
_IN_A_ROW = "device events around calls in a row; where launching takes longer than the work, execute includes it"
_WAITS = "device events around calls that wait for the device themselves; execute may include some of their launch"
_REST = "sync: waiting for an idle device; launch: the rest of a call from an idle device"
_FLOORED = "; they overlap and add up to more than the call, so launch is floored at 0"


def device_parts(subject: Subject, clock: Clock, queue: DeviceQueue, *, limit_ns: float) -> Parts:
    """Where the time of one call goes.

    Args:
        subject: the call, warm.
        clock: host time, and waiting for the device.
        queue: of the device.
        limit_ns: time for it all, about.
    """
    third_ns = limit_ns / 3
    call_ns = statistics.median(take_samples(subject, clock, calls=1, most=MOST_SINGLES, limit_ns=third_ns))
    idle = Subject(call=_nothing)
    sync_ns = min(call_ns, statistics.median(take_samples(idle, clock, calls=1, most=MOST_SINGLES, limit_ns=third_ns)))
    execute_ns, how = _execute(subject, clock, queue, call_ns)
    launch_ns = call_ns - execute_ns - sync_ns
    return Parts(
        launch_ns=max(0.0, launch_ns),
        execute_ns=execute_ns,
        sync_ns=sync_ns,
        how=f"execute: {how}; {_REST}" + (_FLOORED if launch_ns < 0 else ""),
    )


def _execute(subject: Subject, clock: Clock, queue: DeviceQueue, call_ns: float) -> tuple[float, str]:
    """Time the device works on one call, and how it was found."""
    calls = max(1, min(MOST_BATCH, int(BATCH_NS / max(call_ns, 1.0))))
    hold_ns = HELD * calls * call_ns
    times, ahead, held = [], True, True
    for _ in range(ROUNDS):
        clock.wait()
        held = queue.hold(hold_ns)
        start = clock.now_ns()
        spans = list(_queued(subject, queue, calls))
        ahead = ahead and clock.now_ns() - start < hold_ns
        clock.wait()
        times.append(sum(queue.between_ns(*span) for span in spans) / calls)
    return statistics.median(times), _IN_A_ROW if not held else _HELD if ahead else _WAITS


def _queued(subject: Subject, queue: DeviceQueue, calls: int) -> Iterator[tuple[object, object]]:
    """Queue the calls; first and last mark of each stretch that counts."""
    if subject.restore is None:
        start = queue.mark()
        for _ in range(calls):
            subject.call()
        yield start, queue.mark()
        return
    for _ in range(calls):
        subject.restore()
        start = queue.mark()
        subject.call()
        yield start, queue.mark()


def _nothing() -> None:
    """Gives the device nothing to do."""
