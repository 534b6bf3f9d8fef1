"""Reductions and scans: their divisor, where their result is spread, what they carry over; what an accumulator held."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative, normal_axis

REDUCTIONS = frozenset(
    {"sum", "mean", "amax", "amin", "prod", "max", "min", "var", "std", "logsumexp", "argmax", "argmin", "any", "all"}
    | {"norm", "linalg_vector_norm", "nansum", "median", "var_mean", "std_mean"}
)
"""Calls that take an axis away."""

SCANS = frozenset({"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"})
"""Calls that run along an axis."""

BLOCKS = (8, 16, 32, 64, 128, 256, 512, 1024)
"""Block lengths of scans."""

TILES = (4, 8, 16, 32, 64, 128)
"""Elements of a tile of a result along one axis."""


def reductions(call: Call) -> Iterator[Alternative]:
    """A result spread along another axis, another divisor, a scan that starts elsewhere."""
    x = call.tensor("self")
    if x is None or x.ndim == 0 or call.name not in REDUCTIONS | SCANS:
        return
    yield from _spread(call, x)
    yield from _divisors(call, x)
    yield from _blocks(call, x)
    if call.name in SCANS:
        yield from _scans(call, x)
    if call.name in ("argmax", "argmin"):
        yield from _ties(call, x)
    if call.name == "logsumexp":
        yield from _bases(call, x)


def axis_of(call: Call, ndim: int) -> int | None:
    """The single axis a call works along, counted from the front; None when there is not exactly one."""
    given = call.values.get("dim", call.values.get("axis"))
    if isinstance(given, (list, tuple)):
        given = given[0] if len(given) == 1 else None
    if given is None:
        return 0 if ndim == 1 else None
    return normal_axis(int(given), ndim)


def _spread(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    axis = axis_of(call, x.ndim)
    if axis is None or not call.values.get("keepdim") or not isinstance(call.result, torch.Tensor):
        return
    for other in range(x.ndim):
        if other != axis and x.shape[other] == x.shape[axis]:
            yield Alternative(
                name=f"{call.name} spread along another axis",
                cause=Cause.BROADCASTING,
                statement=f"`{call.name}` over axis {axis} is spread along axis {other}",
                result=partial(lambda other: call.result.transpose(axis, other), other),
                weight=0.75,
            )


def _divisors(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    first = call.result[0] if isinstance(call.result, (tuple, list)) and call.result else call.result
    count = x.numel() // max(1, first.numel()) if isinstance(first, torch.Tensor) else 0
    if call.name in ("var", "std", "var_mean", "std_mean") and "correction" in call.values:
        given = call.values["correction"]
        now = 1 if given is None else given
        other = 0 if now == 1 else 1
        yield Alternative(
            name="another ddof",
            cause=Cause.WRONG_DEFAULT,
            statement=f"the divisor of `{call.name}` is {_less(count, other)}, not {_less(count, now)}",
            result=lambda: call.again(correction=other),
            counts=(count - other, count - now) if count else None,
            weight=0.9,
        )
    if call.name == "mean" and count > 1:
        for more, factor in ((-1, count / (count - 1)), (1, count / (count + 1))):
            text = f"{count + more}"
            yield Alternative(
                name=f"the divisor is n{more:+d}",
                cause=Cause.WRONG_CONSTANT_EPS,
                statement=f"the divisor of the mean is {text}, not {count}",
                result=partial(lambda factor: call.result * factor, factor),
                counts=(int(text), count),
                weight=0.8,
            )
        yield alternative(
            "the sum is taken, not the mean",
            Cause.WRONG_SCALE,
            lambda: call.result * count,
        )
    if call.name == "sum" and count > 1 and call.result.is_floating_point():
        yield alternative(
            "the mean is taken, not the sum",
            Cause.WRONG_SCALE,
            lambda: call.result / count,
        )


def _less(count: int, lost: float) -> str:
    """`n-1 = 249`, `n = 250`; where the result has no single shape, without the number."""
    name = f"n-{lost:g}" if lost else "n"
    return f"{name} = {count - lost:g}" if count else name


def _scans(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    axis = axis_of(call, x.ndim)
    if axis is None or not isinstance(call.result, torch.Tensor):
        return
    yield alternative(
        "the scan runs from the other end", Cause.WRONG_DEFAULT, lambda: call.again(self=x.flip(axis)).flip(axis)
    )
    yield alternative("the scan is exclusive", Cause.WRONG_DEFAULT, lambda: _exclusive(call, axis))
    for block in BLOCKS:
        if block < x.shape[axis]:
            phrase = f"the scan starts anew every {block} elements"
            yield alternative(phrase, Cause.TAIL_MASK, partial(lambda block: _restarted(call, x, axis, block), block))
            if call.name == "cumsum":
                phrase = f"blocks of {block} are given the sum of the block before them alone, not of all"
                yield alternative(phrase, Cause.WRONG_DEFAULT, partial(_carried, call, x, axis, block), weight=0.6)


def _exclusive(call: Call, axis: int) -> torch.Tensor:
    shifted: torch.Tensor = call.result.roll(1, axis)
    start = 1 if call.name == "cumprod" else 0
    return shifted.index_fill(axis, torch.tensor([0], device=shifted.device), start)


def _restarted(call: Call, x: torch.Tensor, axis: int, block: int) -> torch.Tensor:
    return torch.cat([call.again(self=part) for part in torch.split(x, block, axis)], axis)


def _carried(call: Call, x: torch.Tensor, axis: int, block: int) -> torch.Tensor:
    parts = torch.split(x, block, axis)
    sums = [torch.zeros_like(parts[0].sum(axis, keepdim=True)), *(part.sum(axis, keepdim=True) for part in parts)]
    return torch.cat([call.again(self=part) + sums[place] for place, part in enumerate(parts)], axis)


def _blocks(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """Means and variances of blocks put together wrongly."""
    axis = axis_of(call, x.ndim)
    if axis is None or call.name not in ("mean", "var", "std") or not isinstance(call.result, torch.Tensor):
        return
    rows = x.movedim(axis, -1)
    n = rows.shape[-1]
    for block in (block for block in BLOCKS if block < n):
        if call.name == "mean":
            ways = {"as if the last one were full": -(-n // block) * block, ALIKE: 0}
            for way, count in ways.items() if n % block else ():
                mean = partial(_mean_of_blocks, rows, block, count)
                yield _joined(block, way, partial(_shaped, mean, call.result))
            continue
        given = call.values.get("correction")
        divisor = n - (1 if given is None else given)

        def spread(way: str, block: int = block, divisor: float = divisor) -> torch.Tensor:
            found = squares_of_blocks(rows, block, way) / divisor
            return (found.sqrt() if call.name == "std" else found).reshape(call.result.shape)

        for way in BETWEEN:
            yield _joined(block, way, partial(spread, way))


def _shaped(made: Callable[[], torch.Tensor], like: torch.Tensor) -> torch.Tensor:
    return made().reshape(like.shape)


def _joined(block: int, way: str, result: Callable[[], torch.Tensor]) -> Alternative:
    return alternative(f"blocks of {block} are put together {way}", Cause.WRONG_DEFAULT, result, weight=0.6)


def _mean_of_blocks(rows: torch.Tensor, block: int, count: int) -> torch.Tensor:
    parts = torch.split(rows, block, -1)
    return rows.sum(-1) / count if count else torch.stack([part.mean(-1) for part in parts], -1).mean(-1)


ALIKE = "as if all held as many"
"""Blocks that are not full taken for full ones."""

BETWEEN = (
    "without the spread of their means",
    "with the spread of their means times the count of the new block alone",
    "with the spread of their means times the count so far alone",
    "with the spread about the mean that holds the new block already",
    ALIKE,
)
"""How blocks are put together wrongly."""


def _between(way: str, before: float, here: float) -> float:
    """What the squared difference of means is multiplied by when a block joins those before it, where n*m/(n + m) is
    right (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
    """
    share = here / (before + here)
    factors = (0.0, here, before, before * share * (1 - share) ** 2, before * share)
    return factors[BETWEEN.index(way)]


def squares_of_blocks(rows: torch.Tensor, block: int, way: str) -> torch.Tensor:
    """Sums of squared deviations along the last axis, of blocks that join those before them in one of these ways."""
    seen, mean, squares = 0, torch.zeros_like(rows[..., 0]), torch.zeros_like(rows[..., 0])
    for part in torch.split(rows, block, -1):
        here = block if way == ALIKE else part.shape[-1]
        delta = part.mean(-1) - mean
        squares = squares + part.var(-1, correction=0) * part.shape[-1] + delta**2 * _between(way, seen, here)
        seen += here
        mean = mean + delta * here / seen
    return squares


def _bases(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """A logarithm to base 2, of everything or of the sum of shifted exponentials alone."""
    axis = axis_of(call, x.ndim)
    whole = partial(torch.div, call.result, math.log(2))
    yield alternative("the logarithm is to base 2", Cause.WRONG_SCALE, whole, weight=0.85)
    if axis is not None:
        largest = x.amax(axis, keepdim=bool(call.values.get("keepdim")))
        part = partial(lambda m: m + (call.result - m) / math.log(2), largest)
        yield alternative("the logarithm of the shifted sum is to base 2", Cause.WRONG_CONSTANT_EPS, part, weight=0.85)


def _ties(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    axis = axis_of(call, x.ndim)
    if axis is None:
        return
    size = x.shape[axis]
    yield alternative(
        "the last of equal elements is taken", Cause.WRONG_DEFAULT, lambda: size - 1 - call.again(self=x.flip(axis))
    )
    sibling = torch.argmin if call.name == "argmax" else torch.argmax
    keep = bool(call.values.get("keepdim"))
    yield alternative(f"{sibling.__name__} is taken, not {call.name}", Cause.SIGN_FLIP, lambda: sibling(x, axis, keep))


def bounded_result(value: torch.Tensor) -> Iterator[Alternative]:
    """What is returned cut off at 0: where a running maximum or minimum starts from."""
    if value.is_floating_point() and value.numel() > 1:
        for words, start, cut in (
            ("negative", "maximum", partial(value.clamp, min=0.0)),
            ("positive", "minimum", partial(value.clamp, max=0.0)),
        ):
            phrase = f"what is {words} is 0, as where a running {start} starts from 0"
            yield alternative(phrase, Cause.WRONG_DEFAULT, cut, weight=0.6)


def accumulated_result(value: torch.Tensor) -> Iterator[Alternative]:
    """Every tile with what the accumulator held of those before it."""
    for axis, size in enumerate(value.shape) if value.is_floating_point() else ():
        for tile in (tile for tile in TILES if tile < size):
            phrase = f"each tile of {tile} along axis {axis} also holds those before it: the sum is not started anew"
            yield alternative(phrase, Cause.WRONG_DEFAULT, partial(_running, value, axis, tile), weight=0.4)


def _running(value: torch.Tensor, axis: int, tile: int) -> torch.Tensor:
    summed = in_blocks(value, axis, tile, 0.0).cumsum(-2).flatten(-2)
    return summed[..., : value.shape[axis]].movedim(-1, axis)


def in_blocks(x: torch.Tensor, axis: int, block: int, fill: float) -> torch.Tensor:
    """One axis as two at the end, of blocks and of what is in them; a last one that is not full holds `fill` too."""
    rows = x.movedim(axis, -1)
    whole = torch.nn.functional.pad(rows, (0, -rows.shape[-1] % block), value=fill)
    return whole.reshape(*rows.shape[:-1], -1, block)
