"""How far a second reference is from the one in use.

Decides on which elements two references disagree, and by how much of what is allowed. Deliberately does not decide what
is allowed, nor what follows from a disagreement: that is `comparison`.
"""

from __future__ import annotations

import math

import torch

from opsdebug_ci.numerics.formats import round_to


def disagreement(
    values: torch.Tensor, expected: torch.Tensor, allowed: torch.Tensor, dtype: torch.dtype
) -> tuple[float | None, int]:
    """Largest share of `allowed` that `values` are away from `expected`, and how many elements are too far.

    NaN agrees with NaN. Equal values agree, and so does the other reference rounded to the output's dtype, which may
    have overflowed where the truth is beyond it.

    Args:
        values: float64, any shape.
        expected: float64, same shape.
        allowed: float64, same shape, in the same units.
        dtype: the output's.

    Returns:
        The share, over elements with a finite distance and an allowance above 0, None where there are none; and the
        count.
    """
    distance = (values - expected).abs_()
    if distance.numel() and allowed.amin().item() > 0 and (allowed - distance).amin().item() >= 0:
        return (distance / allowed).amax().item(), 0  # every distance is finite: an infinite one leaves NaN or -inf
    same = (values == expected) | (values == round_to(expected, dtype))
    agree = same | (torch.isnan(values) & torch.isnan(expected)) | (distance <= allowed)
    finite = torch.isfinite(distance) & (allowed > 0)
    share = (distance[finite] / allowed[finite]).amax().item() if bool(finite.any()) else None
    return share, int((~agree).sum())


def agreement(values: torch.Tensor, expected: torch.Tensor, allowed: torch.Tensor) -> float:
    """First percentile of 1 - min(1, |values - expected| / allowed), 0 to 1; 1 where nothing is finite.

    Args:
        values: float64, any shape.
        expected: float64, same shape.
        allowed: float64, same shape, in the same units. Equal values agree wholly, whatever is allowed.

    Returns:
        The agreement that 99 % of the elements with a finite distance reach, the nearest rank below.
    """
    distance = (values - expected).abs_()
    share = torch.where(distance == 0, distance, distance / allowed)[torch.isfinite(distance)]
    if share.numel() == 0:
        return 1.0
    rank = max(1, math.ceil(0.99 * share.numel()))
    return 1.0 - min(1.0, share.kthvalue(rank).values.item())
