"""Restricting a tensor's values to the domain an argument accepts, with as little change as possible.

Decides the replacement of values outside the domain. Which families suit a domain at all is decided in
`model.families`. Every domain but `any` is also finite.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from opsdebug_ci.model.vocabulary import ValueDomain


def restrict(values: torch.Tensor, domain: ValueDomain) -> torch.Tensor:
    """`values` inside `domain`, in a new tensor unless the domain is `any`.

    * finite: NaN becomes 1, an infinity 1 with its sign.
    * nonzero: also, a zero becomes the smallest non-zero magnitude among the values, with the zero's sign (1 when
      there is none), so that whole numbers stay whole, small ones small and subnormal ones subnormal.
    * nonnegative: finite, then magnitudes (the most negative integer becomes the largest).
    * positive: nonzero, then magnitudes.
    """
    if domain is ValueDomain.ANY:
        return values
    # Floats pass through float64, which holds every narrower format exactly: 8-bit ones lack most arithmetic.
    wide = values.to(torch.float64 if values.is_floating_point() else torch.int64)
    for step in _STEPS[domain]:
        wide = step(wide, values.dtype)
    return wide.to(values.dtype)


def _finite(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return torch.nan_to_num(wide, nan=1.0, posinf=1.0, neginf=-1.0) if dtype.is_floating_point else wide


def _nonzero(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    magnitudes = _magnitudes(wide, dtype)
    present = magnitudes[magnitudes > 0]
    least = present.min() if present.numel() else torch.ones((), dtype=wide.dtype)
    replacement = torch.copysign(least, wide) if dtype.is_floating_point else least
    return torch.where(wide == 0, replacement, wide)


def _magnitudes(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point or dtype is torch.bool:
        return wide.abs()
    return wide.clamp(min=-torch.iinfo(dtype).max).abs()


_STEPS: dict[ValueDomain, tuple[Callable[[torch.Tensor, torch.dtype], torch.Tensor], ...]] = {
    ValueDomain.FINITE: (_finite,),
    ValueDomain.NONZERO: (_finite, _nonzero),
    ValueDomain.NONNEGATIVE: (_finite, _magnitudes),
    ValueDomain.POSITIVE: (_finite, _nonzero, _magnitudes),
}
