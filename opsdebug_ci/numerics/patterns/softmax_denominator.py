"""Softmax rows that are right up to a factor, log-softmax rows up to a shift: the denominator is wrong.

Decides what the denominator has too much or too little. Deliberately silent where the numerators are wrong as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.row_fit import RowFit, fitted_rows, full_arguments, gathered
from opsdebug_ci.numerics.patterns.sample import sampled, share

MATCH = 0.95
"""Share of rows to explain."""

EXPLAINED = 0.05
"""Part of a row's deviation that may be left."""

FEWEST = 3
"""Rows needed whose denominator is off."""

MOST_LOST = 64
"""Last elements looked at for what is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Denominators:
    """Per row, over the rows that are off."""

    excess: torch.Tensor
    """Denominator over the reference's, minus 1."""

    probabilities: torch.Tensor
    """rows x length: the reference's softmax."""

    zero: torch.Tensor | None
    """What exp(0), or exp(0 - max), is of the reference's denominator; None without the argument."""

    noise: float
    """Rounding noise of `excess`."""

    def matches(self, value: torch.Tensor) -> bool:
        """Whether `value` is the excess on nearly all rows."""
        return share((value - self.excess).abs() <= EXPLAINED * self.excess.abs() + 4 * self.noise) >= MATCH


def softmax_denominator(failure: Failure) -> Iterator[Clue]:
    """Per-row fit with residual energy < 1e-4, rows of probabilities, and what reproduces the factors.

    k terms exp(0) too many: padded lanes. The last k probabilities too few, or more: a lost tail. Factors of random
    sign: a denominator of few bits; all too large and varying: one that stopped growing. Rival: a constant factor.
    """
    if failure.kind not in (Kind.SOFTMAX, Kind.LOG_SOFTMAX, Kind.AUTO):
        return
    if failure.kind is Kind.AUTO and not _of_one_sign(failure):
        return
    fit = fitted_rows(failure)
    rows = None if fit is None else _denominators(failure, fit)
    if fit is None or rows is None or rows.excess.numel() < FEWEST:
        return
    found = _padded(rows) or _lost(rows) or _imprecise(rows)
    if found is not None:
        cause, confidence, statement, numbers = found
        evidence = {"rows": rows.excess.numel(), "residual": fit.residual, **numbers}
        yield failure.clue("softmax_denominator", cause, confidence, statement, evidence)


def _of_one_sign(failure: Failure) -> bool:
    """Whether the reference could be probabilities, or their logarithms."""
    expected = sampled(failure).expected
    return bool(((expected >= 0) & (expected <= 1)).all()) or bool((expected <= 0).all())


def _denominators(failure: Failure, fit: RowFit) -> _Denominators | None:
    """None unless the reference's rows are probabilities, or their logarithms."""
    total = fit.expected.sum(1)
    if bool(((total - 1).abs() < 1e-6).all()) and bool((fit.expected >= 0).all()):
        shares, excess = fit.expected, 1 / fit.gain - 1
    else:
        shares = fit.expected.exp()
        if not bool(((shares.sum(1) - 1).abs() < 1e-6).all()):
            return None
        excess = torch.expm1(-(fit.actual - fit.expected).mean(1))
    noise = fit.noise * (1 + float(fit.expected.abs().median()))
    off = torch.isfinite(excess) & (excess.abs() > 8 * noise)
    if not bool((excess[off] != -1).all()):
        return None
    zero = None
    for x in full_arguments(failure).values():
        rows = gathered(x, fit.places)
        zero = torch.exp(-torch.logsumexp(rows, 1))[off]
        break
    return _Denominators(excess=excess[off], probabilities=shares[off], zero=zero, noise=noise)


Reading = tuple[Cause, float, str, dict[str, float]]
"""Cause, confidence, statement, numbers."""


def _padded(rows: _Denominators) -> Reading | None:
    if rows.zero is None:
        return None
    extra = float((rows.excess / rows.zero).median())
    lanes = round(extra)
    if lanes < 1 or abs(extra - lanes) > 0.1 or not rows.matches(lanes * rows.zero):
        return None
    text = f"every row's denominator has {lanes} exp(0) too many: that many padded lanes count"
    return Cause.TAIL_MASK, 0.94, text, {"lanes": float(lanes)}


def _lost(rows: _Denominators) -> Reading | None:
    length = rows.probabilities.shape[1]
    tails = rows.probabilities.flip(1).cumsum(1)
    for lost in range(1, min(MOST_LOST, length - 1) + 1):
        if rows.matches(-tails[:, lost - 1]):
            text = f"every row's denominator lacks its last {lost} of {length} terms"
            return Cause.TAIL_MASK, 0.93, text, {"lost": float(lost), "length": float(length)}
    return None


def _imprecise(rows: _Denominators) -> Reading | None:
    size, above = float(rows.excess.abs().median()), share(rows.excess > 0)
    numbers = {"median_factor_error": size, "too_large": above}
    if size > 0.1 or rows.excess.numel() < 6:
        return None
    if 0.1 <= above <= 0.9:
        text = (
            f"denominators are off in random direction, {size:.2g} in the median: their sums carry about "
            f"{-math.log2(size):.0f} bits"
        )
        return Cause.LOW_PRECISION_ACCUM, 0.82, text, numbers
    if above < 0.1 and float(rows.excess.std()) > 0.05 * size:
        return Cause.LOW_PRECISION_ACCUM, 0.6, f"denominators are all too small, by {size:.2g} in the median", numbers
    return None
