"""A normalisation whose rows are right up to a factor: its epsilon, its divisor, its lanes or its precision.

Decides which wrong scale 1 / sqrt(s + eps) reproduces every row's factor. Deliberately silent about wrong means alone,
and about a factor that is the same in all rows without being that of a divisor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.row_fit import RowFit, fitted_rows, full_arguments, gathered, parameters, solved
from opsdebug_ci.numerics.patterns.sample import share

KNOWN = 1e-9
"""Relative residual of a float64 reference on the formula x * w + const, up to which it is that formula."""

EXPLAINED = 0.05
"""Part of a row's deviation a hypothesis may leave."""

ROWS = 0.95
"""Share of rows a hypothesis must explain."""

FEWEST = 3
"""Rows needed whose factor is off beyond its noise."""

BLOCKS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Widths rows are padded to. Not 2 n: padding by n zeros looks like a variance about 0 instead of the mean."""

IMPRECISE = 0.02
"""Largest median error of a row's factor that is lost precision: that of a statistic of 5 or 6 bits."""

CANCELS = 10.0
"""mean**2 / variance from which E[x**2] - mean**2 loses a digit and more: its condition number is 1 + that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scales:
    """Scales of the rows that are off."""

    x: torch.Tensor
    """rows x length, what is normalised."""

    spread: torch.Tensor
    """The statistic under the root without epsilon: variance, or mean square."""

    centred: bool
    """It is the variance."""

    eps: float
    """The reference's epsilon."""

    got: torch.Tensor
    """Scale the operator used."""

    wanted: torch.Tensor
    """Scale the reference used."""

    noise: float
    """Relative rounding noise of `got`."""

    def reproduces(self, scale: torch.Tensor) -> bool:
        """Whether `scale` is the operator's on nearly all rows."""
        left = (scale - self.got).abs()
        allowed = EXPLAINED * (self.got - self.wanted).abs() + 4 * self.noise * self.got.abs()
        return share(left <= allowed) >= ROWS


Reading = tuple[Cause, float, str, dict[str, float]]
"""Cause, confidence, statement, numbers."""


def norm_statistic(failure: Failure) -> Iterator[Clue]:
    """Per-row affine fit with residual energy < 1e-4, and a scale that another eps, divisor or padding reproduces.

    Tried in this order: n - 1 in place of n, another eps, eps outside the root, padded lanes, lost lanes; then factors
    of random sign: the statistic itself is imprecise, by cancellation where mean**2 >> variance.
    """
    if failure.kind not in (Kind.NORM, Kind.AUTO) or not full_arguments(failure):
        return
    fit = fitted_rows(failure)
    scales = None if fit is None else _scales(failure, fit)
    if fit is None or scales is None or scales.got.numel() < FEWEST:
        return
    for reading in (_divisor, _epsilon, _outside, _padded, _lost, _imprecise):
        found = reading(scales)
        if found is not None:
            cause, confidence, statement, numbers = found
            evidence = {"rows": scales.got.numel(), "residual": fit.residual, "eps": scales.eps, **numbers}
            yield failure.clue("norm_statistic", cause, confidence, statement, evidence)
            return


def _scales(failure: Failure, fit: RowFit) -> _Scales | None:
    """Both scales, by fitting reference and output to x * w + const, and the statistic behind the reference's."""
    weights = {name: gathered(value, fit.places) for name, value in parameters(failure).items()}
    one = torch.ones_like(fit.expected)
    for x in _normalised(failure, fit):
        for w in (one, *weights.values(), *(1 + w for w in weights.values())):
            basis = torch.stack([x * w, w, *(b for b in weights.values() if b is not w), one], -1)
            wanted = solved(basis, fit.expected)
            rest = fit.expected - (basis @ wanted.unsqueeze(-1)).squeeze(-1)
            if float(rest.square().sum()) <= KNOWN**2 * float(fit.expected.square().sum()):
                return _statistic(fit, x, solved(basis, fit.actual)[:, 0], wanted[:, 0])
    return None


def _normalised(failure: Failure, fit: RowFit) -> Iterator[torch.Tensor]:
    """What may have been normalised: an argument, or the sum of the first two."""
    arguments = [gathered(value, fit.places) for value in full_arguments(failure).values()]
    yield from arguments
    if len(arguments) > 1:
        yield arguments[0] + arguments[1]


def _statistic(fit: RowFit, x: torch.Tensor, got: torch.Tensor, wanted: torch.Tensor) -> _Scales | None:
    off = fit.off & (wanted != 0) & (got != 0)
    beneath = wanted.square().reciprocal()
    for centred, spread in ((True, x.var(1, unbiased=False)), (False, x.square().mean(1))):
        remaining = (beneath - spread)[wanted != 0]
        eps = float(remaining[spread[wanted != 0].argmin()]) if remaining.numel() else -1.0
        slack = 1e-6 * spread[wanted != 0] + 1e-3 * abs(eps)
        if eps >= -1e-12 * float(spread.max()) and bool(((remaining - eps).abs() <= slack).all()):
            return _Scales(
                x=x[off],
                spread=spread[off],
                centred=centred,
                eps=max(eps, 0.0),
                got=got[off],
                wanted=wanted[off],
                noise=fit.noise,
            )
    return None


def _root(beneath: torch.Tensor) -> torch.Tensor:
    return beneath.clamp_min(1e-300).rsqrt()


def _divisor(scales: _Scales) -> Reading | None:
    n = scales.x.shape[1]
    if not scales.centred or n < 2 or not scales.reproduces(_root(scales.spread * n / (n - 1) + scales.eps)):
        return None
    text = f"every row is off by the factor of a variance divided by n - 1 = {n - 1} instead of n = {n}"
    return Cause.WRONG_DEFAULT, 0.93, text, {"n": float(n)}


def _epsilon(scales: _Scales) -> Reading | None:
    beneath = scales.got.square().reciprocal()
    seen = max(float((beneath - scales.spread)[scales.spread.argmin()]), 0.0)
    used = 0.0 if scales.reproduces(_root(scales.spread)) else seen
    if not scales.reproduces(_root(scales.spread + used)):
        return None
    text = f"every row has the scale of eps = {_short(used)} instead of {_short(scales.eps)}"
    return Cause.WRONG_CONSTANT_EPS, 0.94, text, {"eps_used": used}


def _outside(scales: _Scales) -> Reading | None:
    root = scales.spread.sqrt()
    used = float((scales.got.abs().reciprocal() - root)[scales.spread.argmin()])
    if used <= 0 or not scales.reproduces(scales.got.sign() / (root + used)):
        return None
    text = (
        f"every row has the scale of eps = {_short(used)} added outside the root instead of {_short(scales.eps)} inside"
    )
    return Cause.WRONG_CONSTANT_EPS, 0.94, text, {"eps_used": used}


def _padded(scales: _Scales) -> Reading | None:
    n, mean = scales.x.shape[1], scales.x.mean(1)
    for width in sorted({-(-n // block) * block for block in BLOCKS} - {n, 2 * n}):
        extra = (width - n) * mean.square() if scales.centred else torch.zeros_like(mean)
        for divisor in (n, width):
            if scales.reproduces(_root((n * scales.spread + extra) / divisor + scales.eps)):
                text = (
                    f"every row has the scale of a statistic over {width} lanes, {width - n} of them padding, "
                    f"instead of {n}"
                )
                return Cause.TAIL_MASK, 0.93, text, {"lanes": float(width), "n": float(n)}
    return None


def _lost(scales: _Scales) -> Reading | None:
    n = scales.x.shape[1]
    for kept in sorted({n - n % block for block in BLOCKS if 0 < n - n % block < n} | {n - 1}, reverse=True):
        part = scales.x[:, :kept]
        for centre in (part.mean(1, keepdim=True), scales.x.mean(1, keepdim=True)):
            squares = (part - centre if scales.centred else part).square().sum(1)
            for divisor in (kept, n):
                if scales.reproduces(_root(squares / divisor + scales.eps)):
                    text = f"every row has the scale of its first {kept} of {n} elements: the last {n - kept} are lost"
                    return Cause.TAIL_MASK, 0.93, text, {"kept": float(kept), "n": float(n)}
    return None


def _imprecise(scales: _Scales) -> Reading | None:
    factor = scales.got / scales.wanted - 1
    above = share(factor > 0)
    if not 0.1 <= above <= 0.9 or scales.got.numel() < 6:
        return None
    condition = float((scales.x.mean(1).square() / scales.x.var(1, unbiased=False).clamp_min(1e-300)).median())
    size = float(factor.abs().median())
    numbers = {"median_factor_error": size, "condition": condition, "too_large": above}
    how = f"rows are off by a factor of random direction, {size:.2g} in the median"
    if scales.centred and condition > CANCELS:
        text = f"{how}, and mean**2 is {condition:.3g} x the variance: as E[x**2] - mean**2 it cancels"
        return Cause.LOW_PRECISION_ACCUM, 0.86, text, numbers
    if size > IMPRECISE:
        return None
    return Cause.LOW_PRECISION_ACCUM, 0.75, f"{how}: the statistic carries about {-math.log2(size):.0f} bits", numbers


def _short(eps: float) -> str:
    """Two digits: more are noise."""
    return f"{float(f'{eps:.2g}'):g}"
