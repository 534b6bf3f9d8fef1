"""Where a function has no one gradient: at the corner of relu, at the end of a clamp, among equal maxima.

Decides which elements of a gradient are undetermined: those that jump when the arguments move by next to nothing. In a
narrow dtype arguments meet such points often, and operator and reference may rightly choose differently there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from opsdebug_ci.numerics.spread import Spread
from opsdebug_ci.operators import Arguments

NUDGE = 2.0**-30
"""Share of its size, and of the usual size of its argument, by which an element moves at most: far less than any
format of the operators' arguments tells apart."""

JUMP = 2.0**-14
"""Share of the gradient's root mean square from which a change is a jump: a smooth function changes by less unless it
magnifies relative errors 65,536 times."""

PAIRS = 3
"""Moves, each in both directions: of several equal maxima, every one should become the largest once."""

Answer = Callable[[Arguments], Sequence[torch.Tensor] | None]
"""The reference's gradients in float64 on other arguments; None when there are none."""


def undetermined(answer: Answer, arguments: Arguments, seed: int) -> list[torch.Tensor] | None:
    """bool masks shaped like each gradient; None where the reference does not answer."""
    centre = answer(arguments)
    if centre is None:
        return None
    masks = [torch.zeros(gradient.shape, dtype=torch.bool, device=gradient.device) for gradient in centre]
    generator = torch.Generator().manual_seed(seed)
    for _ in range(PAIRS):
        moves = {name: _move(value, generator) for name, value in arguments.items() if _is_movable(value)}
        for sign in (1.0, -1.0):
            moved = answer(_moved(arguments, moves, sign))
            if moved is None or [each.shape for each in moved] != [each.shape for each in centre]:
                return None
            for mask, one, other in zip(masks, moved, centre, strict=True):
                mask.logical_or_(_jumps(one.double(), other.double()))
    return masks


def waived(spread: Spread, mask: torch.Tensor, centre: torch.Tensor) -> Spread:
    """Spread that accepts any value of the gradient's own size where it is undetermined."""
    if spread.deviation.shape != mask.shape or not bool(mask.any()):
        return spread
    largest = torch.nan_to_num(centre.double(), nan=0.0, posinf=0.0, neginf=0.0).abs().max()
    worst = spread.deviation if spread.worst is None else spread.worst
    return replace(
        spread,
        deviation=torch.where(mask, torch.maximum(spread.deviation, largest), spread.deviation),
        worst=torch.where(mask, torch.maximum(worst, largest), worst),
    )


def _is_movable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.layout is torch.strided


def _move(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Uniform on +-NUDGE times the element's size and the usual one, so that equal elements move apart and 0 moves."""
    size = torch.nan_to_num(value.double(), nan=0.0, posinf=0.0, neginf=0.0).abs()
    usual = size.square().mean().sqrt() if size.numel() else size.sum()
    share = 2 * torch.rand(value.shape, generator=generator, dtype=torch.float64) - 1
    return NUDGE * share.to(value.device) * (size + usual)


def _moved(arguments: Arguments, moves: dict[str, torch.Tensor], sign: float) -> Arguments:
    return arguments.map(lambda name, value: value.double() + sign * moves[name] if name in moves else value)


def _jumps(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    change = torch.nan_to_num((one - other).abs(), nan=0.0, posinf=0.0, neginf=0.0)
    usual = torch.nan_to_num(other, nan=0.0, posinf=0.0, neginf=0.0).square().mean().sqrt() if other.numel() else 0.0
    return change > JUMP * usual
