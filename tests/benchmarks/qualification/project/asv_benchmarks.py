"""The functions of `kernels` as asv times them: everything by its defaults.

No `setup`: asv 0.6.6 would then time single calls, which is not how its users time functions of 20 us.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from kernels import KERNELS, Kernel, arguments_of


def _timed(name: str, kernel: Kernel, arguments: tuple[torch.Tensor, ...]) -> Callable[[], None]:
    def benchmark() -> None:
        kernel(*arguments)

    benchmark.__name__ = benchmark.__qualname__ = f"time_{name}"  # asv calls it so
    return benchmark


for _name, _kernel in KERNELS.items():
    globals()[f"time_{_name}"] = _timed(_name, _kernel, arguments_of(_name))
