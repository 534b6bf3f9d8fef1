"""The axes a call runs along: others than it should, more, fewer, or what lies next to each other in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, normal_axis
from opsdebug_ci.numerics.variants.reductions import REDUCTIONS, SCANS
from opsdebug_ci.numerics.variants.softmaxes import NAMES as SOFTMAXES

RUNNING = REDUCTIONS | SCANS | set(SOFTMAXES) | {"sort", "topk", "argsort", "kthvalue", "renorm"}
"""Calls that run along axes and can do so along others."""

MOST_AXES = 4
"""Axes of a tensor up to which every set of them is tried."""


def reduced_axes(call: Call) -> Iterator[Alternative]:
    """Every other set of axes, and rows of neighbours in memory as long as the axis."""
    x = call.tensor("self")
    if call.name not in RUNNING or x is None or not 0 < x.ndim <= MOST_AXES or x.numel() < 2:
        return
    own = _own(call, x.ndim)
    for count in range(1, x.ndim + 1):
        for axes in combinations(range(x.ndim), count):
            if axes != own and any(x.shape[axis] > 1 for axis in axes):
                yield _over(call, x, own, axes)
    if own != tuple(range(x.ndim - len(own), x.ndim)):
        yield from _in_memory(call, x, own)


def _own(call: Call, ndim: int) -> tuple[int, ...]:
    given = call.values.get("dim")
    given = range(ndim) if given is None or given == [] else [given] if isinstance(given, int) else given
    return tuple(sorted(normal_axis(int(axis), ndim) for axis in given))


def _over(call: Call, x: torch.Tensor, own: tuple[int, ...], axes: tuple[int, ...]) -> Alternative:
    order = [*(axis for axis in range(x.ndim) if axis not in axes), *axes]
    sizes = [x.shape[axis] for axis in order]
    kept = sizes[: x.ndim - len(axes)]

    def back(made: torch.Tensor) -> torch.Tensor:
        length = made.shape[-1]
        inner = [length] if len(axes) == 1 else sizes[len(kept) :] if length != 1 else [1] * len(axes)
        return made.reshape(*kept, *inner).permute([order.index(axis) for axis in range(x.ndim)])

    def result() -> Any:
        made = _along_rows(call, x.permute(order).reshape(*kept, -1))
        return _each(made, call.result, lambda each, original: _fitted(back(each), original, own))

    return _alternative(f"over ax{'es' if len(axes) > 1 else 'is'} {listed(axes)}", own, call, result)


def _in_memory(call: Call, x: torch.Tensor, own: tuple[int, ...]) -> Iterator[Alternative]:
    """Rows of neighbours; what is left of each stands for its elements, or in the order of the rows."""
    length = 1
    for axis in own:
        length *= x.shape[axis]

    def rows() -> Any:
        return _along_rows(call, x.reshape(-1, length))

    def spread(made: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
        if original.ndim == x.ndim:
            return made.expand(-1, length).reshape(x.shape)
        return made.reshape(original.shape)

    words = "over elements that follow each other in memory"
    yield _alternative(words, own, call, lambda: _each(rows(), call.result, spread), weight=0.85)
    if call.values.get("keepdim"):

        def packed() -> Any:
            return _each(rows(), call.result, lambda made, original: made.reshape(original.shape))

        yield _alternative(f"{words} and writes its results in that order", own, call, packed, weight=0.7)


def _along_rows(call: Call, rows: torch.Tensor) -> Any:
    """The call along the last axis, which it keeps."""
    if "dim" not in call.values:
        name = {"max": "amax", "min": "amin"}.get(call.name, call.name)
        return getattr(torch, name)(rows, dim=-1, keepdim=True)
    listed = next("List" in str(item.type) for item in call.function._schema.arguments if item.name == "dim")
    kept = {"keepdim": True} if "keepdim" in call.values else {}
    return call.again(self=rows, dim=[-1] if listed else -1, **kept)


def _each(made: Any, original: Any, change: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Any:
    """Every tensor that a call returns, beside what it returned."""
    if isinstance(made, torch.Tensor):
        return change(made, original)
    return tuple(change(one, other) for one, other in zip(made, original, strict=True))


def _fitted(made: torch.Tensor, original: torch.Tensor, own: tuple[int, ...]) -> torch.Tensor:
    """A result that keeps its axes is left to broadcasting; another one is repeated or reshaped, or cannot be used."""
    if original.ndim in (0, made.ndim):
        return made
    if all(made.shape[axis] == 1 for axis in own):
        return made.squeeze(own).expand(original.shape)
    return made.reshape(original.shape)


def _alternative(
    over: str, own: tuple[int, ...], call: Call, result: Callable[[], Any], weight: float = 0.75
) -> Alternative:
    proper = listed(own) if over.startswith("over ax") else f"along ax{'es' if len(own) > 1 else 'is'} {listed(own)}"
    name = call.name.strip("_").removeprefix("linalg_").replace("_", " ")
    return Alternative(
        name=f"{over}, not {proper}",
        cause=Cause.WRONG_AXIS,
        statement=f"`{name}` runs {over}, not {proper}",
        result=result,
        weight=weight,
    )


def listed(axes: Sequence[int]) -> str:
    """`0, 1 and 2`."""
    *first, last = map(str, axes)
    return f"{', '.join(first)} and {last}" if first else last
