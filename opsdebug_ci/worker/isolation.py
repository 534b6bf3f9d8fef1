"""Process-wide state around one call of user code: seeded before it, put back after it.

Decides what is put back: the settings of torch, numpy and the interpreter that change later results or our own work
and cost microseconds to read. Deliberately not everything: environment variables (an operator's own lazy set-up may
need them), memory, threads, open files and patched modules stay as it leaves them, and how many threads a worker uses
is its environment's.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

NUMPY_SEED_LIMIT = 2**32
"""numpy's legacy generator takes seeds below it."""

_SUBNORMAL = 2.0**-1060
_SCALE = 2.0**60
"""Their product is 2**-1000; it is 0 where subnormal operands are read as zero."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """One piece of process-wide state."""

    read: Callable[[], Any]
    """Its value now."""

    write: Callable[[Any], object]
    """Put a value back."""


@contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Seed every generator user code may draw from, run the block, and put back what it changed.

    Args:
        seed: the case's; the same call therefore draws the same numbers every time.
    """
    before = [setting.read() for setting in _SETTINGS]
    with warnings.catch_warnings():
        _seed(seed)
        try:
            yield
        finally:
            for setting, value in zip(_SETTINGS, before, strict=True):
                if setting.read() != value:
                    setting.write(value)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % NUMPY_SEED_LIMIT)
    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)  # all there is; manual_seed asks every backend, for 100 us


def generator_positions() -> tuple[object, ...]:
    """Where every generator user code may draw from stands: equal ones say that nothing was drawn."""
    legacy = np.random.get_state(legacy=False)
    numpy_state = legacy["state"]
    devices = [torch.default_generator.get_state().numpy().tobytes()]
    if torch.cuda.is_available():
        devices += [state.numpy().tobytes() for state in torch.cuda.get_rng_state_all()]
    return random.getstate(), numpy_state["pos"], numpy_state["key"].tobytes(), tuple(devices)


def _flushes_subnormals() -> bool:
    return _SUBNORMAL * _SCALE == 0.0


def _deterministic() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _autocast() -> tuple[bool, ...]:
    return tuple(torch.is_autocast_enabled(device) for device in ("cpu", "cuda"))


def _set_autocast(enabled: tuple[bool, ...]) -> None:
    for device, value in zip(("cpu", "cuda"), enabled, strict=True):
        torch.set_autocast_enabled(device, value)


def _matmul_precision() -> str | None:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:  # set per backend, which this reading cannot tell
        return None


def _set_matmul_precision(precision: str | None) -> None:
    if precision is not None:
        torch.set_float32_matmul_precision(precision)


def _set_default_device(device: torch.device) -> None:
    # NOTE: None, not "cpu": a default device that is set at all costs every later call a dispatch.
    torch.set_default_device(None if device.type == "cpu" else device)


def _directory() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # somebody removed it
        return None


def _set_directory(directory: str | None) -> None:
    if directory is not None:
        os.chdir(directory)


_SETTINGS = (
    _Setting(torch.get_default_dtype, torch.set_default_dtype),
    _Setting(torch.get_default_device, _set_default_device),
    _Setting(torch.is_grad_enabled, torch.set_grad_enabled),
    _Setting(_autocast, _set_autocast),
    _Setting(_deterministic, lambda flags: torch.use_deterministic_algorithms(flags[0], warn_only=flags[1])),
    _Setting(_matmul_precision, _set_matmul_precision),
    _Setting(torch.get_num_threads, torch.set_num_threads),
    _Setting(_flushes_subnormals, torch.set_flush_denormal),
    _Setting(np.geterr, lambda handling: np.seterr(**handling)),
    _Setting(gc.isenabled, lambda enabled: gc.enable() if enabled else gc.disable()),
    _Setting(sys.getrecursionlimit, sys.setrecursionlimit),
    _Setting(_directory, _set_directory),
)
"""Everything that is put back."""
