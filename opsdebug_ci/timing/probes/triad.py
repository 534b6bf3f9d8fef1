"""The triad probe: how fast this machine moves memory while it computes a little, at cache and at memory sizes.

a = b + s * c, one call, two vectors read and one written. J. D. McCalpin, "Memory bandwidth and machine balance in
current high performance computers", IEEE TCCA Newsletter (1995): 3 words are counted per element, and what a cache
reads of a line before it is written is not.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial

import torch

from opsdebug_ci.model.machine import ProbeReading
from opsdebug_ci.timing.probes.bench import Bench

SCALE = 3.0
"""The s of the formula; any number that is not special does."""


def triad(bench: Bench) -> Iterator[ProbeReading]:
    """a = b + s * c on float32 vectors of every size."""
    for size in bench.sizes_bytes():
        b = torch.ones(size // 4, dtype=torch.float32, device=bench.device)
        c, a = torch.ones_like(b), torch.zeros_like(b)
        samples = bench.samples_ns(partial(torch.add, b, c, alpha=SCALE, out=a))
        yield ProbeReading(
            probe="triad",
            size_bytes=size,
            samples_ns=samples,
            bandwidth_bytes_per_s=3 * size / (statistics.median(samples) * 1e-9),
            dtype="float32",
        )
