"""The memcpy probe: how fast this machine copies memory, at cache and at memory sizes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial

import torch

from opsdebug_ci.model.machine import ProbeReading
from opsdebug_ci.timing.probes.bench import Bench


def memcpy(bench: Bench) -> Iterator[ProbeReading]:
    """Copy a buffer of every size: read once, written once."""
    for size in bench.sizes_bytes():
        source = torch.ones(size, dtype=torch.uint8, device=bench.device)
        target = torch.empty_like(source)
        samples = bench.samples_ns(partial(target.copy_, source))
        yield ProbeReading(
            probe="memcpy",
            size_bytes=size,
            samples_ns=samples,
            bandwidth_bytes_per_s=2 * size / (statistics.median(samples) * 1e-9),
        )
