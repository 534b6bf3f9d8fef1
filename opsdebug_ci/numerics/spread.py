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

    operand: torch.Tensor | None
    """Standard deviation when operands of products are rounded as well; None where that is not forgiven."""


def measure_spread(run: ReferenceRun, arithmetic: Arithmetic) -> list[Spread]:
    """Spread of every output of `run`.

    The noiseless run is the centre. Elements that are not finite there, or in a noisy run, contribute nothing: classes
    are compared separately. A reference whose steps are invisible (numpy inside) is noised at its arguments instead,
    and its deviation is scaled by the square root of the terms each output element depends on.
    """
    sizes: list[int] = [1]
    centre = run(lambda value: _noted(value, sizes), None)
    sampler = _Sampler(run=run, centre=centre, arithmetic=arithmetic)
    statistical, visible = sampler.deviations(worst=False)
    coherent, _ = sampler.deviations(worst=True, opaque=not visible)
    if not visible:
        statistical, _ = sampler.deviations(worst=False, opaque=True)
    rounded = sampler.deviations(worst=False, operand=arithmetic.operand)[0] if arithmetic.operand else None
    spreads = []
    for position, output in enumerate(centre):
        terms = 1.0 if visible else max(1.0, max(sizes) / max(1, output.numel()))
        spreads.append(
            Spread(
                deviation=_pooled(_root_mean_square(statistical, position) * math.sqrt(terms), output),
                worst=_pooled(torch.stack([sample[position].abs() for sample in coherent]).amax(0) * terms, output),
                operand=None if rounded is None else _pooled(_root_mean_square(rounded, position), output),
            )
        )
    return spreads


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampler:
    run: ReferenceRun
    centre: list[torch.Tensor]
    arithmetic: Arithmetic

    def deviations(
        self, *, worst: bool, opaque: bool = False, operand: FloatFormat | None = None
    ) -> tuple[list[list[torch.Tensor]], bool]:
        """Differences from the centre, per run and output; and whether any step could be given an error."""
        mode = 1 + int(worst) + 2 * int(operand is not None)
        noise = Noise(
            unit_roundoff=self.arithmetic.compute.unit_roundoff,
            accumulator_roundoff=self.arithmetic.accumulate.unit_roundoff,
            generator=torch.Generator().manual_seed(self.arithmetic.seed * 4 + mode),
            worst=worst,
            operand_roundoff=operand.unit_roundoff if operand else 0.0,
        )
        observer = _Injector(noise)
        elements = max((output.numel() for output in self.centre), default=0)
        samples = SAMPLES if elements <= LARGE_ELEMENTS else SAMPLES_LARGE
        outputs = [self.run(noise.rounding if opaque else None, observer) for _ in range(samples)]
        differences = [[_difference(a, b) for a, b in zip(sample, self.centre, strict=True)] for sample in outputs]
        return differences, observer.calls > 0 or elements == 0


def _noted(value: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    sizes.append(value.numel())
    return value


def _root_mean_square(samples: list[list[torch.Tensor]], position: int) -> torch.Tensor:
    return torch.stack([sample[position].square() for sample in samples]).mean(0).sqrt()


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
