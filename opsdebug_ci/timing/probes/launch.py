"""The launch probe: what the smallest call of the framework costs the host, interpreter and dispatch included."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.machine import ProbeReading
from opsdebug_ci.timing.clock import Clock
from opsdebug_ci.timing.probes.bench import REPETITIONS, Bench
from opsdebug_ci.timing.sampling import FEWEST_SAMPLES, SAMPLE_NS, Subject, calls_for, take_samples, warm_up

WARM_NS = 5_000_000
"""Thousands of calls."""


def launch(bench: Bench) -> Iterator[ProbeReading]:
    """Clear a tensor of one element."""
    samples = smallest_call_ns(bench.device, bench.clock, most=REPETITIONS)
    yield ProbeReading(probe="launch", size_bytes=0, samples_ns=tuple(max(1, round(sample)) for sample in samples))


def smallest_call_ns(device: torch.device, clock: Clock, *, most: int = FEWEST_SAMPLES) -> tuple[float, ...]:
    """Samples of the time of one such call; ns."""
    one = torch.zeros(1, device=device)
    subject = Subject(call=one.zero_)
    warmed = warm_up(subject, clock, least_ns=WARM_NS)
    limit_ns = most * 2.0 * SAMPLE_NS
    return take_samples(subject, clock, calls=calls_for(warmed.best_ns), most=most, limit_ns=limit_ns)
