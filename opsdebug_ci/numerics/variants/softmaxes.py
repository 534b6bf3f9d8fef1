"""Softmax and log-softmax: their statistics, their dead rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative
from opsdebug_ci.numerics.variants.reductions import in_blocks

NAMES = ("_softmax", "_log_softmax", "_safe_softmax", "softmax", "log_softmax")
"""Calls that are a softmax or its logarithm."""

UNSHIFTED = "the exponentials are not shifted by the row's maximum, so that they overflow or vanish"

WEIGHT = 0.85
"""How telling these are."""


BLOCKS = (4, 8, 16, 32, 64, 128)
"""Elements of a row that are gone over at a time."""


def softmaxes(call: Call) -> Iterator[Alternative]:
    """Statistics spread along the wrong axis, no shift by the maximum, another base, dead rows; blocks put together
    wrongly."""
    x = call.tensor("self")
    if call.name == "logsumexp" and x is not None and x.numel():
        axes = call.values["dim"]
        if len(axes) == 1:
            yield from _in_blocks(x, axes[0], lambda blocks: blocks.log_sum().reshape(call.result.shape))
        yield alternative(UNSHIFTED, Cause.NAN_INF_HANDLING, lambda: call.again(self=_reaching(x)), weight=WEIGHT)
    if call.name not in NAMES or x is None or x.ndim == 0 or x.numel() == 0:
        return
    axis = call.values["dim"] % x.ndim
    logarithmic = "log" in call.name
    yield from _misspreads(x, axis, logarithmic=logarithmic)
    yield from _in_blocks(x, axis, partial(_Blocks.softmax, logarithmic=logarithmic))
    if not logarithmic:
        yield from _joined(call, x, axis)
    yield from _dead_rows(call, x, axis)
    yield alternative(
        UNSHIFTED, Cause.NAN_INF_HANDLING, lambda: _unshifted(x, axis, logarithmic=logarithmic), weight=WEIGHT
    )
    if logarithmic:
        yield alternative(
            "the logarithm of the denominator is to base 2",
            Cause.WRONG_CONSTANT_EPS,
            lambda: call.result - (1 / math.log(2) - 1) * (x - call.result - x.amax(axis, keepdim=True)),
            weight=WEIGHT,
        )
    in_base_2 = partial(call.again, self=x * math.log(2))
    yield alternative("the softmax is in base 2", Cause.WRONG_SCALE, in_base_2, weight=WEIGHT)


def _misspreads(x: torch.Tensor, axis: int, *, logarithmic: bool) -> Iterator[Alternative]:
    for other in range(x.ndim):
        if other != axis and x.shape[other] == x.shape[axis]:
            yield alternative(
                f"maximum and sum over axis {axis} are spread along axis {other}",
                Cause.BROADCASTING,
                partial(_misspread, x, axis, other, logarithmic=logarithmic),
                weight=WEIGHT,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """A softmax over blocks of a row, one after the other."""

    x: torch.Tensor
    """The rows."""

    axis: int
    """Along which they lie."""

    running: torch.Tensor
    """Of each element, the largest one up to the end of its block."""

    sum_rescaled: bool = True
    """The sum so far is rescaled when the maximum grows."""

    terms_rescaled: bool = True
    """The terms so far are."""

    @property
    def _largest(self) -> torch.Tensor:
        return self.x.amax(self.axis, keepdim=True)

    @property
    def _sum(self) -> torch.Tensor:
        shift = self._largest if self.sum_rescaled else self.running
        return (self.x - shift).exp().sum(self.axis, keepdim=True)

    def log_sum(self) -> torch.Tensor:
        """The logarithm of the sum of exponentials."""
        return self._largest + self._sum.log()

    def softmax(self, *, logarithmic: bool) -> torch.Tensor:
        """The softmax or its logarithm."""
        shifted = self.x - (self._largest if self.terms_rescaled else self.running)
        return shifted - self._sum.log() if logarithmic else shifted.exp() / self._sum


def _in_blocks(x: torch.Tensor, axis: int, finish: Callable[[_Blocks], torch.Tensor]) -> Iterator[Alternative]:
    """Blocks put together without rescaling what was summed before (Milakov and Gimelshein, "Online normalizer
    calculation for softmax", arXiv:1805.02867, has the rescaling)."""
    lacking = {"the running sum is": (False, True), "what is summed so far is": (True, False)}
    lacking["the running sum and what is summed so far are"] = (False, False)
    for block in (block for block in BLOCKS if block < x.shape[axis]):
        for what, (of_sum, of_terms) in lacking.items():

            def result(block: int = block, of_sum: bool = of_sum, of_terms: bool = of_terms) -> torch.Tensor:
                running = _of_blocks(x, axis, block).cummax(axis).values
                spread = _spread(_finite(running), axis, block, x.shape[axis])
                return finish(_Blocks(x=x, axis=axis, running=spread, sum_rescaled=of_sum, terms_rescaled=of_terms))

            phrase = f"{what} not rescaled when a block of {block} has a larger maximum"
            yield alternative(phrase, Cause.WRONG_DEFAULT, result, weight=0.8)


SPLITS = (12, 24, 48, 96)
"""Other lengths that are common for splits of keys."""

POWERS = {
    "weighted alike, not by the sum of their terms": 0.0,
    "joined by exp of logarithms to base 2: their weights are to the power 1.4427": 1 / math.log(2),
    "joined by exp2 of natural logarithms: their weights are to the power 0.6931": math.log(2),
}
"""How finished blocks are put together wrongly, and to which power that takes their shares of the sum."""


def _joined(call: Call, x: torch.Tensor, axis: int) -> Iterator[Alternative]:
    """Finished blocks put together with other weights than their shares of the sum."""
    n = x.shape[axis]
    lengths = {str(block): block for block in (*BLOCKS, *SPLITS)} | dict(_pages(call))
    for length, block in ((length, block) for length, block in lengths.items() if block < n):

        def joined(power: float | None, block: int = block) -> torch.Tensor:
            largest = _of_blocks(x, axis, block)
            terms = (x - _spread(_finite(largest), axis, block, n)).exp()
            sums = _of_blocks(terms, axis, block, torch.sum, 0.0)
            logarithms = largest if power is None else torch.where(sums > 0, power * (largest + sums.log()), largest)
            shares = torch.nan_to_num(terms / _spread(sums, axis, block, n))  # a block may be masked entirely
            return shares * _spread(logarithms.softmax(axis), axis, block, n)

        ways = {"weighted by their largest term, not by the sum of their terms": None, **POWERS}
        for words, power in ways.items():
            yield Alternative(
                name=f"blocks of {length} are {words}",
                cause=Cause.WRONG_DEFAULT,
                statement=f"blocks of {block} are {words}",
                result=partial(joined, power),
                weight=0.75,
            )


def _pages(call: Call) -> Iterator[tuple[str, int]]:
    """Lengths of the pages of arguments that are looked up by whole numbers, by name."""
    if any(not value.is_floating_point() for value in call.arguments.values()):
        for name, value in call.arguments.items():
            if value.is_floating_point() and value.ndim > 2 and value.shape[1] > 1:
                yield f"a page of `{name}`", value.shape[1]


def _of_blocks(
    x: torch.Tensor,
    axis: int,
    block: int,
    reduce: Callable[..., torch.Tensor] = torch.amax,
    fill: float = -math.inf,
) -> torch.Tensor:
    """One number per block along an axis."""
    return reduce(in_blocks(x, axis, block, fill), dim=-1).movedim(-1, axis)


def _finite(largest: torch.Tensor) -> torch.Tensor:
    """What masked blocks are shifted by: nothing."""
    return torch.where(torch.isneginf(largest), 0.0, largest)


def _spread(of_blocks: torch.Tensor, axis: int, block: int, n: int) -> torch.Tensor:
    return of_blocks.repeat_interleave(block, axis).narrow(axis, 0, n)


def _dead_rows(call: Call, x: torch.Tensor, axis: int) -> Iterator[Alternative]:
    for words, value in (("zeros", 0.0), ("equal shares", 1 / x.shape[axis])):
        yield alternative(
            f"rows that are masked entirely hold {words}",
            Cause.MASK_SEMANTICS,
            partial(_filled, call.result, x, axis, value),
            weight=WEIGHT,
        )


def _filled(result: torch.Tensor, x: torch.Tensor, axis: int, value: float) -> torch.Tensor:
    return torch.where(torch.isneginf(x).all(axis, keepdim=True), torch.full_like(x, value), result)


def _misspread(x: torch.Tensor, axis: int, other: int, *, logarithmic: bool) -> torch.Tensor:
    def spread(statistic: torch.Tensor) -> torch.Tensor:
        return statistic.transpose(axis, other)

    shifted = x - spread(x.amax(axis, keepdim=True))
    total = spread(shifted.exp().sum(axis, keepdim=True))
    return shifted - total.log() if logarithmic else shifted.exp() / total


def _reaching(x: torch.Tensor) -> torch.Tensor:
    """What the logarithm of a single precision exponential is."""
    return x.float().exp().double().log()


def _unshifted(x: torch.Tensor, axis: int, *, logarithmic: bool) -> torch.Tensor:
    narrow = x.float().exp()
    total = narrow.sum(axis, keepdim=True)
    return (x - total.log()).double() if logarithmic else (narrow / total).double()
