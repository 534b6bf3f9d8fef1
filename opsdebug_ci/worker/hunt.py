"""A hunt for what fails once in a thousand: many launches on the same inputs, all counted.

Decides what is odd: outputs with other bits than the first launch's, or an exception. Deliberately not whether that is
a defect: an operator may promise no determinism, and an odd output may be right.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.hunt import HuntReading
from opsdebug_ci.worker.launch_reading import Outputs, differing_bits
from opsdebug_ci.worker.launches import Launcher, OperatorFault

CRUMB_S = 0.01
"""Seconds between two breadcrumbs, so that a death or a hang can be placed among the launches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """What a hunt brought. Holds live tensors, so it never leaves the worker."""

    reading: HuntReading
    """The counts."""

    odd: Outputs | None = None
    """Outputs of the first odd launch that returned; None: there was none."""

    fault: OperatorFault | None = None
    """First exception; None: none was raised."""

    mismatches: int = 0
    """Output elements of that launch whose bits differ from the first launch's."""


def hunt(launcher: Launcher, first: Outputs, launches: int, within_s: float, tell: Callable[[str], None]) -> Catch:
    """Launch until `launches` are done, the one that gave `first` included, or the time is over.

    Args:
        launcher: launches on fresh copies of the same inputs.
        first: outputs of the first launch.
        launches: how many in all.
        within_s: seconds after which no further launch begins.
        tell: is told now and then which launch begins.

    Raises:
        Unsupported: as `Launcher.once`; the domain cannot depend on the launch.
        NotAnOutput: a later launch returned something that is no output.
    """
    began_s = told_s = time.monotonic()
    usual = _bits(first)
    seen, odd, fault = {usual}, None, None
    reading = HuntReading(launches=1, odd=0, distinct=1)
    for number in range(2, launches + 1):
        now_s = time.monotonic()
        if now_s - began_s > within_s:
            break
        if now_s - told_s > CRUMB_S:
            told_s = now_s
            tell(f"launch {number:,} of {launches:,}")
        reading = replace(reading, launches=number)
        outputs, raised = _launched(launcher)
        bits = None if outputs is None else _bits(outputs)
        if bits == usual:
            continue
        reading = replace(
            reading,
            odd=reading.odd + 1,
            raised=reading.raised + (raised is not None),
            first_odd=reading.first_odd or number,
        )
        odd, fault = odd or outputs, fault or raised
        seen |= set() if bits is None else {bits}
    mismatches = 0 if odd is None else _mismatches(first, odd)
    return Catch(reading=replace(reading, distinct=len(seen)), odd=odd, fault=fault, mismatches=mismatches)


def _launched(launcher: Launcher) -> tuple[Outputs | None, OperatorFault | None]:
    try:
        return launcher.once(), None
    except OperatorFault as fault:
        return None, fault


def _bits(outputs: Outputs) -> bytes:
    """Digest of names, shapes, dtypes and bits of all outputs."""
    digest = hashlib.blake2b(digest_size=16)
    for name, output in outputs.items():
        digest.update(f"{name} {tuple(output.shape)} {output.dtype} ".encode())
        flat = output.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data if flat.numel() else b"")
    return digest.digest()


def _mismatches(one: Outputs, other: Outputs) -> int:
    """Elements whose bits differ; all of them where names, shapes or dtypes do."""
    if any(name not in other or _form(other[name]) != _form(output) for name, output in one.items()):
        return sum(output.numel() for output in one.values())
    return sum(int(differing_bits(output, other[name]).sum()) for name, output in one.items())


def _form(output: torch.Tensor) -> tuple[torch.Size, torch.dtype]:
    return output.shape, output.dtype
