"""The memcpy probe: how fast this machine copies memory, at cache and at memory sizes.

Decides sizes and repetitions. Deliberately draws no conclusion: it measures, others decide what it means.
"""

from __future__ import annotations

import statistics
import time

import torch

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.machine import Calibration, ProbeReading

SIZES_BYTES = (256 * 1024, 4 * 1024 * 1024, 64 * 1024 * 1024)
"""Inside a private cache, inside a shared one, and beyond any."""

REPETITIONS = 15
"""Timed copies per size; the median of 15 is within the middle half with probability > 0.99."""

WARM_UPS = 3
"""Untimed copies before them."""


def calibrate(device: str) -> Calibration:
    """Copy buffers of SIZES_BYTES on `device`; every sample. Raises EnvironmentLimitError where it does not exist."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise EnvironmentLimitError(
            f"no device `{device}` here: {str(error).splitlines()[0]}", next_step="opsdebug doctor"
        ) from error
    return Calibration(device=device, probes=tuple(_probe(device, size) for size in SIZES_BYTES))


def _probe(device: str, size: int) -> ProbeReading:
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    samples = [_copy_ns(source, target) for _ in range(WARM_UPS + REPETITIONS)][WARM_UPS:]
    return ProbeReading(
        probe="memcpy",
        size_bytes=size,
        samples_ns=tuple(samples),
        bandwidth_bytes_per_s=2 * size / (statistics.median(samples) * 1e-9),
    )


def _copy_ns(source: torch.Tensor, target: torch.Tensor) -> int:
    _synchronise(source.device)
    start = time.perf_counter_ns()
    target.copy_(source)
    _synchronise(source.device)
    return max(1, time.perf_counter_ns() - start)


def _synchronise(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
