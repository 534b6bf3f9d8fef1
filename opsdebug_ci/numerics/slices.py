"""Errors of an output slice by slice beside the framework's own at the same low precision.

Decides where an operator is locally far worse than the framework: global measures dilute a row, and a row's largest
values dilute its small ones, so a slice is a row along the last axis or a decile of the output's sizes. Deliberately
knows no zone; what follows from it is `comparison`'s.
"""

from __future__ import annotations

import torch

LIMITS = ((0.5, 1.5), (0.99, 2.0), (1.0, 3.0))
"""(q, c): the quantile q of a slice's errors may be c times the framework's."""

DECILES = 10
"""Slices by size."""

FEWEST = 32
"""Elements a slice needs before its quantiles are compared."""


def far_worse(error: torch.Tensor, framework: torch.Tensor, expected: torch.Tensor, unit: float) -> torch.Tensor:
    """Elements that lie in a slice in which every one of LIMITS is exceeded.

    Equivalent to: for rows along the last axis, then for deciles of |expected|, E(q) > c*max(F(q), unit*RMS(expected))
    for all (q, c), E and F the quantiles of the two errors in the slice. All of them, since a single quantile is
    exceeded by luck or by another order of summation.

    Args:
        error: float64, |operator - truth| beyond one rounding, any shape; finite.
        framework: the framework's, same shape; finite.
        expected: float64 truth, same shape; not finite where nothing is compared.
        unit: unit roundoff of the output format: the floor, so that an exact framework does not forbid rounding.

    Returns:
        bool, same shape. Slices of fewer than FEWEST elements, and those with a truth that is not finite, are left out.
    """
    found = torch.zeros(error.shape, dtype=torch.bool, device=error.device)
    if error.ndim and error.numel() and error.shape[-1] >= FEWEST:
        rows = _exceeded(error, framework, expected, unit)
        found |= rows.unsqueeze(-1)
    if error.numel() < DECILES * FEWEST:
        return found
    order = expected.abs().flatten().argsort()
    length = order.numel() // DECILES
    by_size = order[: length * DECILES].reshape(DECILES, length)
    mine, theirs, truth = (side.flatten()[by_size] for side in (error, framework, expected))
    deciles = _exceeded(mine, theirs, truth, unit)
    found.view(-1)[by_size[deciles].flatten()] = True
    return found


def _exceeded(error: torch.Tensor, framework: torch.Tensor, expected: torch.Tensor, unit: float) -> torch.Tensor:
    """Per slice along the last axis."""
    floor = unit * expected.square().mean(-1).sqrt()
    mine, theirs = error.sort(-1).values, framework.sort(-1).values
    exceeded = torch.isfinite(floor)
    for q, factor in LIMITS:
        place = round(q * (error.shape[-1] - 1))
        exceeded = exceeded & (mine[..., place] > factor * torch.maximum(theirs[..., place], floor))
    return exceeded
