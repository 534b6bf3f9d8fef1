"""Where a function has no one gradient: at the corner of relu, at the end of a clamp, among equal maxima.

Decides which elements of a gradient are undetermined: those that jump when the arguments move by next to nothing. In a
narrow dtype arguments meet such points often, and operator and reference may rightly choose differently there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import ReferenceKind
from opsdebug_ci.numerics.comparison import PREFERENCE
from opsdebug_ci.numerics.spread import Spread
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.launch_reading import Outputs

NUDGE = 2.0**-30
"""Share of its size, and of the usual size of its argument, by which an element moves at most: far less than any
format of the operators' arguments tells apart."""

JUMP = 2.0**-14
"""Share of the gradient's root mean square from which a change is a jump: a smooth function changes by less unless it
magnifies relative errors 65,536 times."""

PAIRS = 2
"""Moves, each in both directions: of equal elements some pass the others in one of them, and count for all equal."""

Answer = Callable[[Arguments], Sequence[torch.Tensor] | None]
"""The reference's gradients in float64 on other arguments; None when there are none."""


def undetermined(answer: Answer, arguments: Arguments, names: Sequence[str], seed: int) -> list[torch.Tensor] | None:
    """How far each element of each gradient is free: 0 where it is determined, else the largest size it takes nearby.

    Args:
        answer: the reference.
        arguments: around which it is asked.
        names: of the gradients, `grad_<argument>`.
        seed: of the moves.

    Returns:
        float64 tensors shaped like each gradient; None where the reference does not answer.
    """
    centre = answer(arguments)
    if centre is None or len(centre) != len(names):
        return None
    masks = [torch.zeros(gradient.shape, dtype=torch.bool, device=gradient.device) for gradient in centre]
    largest = [_largest(gradient) for gradient in centre]
    generator = torch.Generator().manual_seed(seed)
    for _ in range(PAIRS):
        moves = {name: _move(value, generator) for name, value in arguments.items() if _is_movable(value)}
        for sign in (1.0, -1.0):
            moved = answer(_moved(arguments, moves, sign))
            if moved is None or [each.shape for each in moved] != [each.shape for each in centre]:
                return None
            for position, (one, other) in enumerate(zip(moved, centre, strict=True)):
                masks[position] |= _jumps(one.double(), other.double())
                largest[position] = torch.maximum(largest[position], _largest(one))
    sources = (arguments[name.removeprefix("grad_")] for name in names)
    return [_with_equals(*each[:2]) * each[2] for each in zip(masks, sources, largest, strict=True)]


def waived(spread: Spread, free: torch.Tensor) -> Spread:
    """Spread that accepts any value of the gradient's own size where it is undetermined."""
    if spread.deviation.shape != free.shape:
        return spread
    worst = spread.deviation if spread.worst is None else spread.worst
    return replace(spread, deviation=torch.maximum(spread.deviation, free), worst=torch.maximum(worst, free))


def settled(outputs: Mapping[str, torch.Tensor], references: Mapping[ReferenceKind, Sequence[torch.Tensor]]) -> Outputs:
    """`outputs` with the best reference's value where there is nothing to hold them to: where its gradient is not
    finite, so that there is none (the root at 0), and where operator and some reference both leave the finite numbers
    on the way to one that is."""
    best = next(references[which] for which in PREFERENCE if which in references)
    kept = {}
    for position, (name, actual) in enumerate(outputs.items()):
        wanted = best[position]
        kept[name] = actual
        if actual.is_floating_point() and all(each[position].shape == actual.shape for each in references.values()):
            finite = torch.stack([torch.isfinite(each[position]).to(actual.device) for each in references.values()])
            free = ~torch.isfinite(wanted).to(actual.device) | ~(torch.isfinite(actual) | finite.all(0))
            kept[name] = torch.where(free, wanted.to(actual.device, actual.dtype), actual)
    return kept


def _with_equals(mask: torch.Tensor, argument: torch.Tensor) -> torch.Tensor:
    """The mask, and every element whose argument equals that of one in it: equal ones are chosen among alike."""
    if mask.shape != argument.shape or not bool(mask.any()):
        return mask
    values = argument.to(mask.device).double()
    return torch.isin(values, values[mask])


def _largest(gradient: torch.Tensor) -> torch.Tensor:
    sizes = torch.nan_to_num(gradient.double(), nan=0.0, posinf=0.0, neginf=0.0).abs()
    return sizes.max() if sizes.numel() else sizes.sum()


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
