"""How far correct evaluations of a reference can lie apart: measured by running it with injected rounding errors.

Decides the operator's own share of the tolerance, per element, for any composition of torch calls. Deliberately knows
nothing of the operator under test: only its references and the precision it promises to work in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.draws import Draws
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


POOLED_ELEMENTS = 1 << 12
"""About this many elements, evenly spaced, give the median of a larger output."""


HANDED_ON = frozenset({"alias", "clone", "detach", "lift_fresh", "lift_fresh_copy", "view", "_to_copy", "_unsafe_view"})
"""Calls made for any reference, numpy ones included; they say nothing about its steps."""

ENTRIES = frozenset({"lift_fresh", "lift_fresh_copy"})
"""Calls through which arrays made outside torch enter. One as large as an argument or output was computed there."""


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

    declared_operand: FloatFormat | None = None
    """Format the contract says operands of products are rounded to; part of the tolerance proper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Spread of one output, float64, shaped like it."""

    deviation: torch.Tensor
    """Standard deviation over runs with errors of the size a good kernel makes."""

    worst: torch.Tensor
    """Largest deviation over runs with coherent worst-case errors."""

    operand: torch.Tensor | None
    """Standard deviation when operands of products are rounded as well; None where that is not forgiven."""

    low: torch.Tensor | None = None
    """Standard deviation when every step and sum is done in the operand format, as a framework without wider
    intermediates does; None where nothing is narrower than the steps, or the kind is declared."""


def measure_spread(run: ReferenceRun, arithmetic: Arithmetic) -> list[Spread]:
    """Spread of every output of `run`.

    The noiseless run is the centre. Elements that are not finite there, or in a noisy run, contribute nothing: classes
    are compared separately. A reference whose steps do not show (numpy inside) is noised at its arguments as well,
    and its deviation is scaled by the square root of the terms each output element depends on; at worst by the root of
    every element there is, since nobody can see whether the steps are a sum.
    """
    sizes: list[int] = [1]
    centre = run(lambda value: _noted(value, sizes), None)
    elements = frozenset(size for size in (*sizes, *(output.numel() for output in centre)) if size > 1)
    sampler = _Sampler(run=run, centre=centre, arithmetic=arithmetic, sizes=elements)
    statistical = sampler.sample(worst=False)
    visible = statistical.visible
    coherent = sampler.sample(worst=True, opaque=not visible)
    if not visible:
        statistical = sampler.sample(worst=False, opaque=True)
    rounded = sampler.sample(worst=False, operand=arithmetic.operand) if arithmetic.operand else None
    low = _sampled_low(sampler, opaque=not visible)
    spreads = []
    for position, output in enumerate(centre):
        terms = 1.0 if visible else max(1.0, max(sizes) / max(1, output.numel()))
        hidden = 1.0 if visible else max(terms, math.sqrt(max(sizes)))
        spreads.append(
            Spread(
                deviation=_pooled(statistical.deviation(position) * math.sqrt(terms), output),
                worst=_pooled(coherent.largest[position] * hidden, output),
                operand=None if rounded is None else _pooled(rounded.deviation(position), output),
                low=None if low is None else _pooled(low.deviation(position), output),
            )
        )
    return spreads


def _sampled_low(sampler: _Sampler, *, opaque: bool) -> _Samples | None:
    """Runs with everything in the operand format, where one is forgiven and narrower than the steps."""
    narrow, arithmetic = sampler.arithmetic.operand, sampler.arithmetic
    if narrow is None or narrow.precision >= arithmetic.compute.precision:
        return None
    below = replace(sampler, arithmetic=replace(arithmetic, compute=narrow, accumulate=narrow))
    return below.sample(worst=False, opaque=opaque)


@dataclass(slots=True, kw_only=True)
class _Samples:
    """Differences from the centre over noisy runs, folded per output."""

    roots: list[torch.Tensor]
    """Roots of the sums of squares; folded with hypot, since squares of large differences overflow."""

    largest: list[torch.Tensor]
    """Largest absolute ones."""

    count: int = 0
    """Runs so far."""

    visible: bool = False
    """The steps of the reference show."""

    def add(self, differences: list[torch.Tensor]) -> None:
        self.count += 1
        for roots, largest, difference in zip(self.roots, self.largest, differences, strict=True):
            torch.hypot(roots, difference, out=roots)
            torch.maximum(largest, difference.abs_(), out=largest)

    def deviation(self, position: int) -> torch.Tensor:
        return self.roots[position] / math.sqrt(self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampler:
    """Runs the reference with noise."""

    run: ReferenceRun
    """The reference, to be run again."""

    centre: list[torch.Tensor]
    """What it answers without noise."""

    arithmetic: Arithmetic
    """Whose rounding the noise imitates."""

    sizes: frozenset[int]
    """Elements of each argument and output, those of single elements left out."""

    def sample(self, *, worst: bool, opaque: bool = False, operand: FloatFormat | None = None) -> _Samples:
        roundings = [fmt.unit_roundoff for fmt in (operand, self.arithmetic.declared_operand) if fmt is not None]
        noise = Noise(
            unit_roundoff=self.arithmetic.compute.unit_roundoff,
            min_normal=self.arithmetic.compute.min_normal,
            accumulator_roundoff=self.arithmetic.accumulate.unit_roundoff,
            draws=Draws(self.arithmetic.seed, signs=worst),
            worst=worst,
            operand_roundoff=max(roundings, default=0.0),
        )
        observer = _Injector(noise)
        elements = max((output.numel() for output in self.centre), default=0)
        samples = _Samples(roots=self._zeros(), largest=self._zeros())
        for _ in range(SAMPLES if elements <= LARGE_ELEMENTS else SAMPLES_LARGE):
            noise.restart()
            outputs = self.run(noise.rounding if opaque else None, observer)
            samples.add([_difference(a, b) for a, b in zip(outputs, self.centre, strict=True)])
        samples.visible = elements == 0 or (observer.steps > 0 and not observer.entered & self.sizes)
        return samples

    def _zeros(self) -> list[torch.Tensor]:
        return [torch.zeros(output.shape, dtype=torch.float64, device=output.device) for output in self.centre]


def _noted(value: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    sizes.append(value.numel())
    return value


class _Injector:
    """Node observer that replaces every result by a noisy one."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self.steps = 0
        """Calls that compute or select, rather than hand a tensor on."""
        self.entered: set[int] = set()
        """Elements of each tensor that came from outside torch."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        name = func.overloadpacket.__name__
        self.steps += name not in HANDED_ON
        if name in ENTRIES and isinstance(result, torch.Tensor):
            self.entered.add(result.numel())
        noisy = noisy_result(self._noise, func, args, kwargs, result)
        if noisy is result:
            return result
        if func._schema.is_mutable and isinstance(result, torch.Tensor):
            return result.copy_(noisy)
        return noisy


def _difference(sample: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    """sample - centre, a fresh tensor; 0 where that is not finite, and for integers."""
    if not centre.is_floating_point() or sample.shape != centre.shape:
        return torch.zeros(centre.shape, dtype=torch.float64, device=centre.device)
    return torch.nan_to_num_(sample.double() - centre.double(), nan=0.0, posinf=0.0, neginf=0.0)


def _pooled(spread: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """At least POOLED_SHARE of the output's median relative spread, wherever there is any spread."""
    if not output.is_floating_point():
        return spread
    size = torch.nan_to_num(output.abs().double(), nan=0.0, posinf=0.0, neginf=0.0)
    few = spread.numel() // POOLED_ELEMENTS + 1
    some, sizes = spread.flatten()[::few], size.flatten()[::few]
    usable = (some > 0) & (sizes > 0) & torch.isfinite(some)
    if not bool(usable.any()):
        return spread
    ratio = (some[usable] / sizes[usable]).median()
    return torch.maximum(spread, size.mul_(spread > 0).mul_(POOLED_SHARE * ratio))
