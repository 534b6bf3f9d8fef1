"""Every stray loop under every mode, each in a forked child of this process; prints who died of SIGSEGV, as JSON.

Usage: pages_children.py LIBRARY
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable

import numpy as np
import torch

from opsdebug_ci.guard.pages import Placement, watch_results, watch_values
from opsdebug_ci.model.vocabulary import PageMode

KERNELS = (
    *("clean", "over_write", "far_write", "over_read", "unused_read", "copy_back", "add_zero"),
    *("under_write", "under_read", "mutates", "same_value", "aligned_only"),
)
N = 21
"""84 bytes: no multiple of 16, so that flush ends begin unaligned."""

Tensor = torch.Tensor


def of_arguments(kernel: Callable[..., None]) -> Callable[[Tensor, Tensor], Tensor]:
    """Writes into an argument."""

    def call(x: Tensor, out: Tensor) -> Tensor:
        kernel(x.data_ptr(), out.data_ptr(), ctypes.c_ssize_t(x.numel()))
        return out

    return call


def of_results(kernel: Callable[..., None], make: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Writes into a tensor that it makes itself."""
    return lambda x, out: of_arguments(kernel)(x, make(x))


def custom(name: str, kernel: Callable[..., None]) -> Callable[[Tensor, Tensor], Tensor]:
    """The same inside a custom operator, whose own calls the dispatcher hides."""

    @torch.library.custom_op(f"opsdebug_pages::{name}", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return of_arguments(kernel)(x, torch.empty_like(x))

    return lambda x, out: twice(x)


def launch(function: Callable[[Tensor, Tensor], Tensor], placement: Placement) -> None:
    tensors = (torch.arange(N, dtype=torch.float32), torch.zeros(N))
    (x, out), _ = watch_values(tensors, (True, False), placement)
    with watch_results(placement):
        result = function(x, out)
    assert np.array_equal(result.numpy()[1 : N // 2], np.arange(1, N // 2) * 2.0)


def dies(function: Callable[[Tensor, Tensor], Tensor], placement: Placement) -> bool:
    """Whether a child dies of SIGSEGV; anything else but a clean end is an error."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        launch(function, placement)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status not in (0, signal.SIGSEGV, signal.SIGBUS):
        raise RuntimeError(f"a child ended with {status}")
    return status != 0


def main(library: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    torch.set_num_threads(1)
    loops = ctypes.CDLL(library)
    for name in KERNELS:
        getattr(loops, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t]
        getattr(loops, name).restype = None
    subjects = {name: of_arguments(getattr(loops, name)) for name in KERNELS}
    subjects |= {
        "own empty": of_results(loops.over_write, torch.empty_like),
        "own zeros": of_results(loops.over_write, lambda x: torch.zeros(x.shape)),
        "own clean": of_results(loops.clean, torch.empty_like),
        "custom": custom("strays", loops.over_write),
        "contiguous": lambda x, out: of_arguments(loops.unused_read)((x + 0.0).flip(0).flip(0), out),
    }
    launch(custom("stays", loops.clean), Placement(mode=PageMode.TAIL))  # here, so that no child imports what it needs
    found = {
        name: [str(mode) for mode in PageMode if dies(function, Placement(mode=mode))]
        for name, function in subjects.items()
    }
    for name, placement in (
        ("open over_write", Placement(mode=PageMode.TAIL, protected=False)),
        ("open aligned_only", Placement(mode=PageMode.TAIL, protected=False)),
        ("sixteen aligned_only", Placement(mode=PageMode.TAIL, alignment=16)),
        ("sixteen far_write", Placement(mode=PageMode.TAIL_READABLE, alignment=16)),
    ):
        found[name] = [str(placement.mode)] if dies(subjects[name.split()[1]], placement) else []
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
