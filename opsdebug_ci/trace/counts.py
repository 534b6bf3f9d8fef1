"""What is unhealthy in one tensor: NaN, infinities, magnitudes above a limit.

Decides how a tensor is looked at: floats by their extremes, which are NaN where any element is; complex numbers as
pairs; one-byte floats, whose extremes torch does not compute, by their bits. Integers are always healthy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from opsdebug_ci.numerics.classes import unravel

REAL = frozenset({torch.float64, torch.float32, torch.float16, torch.bfloat16})
"""Dtypes with extremes."""

COMPLEX = frozenset({torch.complex32, torch.complex64, torch.complex128})
"""Pairs of them."""

GREATEST_FINITE = {torch.float8_e4m3fn: (0x7E, 448.0), torch.float8_e5m2: (0x7B, 57344.0)}
"""One-byte formats: bits of the largest finite magnitude, and that number. Larger bits are infinite or NaN."""

INFINITE_BITS = {torch.float8_e5m2: 0x7C}
"""Bits of infinity, where there is one (Micikevicius et al., FP8 Formats for Deep Learning, 2022, table 1)."""

_MAGNITUDE_BITS = 0x7F


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Magnitude that counts as unhealthy."""

    magnitude: float
    """For any dtype."""

    by_dtype: Mapping[str, float] = field(default_factory=dict)
    """For some."""

    overflow: float = math.inf
    """Finite magnitudes above this count as infinities: what a run in a wider format would be in a narrower one."""

    def of(self, dtype: str) -> float:
        """That of one dtype."""
        return self.by_dtype.get(dtype, self.magnitude)

    def bound(self, dtype: torch.dtype) -> float:
        """Largest healthy magnitude."""
        return min(self.of(str(dtype).removeprefix("torch.")), self.overflow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Unhealthy elements of one tensor."""

    nan: int = 0
    """NaN."""

    infinite: int = 0
    """Infinities."""

    over_limit: int = 0
    """Finite ones above the limit."""

    first: tuple[int, ...] | None = None
    """First of any kind."""

    sick_nan: torch.Tensor | None = None
    """bool: where the NaN are; None: nowhere."""

    @property
    def any(self) -> bool:
        """There is something unhealthy."""
        return bool(self.nan or self.infinite or self.over_limit)


HEALTHY = Counts()
"""Of a tensor with nothing unhealthy."""


def has_health(value: object) -> bool:
    """Whether `value` is a tensor whose elements may be unhealthy."""
    return (
        isinstance(value, torch.Tensor)
        and (value.dtype in REAL or value.dtype in COMPLEX or value.dtype in GREATEST_FINITE)
        and value.layout is torch.strided
        and not value.is_meta
    )


def is_sick(values: torch.Tensor, bound: float) -> bool:
    """Whether any element is NaN, or larger in magnitude than `bound`. One pass, no copy."""
    if values.numel() == 0:
        return False
    if values.dtype in GREATEST_FINITE:
        finite, greatest = GREATEST_FINITE[values.dtype]
        if bound >= greatest:
            return bool(((values.view(torch.uint8) & _MAGNITUDE_BITS) > finite).any())
    low, high = extremes(values)
    return not (-bound <= low.item() and high.item() <= bound)  # NaN fails both


def extremes(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Smallest and largest element, of complex numbers smallest and largest part; NaN where any is."""
    plain = values.detach() if values.requires_grad else values
    low, high = torch.aminmax(packed(plain if plain.dtype in REAL else _real(plain)))
    return low, high


def packed(values: torch.Tensor) -> torch.Tensor:
    """The same elements, each at least once and nothing else, in the order of memory where they lie without gaps.

    A reduction over a transposed tensor is several times as slow as over the same bytes in order.
    """
    if values.is_contiguous():
        return values
    axes = [(stride, size) for size, stride in zip(values.shape, values.stride(), strict=True) if size > 1 and stride]
    span = 1
    for stride, size in sorted(axes):
        if stride != span:
            return values
        span *= size
    return values.as_strided((span,), (1,))


def count(values: torch.Tensor, limits: Limits) -> Counts:
    """Every unhealthy element counted; of most tensors, one look at the extremes."""
    bound = limits.bound(values.dtype)
    if not is_sick(values, bound):
        return HEALTHY
    values = values.detach()
    if values.dtype in COMPLEX:
        parts = _real(values).double()
        nan, infinite, over = (kind.any(-1) for kind in _kinds(parts, limits, bound))
    elif values.dtype in GREATEST_FINITE:
        bits = values.view(torch.uint8) & _MAGNITUDE_BITS
        finite, _ = GREATEST_FINITE[values.dtype]
        infinite = bits == INFINITE_BITS.get(values.dtype, _MAGNITUDE_BITS + 1)
        nan = (bits > finite) & ~infinite
        over = (values.float().abs() > bound) & ~nan & ~infinite
    else:
        nan, infinite, over = _kinds(values.double(), limits, bound)
    nan = nan & ~infinite if values.dtype in COMPLEX else nan
    sick = (nan | infinite | over).flatten()
    return Counts(
        nan=int(nan.sum()),
        infinite=int(infinite.sum()),
        over_limit=int((over & ~nan & ~infinite).sum()),
        first=unravel(int(sick.to(torch.uint8).argmax()), tuple(values.shape)),
        sick_nan=nan if bool(nan.any()) else None,
    )


def _kinds(wide: torch.Tensor, limits: Limits, bound: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    size = wide.abs()
    infinite = torch.isinf(wide) | (size > limits.overflow)
    return torch.isnan(wide), infinite, ~infinite & (size > bound)


def _real(values: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs, one-byte floats wider, others as they are."""
    if values.dtype in COMPLEX:
        # Conjugation that is only noted moves no number out of its class.
        return torch.view_as_real(values.conj() if values.is_conj() else values)
    return values.float() if values.dtype in GREATEST_FINITE else values
