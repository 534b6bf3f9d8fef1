"""Twelve functions to be timed, each with inputs of its own, and the slowdown this commit plants in some.

What is planted stands in `spins.json` beside this file: name -> ns of busy waiting after each call. A name that is not
there is bound to the bare function, so that code without a slowdown is the same code in every commit.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Names of two options of glibc's `mallopt`, from its malloc.h."""

KEPT_BYTES = 1 << 25
"""Freed memory up to this size, the most that glibc takes, stays in the process."""

torch.set_num_threads(1)  # the machine has other work, and every rule is to time the same thing
if sys.platform == "linux":
    # Otherwise it depends on the order of earlier allocations whether a result's pages come fresh from the system in
    # every call: `scale_shift` took 55 us in one rule's process and 780 us in another's, and a wait planted for the one
    # was nothing to the other.
    ctypes.CDLL(None).mallopt(TRIM_THRESHOLD, KEPT_BYTES)
    ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, KEPT_BYTES)

SPINS: dict[str, int] = json.loads((Path(__file__).parent / "spins.json").read_text(encoding="utf-8"))

Kernel = Callable[..., torch.Tensor]

LOOP_TERMS = 600
"""Turns of the loop in Python: some 50 us."""


def scale_shift(x: torch.Tensor) -> torch.Tensor:
    return x * 1.5 + 0.25


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


def layer_norm(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x @ y


def transpose_copy(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()


def row_sum(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dim=-1)


def gather(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    return torch.take(x, at)


def cumsum(x: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x, dim=-1)


def exp_numpy(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.exp(x.numpy()))


def sort(x: torch.Tensor) -> torch.Tensor:
    return torch.sort(x).values


def small_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def python_loop(x: torch.Tensor) -> torch.Tensor:
    total, factor = 0.0, float(x[0])
    for term in range(LOOP_TERMS):
        total = total * factor + term
    return torch.tensor(total)


SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "scale_shift": ((1 << 18,),),
    "softmax": ((64, 1024),),
    "layer_norm": ((256, 1024),),
    "matmul": ((320, 320), (320, 320)),
    "transpose_copy": ((768, 768),),
    "row_sum": ((512, 1024),),
    "gather": ((1 << 18,), (1 << 16,)),
    "cumsum": ((128, 2048),),
    "exp_numpy": ((1 << 17,),),
    "sort": ((1 << 14,),),
    "small_add": ((1 << 17,), (1 << 17,)),
    "python_loop": ((1,),),
}
"""Shapes of the arguments."""

FUNCTIONS: dict[str, Kernel] = {
    kernel.__name__: kernel
    for kernel in (
        scale_shift,
        softmax,
        layer_norm,
        matmul,
        transpose_copy,
        row_sum,
        gather,
        cumsum,
        exp_numpy,
        sort,
        small_add,
        python_loop,
    )
}
"""As they are without a slowdown."""


def slowed(function: Kernel, spin_ns: int) -> Kernel:
    """The function, followed by `spin_ns` of busy waiting."""
    now = time.perf_counter_ns

    def slower(*arguments: torch.Tensor) -> torch.Tensor:
        result = function(*arguments)
        until = now() + spin_ns
        while now() < until:
            pass
        return result

    return slower


def arguments_of(name: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """Arguments of one function: uniform in [0, 1), or places in the first argument."""
    draw = torch.Generator().manual_seed(seed)
    first, *others = SHAPES[name]
    x = torch.rand(first, generator=draw)
    if name == "gather":
        return x, torch.randint(x.numel(), others[0], generator=draw)
    return x, *(torch.rand(shape, generator=draw) for shape in others)


KERNELS: dict[str, Kernel] = {
    name: slowed(function, SPINS[name]) if name in SPINS else function for name, function in FUNCTIONS.items()
}
"""As they are in this commit."""
