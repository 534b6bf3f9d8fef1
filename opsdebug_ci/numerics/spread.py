"""How far correct evaluations of a reference can lie apart: measured by running it with injected rounding errors.

Decides the operator's own share of the tolerance, per element, for any composition of torch calls. Deliberately knows
nothing of the operator under test: only its references and the precision it promises to work in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.lifting import NodeObserver
from opsdebug_ci.numerics.noise import Noise
from opsdebug_ci.numerics.noise_rules import noisy_result

SAMPLES = 8
"""Noisy runs per mode on small tensors."""

SAMPLES_LARGE = 4
"""Noisy runs per mode above LARGE_ELEMENTS, where one run is dear and neighbours inform each other."""

LARGE_ELEMENTS = 1 << 18
"""Elements per output above which fewer samples are drawn."""

POOLED_SHARE = 0.5
"""An element's spread is at least this share of the median relative spread of its output.

With 8 samples a standard deviation is underestimated by more than 0.4 with probability 0.4 % (chi-square, 8 degrees of
freedom); the pooled floor removes those holes.
"""


class ReferenceRun(Protocol):
    """Runs the reference in float64 on `change`d floating arguments, watched by `observer`; returns its outputs."""

    def __call__(
        self, change: Callable[[torch.Tensor], torch.Tensor] | None, observer: NodeObserver | None
    ) -> list[torch.Tensor]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """The precision a correct operator works in."""

    compute: FloatFormat
    """Format of elementwise steps."""

    accumulate: FloatFormat
    """Format of accumulators."""

    operand: FloatFormat | None
    """Format one more rounding of the operands is forgiven in (amber), or None: only `auto` kinds forgive it."""

    seed: int
    """Seed of the injected errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Spread of one output, float64, shaped like it."""

    deviation: torch.Tensor
    """Standard deviation over runs with errors of the size a good kernel makes."""

    worst: torch.Tensor
    """Largest deviation over runs with coherent worst-case errors."""


def measure_spread(run: ReferenceRun, arithmetic: Arithmetic) -> list[Spread]:
    """Spread of every output of `run`.

    The noiseless run is the centre. Elements that are not finite there, or in a noisy run, contribute nothing: classes
    are compared separately. A reference whose steps are invisible (numpy inside) is noised at its arguments only, and
    its deviation is scaled by the square root of the terms each output element depends on.
    """
    centre = run(None, None)
    samples = SAMPLES if max((c.numel() for c in centre), default=0) <= LARGE_ELEMENTS else SAMPLES_LARGE
    statistical, visible = _deviations(run, centre, arithmetic, samples, worst=False)
    coherent, _ = _deviations(run, centre, arithmetic, samples, worst=True)
    spreads = []
    for position, output in enumerate(centre):
        gain = 1.0 if visible else math.sqrt(max(1.0, _largest_argument(run) / max(1, output.numel())))
        deviation = torch.stack([sample[position].square() for sample in statistical]).mean(0).sqrt() * gain
        worst = torch.stack([sample[position].abs() for sample in coherent]).amax(0) * gain**2
        spreads.append(Spread(deviation=_pooled(deviation, output), worst=_pooled(worst, output)))
    return spreads


def _deviations(
    run: ReferenceRun, centre: list[torch.Tensor], arithmetic: Arithmetic, samples: int, *, worst: bool
) -> tuple[list[list[torch.Tensor]], bool]:
    generator = torch.Generator().manual_seed(arithmetic.seed * 2 + int(worst))
    noise = Noise(
        unit_roundoff=arithmetic.compute.unit_roundoff,
        accumulator_roundoff=arithmetic.accumulate.unit_roundoff,
        generator=generator,
        worst=worst,
    )
    operand = Noise(
        unit_roundoff=(arithmetic.operand if worst and arithmetic.operand else arithmetic.compute).unit_roundoff,
        accumulator_roundoff=noise.accumulator_roundoff,
        generator=generator,
        worst=False,
    )
    observer = _Injector(noise)
    outputs = [run(operand.rounding, observer) for _ in range(samples)]
    deviations = [[_difference(a, b) for a, b in zip(sample, centre, strict=True)] for sample in outputs]
    return deviations, observer.calls > 0


class _Injector:
    """Node observer that replaces every result by a noisy one."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self.calls = 0
        """Calls that were given an error."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        name = func.overloadpacket._qualified_op_name.split("::")[-1]
        noisy = noisy_result(self._noise, name, args, kwargs, result)
        if noisy is result:
            return result
        self.calls += 1
        if func._schema.is_mutable and isinstance(result, torch.Tensor):
            return result.copy_(noisy)
        return noisy


def _difference(sample: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    if not centre.is_floating_point() or sample.shape != centre.shape:
        return torch.zeros(centre.shape, dtype=torch.float64)
    difference = sample.double() - centre.double()
    return torch.where(torch.isfinite(difference), difference, torch.zeros_like(difference))


def _pooled(spread: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    size = output.abs().double() if output.is_floating_point() else torch.zeros_like(spread)
    usable = torch.isfinite(size) & (size > 0) & (spread > 0)
    if not bool(usable.any()):
        return spread
    ratio = (spread[usable] / size[usable]).median()
    return torch.maximum(spread, torch.where(usable, POOLED_SHARE * ratio * size, torch.zeros_like(spread)))


def _largest_argument(run: ReferenceRun) -> int:
    sizes = [1]

    def note(value: torch.Tensor) -> torch.Tensor:
        sizes.append(value.numel())
        return value

    run(note, None)
    return max(sizes)
