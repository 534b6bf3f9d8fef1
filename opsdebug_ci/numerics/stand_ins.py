"""What stands in for results and arguments in other right evaluations of a reference: nothing beyond a format's range,
NaN that no selection stops, zeros of one sign, numbers for what is not finite.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.numerics.decisions import ORDERS
from opsdebug_ci.numerics.noise_rules import EXACT

SELECTIONS = frozenset({"where", "masked_fill", "tril", "triu"})
"""Calls that leave out elements of an argument."""

ADDING = frozenset({"addmm", "baddbmm", "addmv"})
"""Products of matrices that are added to a first argument."""

PRODUCTS = ADDING | {"mm", "bmm", "mv", "dot"}
"""Products of matrices."""

CHOICES = (ORDERS - {"argsort", "argmax", "argmin"}) | frozenset(
    """amax amin aminmax clamp clamp_max clamp_min fmax fmin hardtanh maximum minimum relu adaptive_max_pool2d
    adaptive_max_pool3d max_pool2d_with_indices max_pool3d_with_indices""".split()  # noqa: SIM905 - a word list
)
"""Calls that give one of several values."""


class InRange:
    """Node observer that keeps every computed result within the range of a format: infinite beyond it, zero below its
    normals. Calls that only move or select numbers compute none."""

    def __init__(self, fmt: FloatFormat) -> None:
        self._format = fmt
        self.before: dict[torch.Size, torch.Tensor] = {}
        """The last result of every shape that was changed, as it was before."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        name = func.overloadpacket.__name__.removesuffix("_")
        if name in EXACT:
            return result
        if name in ("addcmul", "addcdiv"):
            product = self._kept(func, kwargs.get("value", 1) * args[1])
            whole = args[0] + (product * args[2] if name == "addcmul" else product / args[2])
            result = result.copy_(whole) if func._schema.is_mutable else whole
        if isinstance(result, (tuple, list)):
            return type(result)([self._kept(func, each) for each in result])
        return self._kept(func, result)

    def _kept(self, func: Any, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype is not torch.float64 or value.numel() == 0:
            return value
        size = value.abs()
        kept = torch.where(size > self._format.max_finite, value.sign() * math.inf, value)
        kept = torch.where(size < self._format.min_normal, value * 0.0, kept)
        kept = torch.where(torch.isnan(value), value, kept)
        if bool((kept != value).any()):
            self.before[value.shape] = value.clone() if func._schema.is_mutable else value
        return value.copy_(kept) if func._schema.is_mutable else kept


def spread_nan(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Node observer by which selections do not stop a NaN: one of an argument is one of the result."""
    del kwargs
    floating = isinstance(result, torch.Tensor) and result.is_floating_point()
    if not floating or func.overloadpacket.__name__.removesuffix("_") not in SELECTIONS:
        return result
    stopped = torch.zeros_like(result, dtype=torch.bool)
    for value in args:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            with contextlib.suppress(RuntimeError):
                stopped |= torch.isnan(value).expand(result.shape)
    kept = torch.where(stopped, math.nan, result)
    return result.copy_(kept) if func._schema.is_mutable else kept


class Reassociated:
    """Node observer by which an infinite element makes a product of matrices NaN, as in another order of several
    products; what is added to one, such as a mask, does not. Selections do not stop it."""

    def __init__(self) -> None:
        self.products = 0
        """How many there were: a single one has no other order."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        name = func.overloadpacket.__name__.removesuffix("_")
        if name not in PRODUCTS:
            return spread_nan(func, args, kwargs, result)
        self.products += 1
        infinite = torch.isinf(result)
        if name in ADDING:
            infinite &= ~torch.isinf(args[0])
        kept = torch.where(infinite, math.nan, result)
        return result.copy_(kept) if func._schema.is_mutable else kept


def chosen_zeros(sign: float, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Node observer by which zeros come out of a choice among values with one sign."""
    del args, kwargs
    if func.overloadpacket.__name__.removesuffix("_") not in CHOICES:
        return result
    values = result[0] if isinstance(result, (tuple, list)) else result
    if isinstance(values, torch.Tensor) and values.is_floating_point():
        values.copy_(torch.where(values == 0, math.copysign(0.0, sign), values))
    return result


def substituted(value: torch.Tensor, nan: float, infinity: float) -> torch.Tensor:
    """`value` with `nan` times its largest finite number for NaN, and `infinity` of their sign for infinities."""
    finite = torch.isfinite(value)
    if bool(finite.all()):
        return value
    largest = float(value[finite].abs().max()) if bool(finite.any()) else 0.0
    replaced = torch.where(torch.isinf(value), value.sign() * infinity, value)
    return torch.where(torch.isnan(value), nan * (largest or 1.0), replaced)
