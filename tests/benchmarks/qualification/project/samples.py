"""Samples of every function in this process, and of a copy of memory, as JSON on standard output.

What a rule that runs each commit once has to go by. The same process tells how much longer a planted wait lasts than it
is told to.
"""

from __future__ import annotations

import gc
import json
import math
import sys
import time
from collections.abc import Callable
from functools import partial

import torch
from kernels import KERNELS, arguments_of, slowed

SAMPLE_NS = 2_000_000
"""Shortest sample: that of opsdebug."""

SAMPLES = 15
"""Samples of each: with the warm-up 50 ms, as long as opsdebug's visits of one process."""

WARM_NS = 20_000_000
"""Shortest warm-up."""

PROBE_BYTES = 1 << 24
"""Bytes of the copy: beyond the second cache."""

WAIT_NS = 5_000
"""Wait whose excess is measured."""


def samples_of(call: Callable[[], object]) -> list[float]:
    """ns of a call, averaged over the calls of each sample."""
    until, best = time.perf_counter_ns() + WARM_NS, math.inf
    while time.perf_counter_ns() < until:
        best = min(best, _spent_ns(call, 1))
    calls = max(1, math.ceil(SAMPLE_NS / best))
    return [_spent_ns(call, calls) / calls for _ in range(SAMPLES)]


def _spent_ns(call: Callable[[], object], calls: int) -> int:
    began = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return time.perf_counter_ns() - began


def _nothing(x: torch.Tensor) -> torch.Tensor:
    return x


def main() -> None:
    """Time everything once and print."""
    gc.disable()
    source, target = torch.rand(PROBE_BYTES // 4), torch.empty(PROBE_BYTES // 4)
    bare = min(samples_of(partial(_nothing, source)))
    waiting = min(samples_of(partial(slowed(_nothing, WAIT_NS), source)))
    answer = {
        "kernels": {name: samples_of(partial(kernel, *arguments_of(name))) for name, kernel in KERNELS.items()},
        "probe": samples_of(lambda: target.copy_(source)),
        "excess_ns": waiting - WAIT_NS - bare,
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
