"""Evaluations of a reference that are as right as its own: with rounding errors injected, with a decision taken the
other way, in the range of the working precision, without what is not finite.

From them come the operator's own share of the tolerance, per element, and the answers that are accepted besides the
reference's. Each is run when it is first asked for: most outputs are settled by one noisy run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.decisions import Decision, Decisions, decides
from opsdebug_ci.numerics.lifting import NodeObserver
from opsdebug_ci.numerics.noise import Draws, Noise
from opsdebug_ci.numerics.noise_rules import noisy_result
from opsdebug_ci.numerics.stand_ins import InRange, Reassociated, chosen_zeros, spread_nan, substituted

LEVELS = (1, 2, 4, 8)
"""Noisy runs after which an output is looked at again: as long as an element is beyond the tolerance, the next."""

LEVELS_LARGE = (1, 2, 4)
"""The same above LARGE_ELEMENTS, where one run is dear and neighbours inform each other."""

LARGE_ELEMENTS = 1 << 18
"""Elements per output above which fewer samples are drawn."""

POOLED_SHARE = 0.5
"""An element's spread is at least this share of the median relative spread of its output.

With 8 samples a standard deviation is underestimated by more than 0.4 with probability 0.4 % (chi-square, 8 degrees of
freedom); with one sample by more than 0.4 in a third of all elements. The pooled floor removes those holes, and makes
one sample enough where the whole output lies within it.
"""

POOLED_ELEMENTS = 1 << 12
"""About this many elements, evenly spaced, give the median of a larger output."""

FLIPS = 8
"""Runs in which decisions fall either way: two with all errors of one sign, the others with random signs; half of them
where nothing fell otherwise."""

HANDED_ON = frozenset({"alias", "clone", "detach", "lift_fresh", "lift_fresh_copy", "view", "_to_copy", "_unsafe_view"})
"""Calls made for any reference, numpy ones included; they say nothing about its steps."""

ENTRIES = frozenset({"lift_fresh", "lift_fresh_copy"})
"""Calls through which arrays made outside torch enter. One as large as an argument or output was computed there."""

INDEPENDENT = 1e-12
"""Relative difference of two float64 evaluations up to which they are the same: some thousand roundings."""

LOST = 8.0
"""Smallest subnormal numbers by which a subnormal argument is off when a constant of 1/16 or more comes first."""

Change = Callable[[torch.Tensor], torch.Tensor]


class ReferenceRun(Protocol):
    """Runs the reference in float64 on `change`d floating arguments, watched by `observer`; returns its outputs."""

    def __call__(self, change: Change | None, observer: NodeObserver | None) -> list[torch.Tensor]: ...


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

    worst: torch.Tensor | None
    """Largest deviation over runs with coherent worst-case errors; None where nobody has asked yet."""

    operand: torch.Tensor | None
    """Standard deviation when operands of products are rounded as well; None where that is not forgiven."""

    low: torch.Tensor | None = None
    """Standard deviation when the result of every step is kept in the operand format, as by a framework without wider
    intermediates, whose sums are wider; None where nothing is narrower than the steps, or the kind is declared."""


class Evaluations:
    """Evaluations of one reference on one set of arguments.

    The first run is the centre. Decisions (comparisons, roundings to whole numbers, orders) are those of the centre in
    every noisy run, so that a spread is that of the steps and never of a jump; what a jump permits is `either_side`.
    A reference whose steps do not show (numpy inside) is noised at its arguments as well, and its deviation is scaled
    by the square root of the terms each output depends on; at worst by the root of every element there is, since nobody
    can see whether the steps are a sum.
    """

    def __init__(self, run: ReferenceRun, arithmetic: Arithmetic, observer: NodeObserver | None = None) -> None:
        self._run, self._arithmetic = run, arithmetic
        sizes: list[int] = [1]
        watch = _Centre(observer)
        self.centre = run(lambda value: _noted(value, sizes), watch)
        """The outputs without noise."""
        elements = {size for size in (*sizes, *(output.numel() for output in self.centre)) if size > 1}
        self._visible = not elements or (watch.steps > 0 and not watch.entered & elements)
        self._largest_argument = max(sizes)
        self._decisions = watch.decisions
        self._statistical = _Samples(self.centre)
        self._further: tuple[_Samples, _Samples, _Samples] | None = None
        self._further_noise: list[Noise | None] = []
        self._noise: Noise | None = None
        self._ranged = InRange(arithmetic.compute)
        self._reassociated = Reassociated()
        self._cached: dict[str, list[torch.Tensor]] = {}
        largest = max((output.numel() for output in self.centre), default=0)
        self.levels = LEVELS if largest <= LARGE_ELEMENTS else LEVELS_LARGE
        """Numbers of noisy runs a spread may rest on."""

    def spread(self, position: int, samples: int | None = None, *, full: bool = False) -> Spread:
        """Spread of output `position` from `samples` noisy runs, all there are without a number. If `full` with the
        worst case and what an open kind forgives, which take as many each. An element that is finite without noise and
        not with it has lost all its digits; one that is not finite without contributes nothing."""
        count = self.levels[-1] if samples is None else samples
        full = full or samples is None
        if full:
            self._sample_further(count)
        self._sample_statistical(count)
        output = self.centre[position]
        terms = 1.0 if self._visible else max(1.0, self._largest_argument / max(1, output.numel()))
        hidden = 1.0 if self._visible else max(terms, math.sqrt(self._largest_argument))
        deviation = _pooled(self._statistical.deviation(position) * math.sqrt(terms), output)
        if not full or self._further is None:
            return Spread(deviation=deviation, worst=None, operand=None)
        worst, operand, low = self._further
        return Spread(
            deviation=deviation,
            worst=_pooled(worst.largest[position] * hidden, output),
            operand=_pooled(operand.deviation(position), output) if operand.count else None,
            low=_pooled(low.deviation(position), output) if low.count else None,
        )

    def either_side(self, position: int) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Smallest and largest answer where decisions whose argument lies within its own error of the border fall
        either way; None where nothing decides, or an order gives the places themselves. Exact steps have no error."""
        if not self._decisions or self._deciding(position) is not None:
            return None
        if "low" not in self._cached:
            self._cached["low"], self._cached["high"] = self._flipped()
        return self._cached["low"][position], self._cached["high"][position]

    def in_range(self, position: int) -> torch.Tensor:
        """The answer where every step below the normal range of the working precision is zero, beyond it infinite."""
        return self._once("range", None, self._ranged)[position]

    def of_lost_digits(self, position: int) -> torch.Tensor:
        """How far the answer moves when subnormal numbers of the arguments are off by LOST of the smallest one, each
        argument the other way than the one before: products with a constant, in another order, lose as much."""
        fmt = self._arithmetic.compute
        centre = self.centre[position].double()
        moved = torch.zeros_like(centre)
        for name, first in (("up", 1.0), ("down", -1.0)):
            signs = itertools.cycle((first, -first))

            def off(value: torch.Tensor, signs: Iterator[float] = signs) -> torch.Tensor:
                lost = next(signs) * LOST * fmt.min_subnormal
                return torch.where((value.abs() < fmt.min_normal) & (value != 0), value + lost, value)

            answer = self._once(f"digits lost {name}", off)[position].double()
            moved = torch.fmax(moved, torch.nan_to_num((answer - centre).abs(), nan=math.inf))
        return moved

    def either_zero(self, position: int) -> torch.Tensor:
        """Elements that are zero of either sign: theirs is that of a zero chosen among values, and which of two equal
        zeros is the largest is not specified."""
        plus, minus = (
            self._once(f"zeros {sign}", None, partial(chosen_zeros, sign))[position].double() for sign in (1.0, -1.0)
        )
        return (plus == 0) & (minus == 0) & (torch.signbit(plus) != torch.signbit(minus))

    def flushed_last(self, position: int) -> torch.Tensor:
        """Elements that left the range, see `in_range`, in the step that made them and in none before."""
        ranged, centre = self.in_range(position), self.centre[position]
        before = self._ranged.before.get(ranged.shape)
        return (ranged == 0) & (before == centre) if before is not None else torch.zeros_like(ranged, dtype=torch.bool)

    def beyond_special(self, position: int) -> torch.Tensor:
        """The answer that what is not finite in the arguments leaves: the limit as they approach their infinities,
        where it is the same whatever finite values stand for their NaN; infinite where it grows with them, else NaN.

        So an element that depends on none of them (a masked position) has the value of any evaluation that does not
        touch them, and an element that a NaN reaches has no answer but NaN.
        """
        near, far = (
            self._once(f"special {nan} {infinity}", partial(substituted, nan=nan, infinity=infinity))[position].double()
            for nan, infinity in ((8.0, 1e30), (-8.0, 1e33))
        )
        small = self.without_special.centre[position].double()
        settled = (far - small).abs() <= INDEPENDENT * far.abs()
        limit = settled & ((far - near).abs() <= INDEPENDENT * far.abs())
        grows = settled & (far.abs() > 1e2 * near.abs()) & (near.abs() > 1e20) & (far.sign() == near.sign())
        return torch.where(limit, far, torch.where(grows, far.sign() * math.inf, math.nan))

    @cached_property
    def without_special(self) -> Evaluations:
        """Evaluations on arguments with small numbers for NaN and huge ones for infinities: their spread is that of
        `beyond_special`."""

        def run(change: Change | None, observer: NodeObserver | None) -> list[torch.Tensor]:
            def replaced(value: torch.Tensor) -> torch.Tensor:
                finite = substituted(value, nan=0.3, infinity=1e33)
                return finite if change is None else change(finite)

            return self._run(replaced, observer)

        return Evaluations(run, self._arithmetic)

    def touched_by_special(self, position: int) -> torch.Tensor:
        """Elements that some evaluation lets what is not finite in the arguments reach: NaN in its place spreads
        through every step, what a mask takes out included. Negative infinities without positive ones are masks, which
        are meant."""

        def poisoned(value: torch.Tensor) -> torch.Tensor:
            masks = not bool((value == math.inf).any())
            return torch.where(torch.isnan(value) if masks else ~torch.isfinite(value), math.nan, value)

        touched = torch.isnan(self._once("touched", poisoned, spread_nan)[position])
        other_order = torch.isnan(self._once("reassociated", poisoned, self._reassociated)[position])
        return touched | other_order if self._reassociated.products > 1 else touched

    def order_behind(self, position: int) -> tuple[torch.Tensor, int | None, torch.Tensor] | None:
        """Of an index output: the values it orders, their axis, and their deviation; None where no order made it, or a
        stable one, whose ties are specified."""
        decision = self._deciding(position)
        if decision is None or decision.stable:
            return None
        self._sample_statistical(self.levels[-1])
        return decision.source, decision.axis, decision.deviation()

    def given(self, position: int, indices: torch.Tensor) -> None:
        """Take output `position` for decided as `indices`: the other outputs of `conditioned` follow from it."""
        decision = self._deciding(position)
        if decision is not None and decision.chosen is None:
            decision.chosen = indices.to(decision.index.dtype)
            self._cached.pop("conditioned", None)

    def conditioned(self, position: int) -> torch.Tensor | None:
        """The answer that follows from the operator's own valid choices; None where none differ from the centre's."""
        if all(decision.chosen is None for decision in self._decisions):
            return None
        return self._once("conditioned", None, Decisions(self._decisions))[position]

    def _deciding(self, position: int) -> Decision | None:
        output = self.centre[position]
        if output.is_floating_point():
            return None
        fitting = (d for d in reversed(self._decisions) if d.orders and d.index.shape == output.shape)
        return next((d for d in fitting if torch.equal(d.index.to(output.dtype), output)), None)

    def _once(self, name: str, change: Change | None, observer: NodeObserver | None = None) -> list[torch.Tensor]:
        if name not in self._cached:
            outputs = self._run(change, observer or Decisions(()))
            shaped = [o if o.shape == c.shape else torch.full_like(c.double(), math.nan)
                      for o, c in zip(outputs, self.centre, strict=True)]  # fmt: skip
            self._cached[name] = shaped
        return self._cached[name]

    def _sample_statistical(self, count: int) -> None:
        if self._noise is None:
            self._noise = self._make_noise(worst=False)
        while self._statistical.count < count:
            self._sample_into(self._statistical, self._noise)

    def _sample_further(self, count: int) -> None:
        """Worst cases, operands rounded, results in the operand format: up to `count` runs of each that is asked."""
        narrow, compute = self._arithmetic.operand, self._arithmetic.compute
        if self._further is None:
            self._further = _Samples(self.centre), _Samples(self.centre), _Samples(self.centre)
            self._further_noise = [self._make_noise(worst=True), None, None]
            if narrow is not None:
                self._further_noise[1] = self._make_noise(worst=False, operand=narrow)
                if narrow.precision < compute.precision:
                    below = replace(self._arithmetic, compute=narrow)
                    low = self._make_noise(worst=False, arithmetic=below)
                    self._further_noise[2] = replace(low, min_normal=narrow.min_normal)
        for samples, noise in zip(self._further, self._further_noise, strict=True):
            while noise is not None and samples.count < count:
                self._sample_into(samples, noise)

    def _make_noise(
        self, *, worst: bool, operand: FloatFormat | None = None, arithmetic: Arithmetic | None = None
    ) -> Noise:
        used = arithmetic or self._arithmetic
        roundings = [fmt.unit_roundoff for fmt in (operand, used.declared_operand) if fmt is not None]
        return Noise(
            unit_roundoff=used.compute.unit_roundoff,
            accumulator_roundoff=used.accumulate.unit_roundoff,
            draws=Draws(used.seed, signs=worst),
            worst=worst,
            operand_roundoff=max(roundings, default=0.0),
        )

    def _sample_into(self, samples: _Samples, noise: Noise) -> None:
        noise.restart()
        change = None if self._visible else noise.rounding
        decisions = Decisions(self._decisions, note=samples is self._statistical)
        samples.add(self._run(change, _Injector(noise, decisions)))

    def _flipped(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        wide = [each.double() if each.is_floating_point() else each for each in self.centre]
        low, high = [each.clone() for each in wide], [each.clone() for each in wide]
        used = self._arithmetic
        exact = torch.float32 if used.compute.name == "float32" else None
        moved = False
        for number in range(FLIPS):
            if number == FLIPS // 2 and not moved:
                break
            noise = Noise(
                unit_roundoff=used.compute.unit_roundoff,
                accumulator_roundoff=used.accumulate.unit_roundoff,
                draws=Draws(used.seed + number, signs=True, always=(1.0, -1.0)[number] if number < 2 else None),
                worst=True,
                exact_format=exact,
            )
            decisions = Decisions(self._decisions, ties=used.seed + number)
            outputs = self._run(None if self._visible else noise.rounding, _Injector(noise, decisions))
            moved |= decisions.moved
            for least, most, output in zip(low, high, outputs, strict=True):
                if output.shape == least.shape:
                    torch.fmin(least, output.to(least.dtype), out=least)
                    torch.fmax(most, output.to(most.dtype), out=most)
        return low, high


class _Samples:
    """Differences from the centre over noisy runs, folded per output."""

    def __init__(self, centre: list[torch.Tensor]) -> None:
        self._centre = centre
        self._roots = [torch.zeros(output.shape, dtype=torch.float64, device=output.device) for output in centre]
        self.largest = [torch.zeros_like(root) for root in self._roots]
        """Largest absolute differences."""
        self.count = 0

    def add(self, outputs: list[torch.Tensor]) -> None:
        self.count += 1
        for roots, largest, output, centre in zip(self._roots, self.largest, outputs, self._centre, strict=True):
            if not centre.is_floating_point() or output.shape != centre.shape:
                continue
            difference = (output.double() - centre.double()).abs_()
            if not math.isfinite(difference.sum().item()):
                lost = torch.nan_to_num(centre.abs().double(), nan=0.0, posinf=0.0)
                difference = torch.where(torch.isfinite(difference), difference, lost)
            torch.maximum(largest, difference, out=largest)
            if self.count == 1:
                roots.copy_(difference)
            else:
                torch.hypot(roots, difference, out=roots)  # squares of large differences overflow

    def deviation(self, position: int) -> torch.Tensor:
        return self._roots[position] / math.sqrt(self.count)


def measure_spread(run: ReferenceRun, arithmetic: Arithmetic) -> list[Spread]:
    """Spread of every output of `run`, from all the noisy runs there are."""
    evaluations = Evaluations(run, arithmetic)
    return [evaluations.spread(position) for position in range(len(evaluations.centre))]


def _noted(value: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    sizes.append(value.numel())
    return value


class _Centre:
    """Node observer of the undisturbed run: counts steps, keeps decisions, and shows every call to another observer."""

    def __init__(self, observer: NodeObserver | None) -> None:
        self._observer = observer
        self.steps = 0
        """Calls that compute or select, rather than hand a tensor on."""
        self.entered: set[int] = set()
        """Elements of each tensor that came from outside torch."""
        self.decisions: list[Decision] = []

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        name = func.overloadpacket.__name__
        self.steps += name not in HANDED_ON
        if name in ENTRIES and isinstance(result, torch.Tensor):
            self.entered.add(result.numel())
        if decides(func, args, kwargs, result):
            self.decisions.append(Decision(func, args, kwargs, result))
        return result if self._observer is None else self._observer(func, args, kwargs, result)


class _Injector:
    """Node observer that replaces every result by a noisy one, and decisions as `decisions` says."""

    def __init__(self, noise: Noise, decisions: Decisions) -> None:
        self._noise, self._decisions = noise, decisions

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        decided = self._decisions(func, args, kwargs, result)
        if decided is not result:
            return decided
        noisy = noisy_result(self._noise, func, args, kwargs, result)
        if noisy is not result and func._schema.is_mutable and isinstance(result, torch.Tensor):
            return result.copy_(noisy)
        return noisy


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
