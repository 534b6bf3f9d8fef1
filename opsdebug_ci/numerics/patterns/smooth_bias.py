"""An error that is a smooth function of an argument: another formula, not lost precision; or one beyond a threshold.

Decides that from the order of the errors along the argument. Deliberately does not say which formula it is: comparing
with altered references does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.sample import (
    Numbers,
    Sample,
    aligned_at,
    at,
    exponents_at,
    rms,
    sampled_finite,
    share,
    von_neumann,
)

SUPPORT = 48
"""Elements needed along the argument."""

SMOOTH = 0.1
"""von Neumann ratio below which errors are a smooth function: noise has 2, tanh-GELU 0.000, a bfloat16 store 1.70."""

SMOOTH_MEANS = 0.3
"""The same for means of BLOCK neighbours, at least SUPPORT / 2 of them, where noise of the output's rounding covers it:
noise has 2 - 4.8 standard deviations (2 / sqrt(32)) there."""

INTERPOLATED = 0.15
"""Median distance of an error from the line between its neighbours', relative to the median error, below which errors
are a smooth function also where a few steep ones at sparse ends decide the von Neumann ratio: noise has about 1.2."""

FEWEST_IN_ROW = 12
"""Elements of a row in which errors can be told to be smooth."""

ROWS = 64
"""Rows of a softmax that are looked at."""

BLOCK = 16
"""Neighbours averaged."""

SIZE = 0.3
"""Largest rms error relative to the rms of the output that is an approximation; beyond, it is another function."""

CLOSE = 0.05
"""The same below which nothing but an approximation is likely."""

SPLIT = 0.97
"""Balanced accuracy of a threshold that tells good from bad."""

JUMP = 10.0
"""Median error just beyond a threshold over that just before it, from which the threshold is a branch's."""

NEAR = 24
"""Elements on either side of a threshold that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """Errors ordered along an argument."""

    name: str
    """The argument."""

    x: torch.Tensor
    """Its values, ascending."""

    z: torch.Tensor
    """The error there, scaled as makes it smoothest."""

    size: torch.Tensor
    """|error| / tolerance there."""

    bad: torch.Tensor
    """Whether the element is wrong."""

    ratio: float
    """von Neumann ratio of z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """A threshold in an argument that tells good from bad."""

    words: str
    """Where the output is wrong, e.g. `x > 88.2`."""

    threshold: float
    """The threshold."""

    accuracy: float
    """Balanced accuracy, 0.5 to 1."""

    jump: float
    """Median error just beyond it over that just before it."""


def smooth_bias(failure: Failure) -> Iterator[Clue]:
    """von Neumann ratio < 0.1 of the error along an aligned argument, the error small beside the output.

    The error in tolerances, in tolerances of its output's sign (a factor times f(x)), or as it is (f(x) plus a term).
    And the threshold in x or |x| that tells good from bad, as a branch's where the error jumps there. For elementwise
    and transcendental outputs, open kinds whose arguments all fit the output, and softmax, along what its terms are
    exponentials of. Silent where wrong elements are a constant multiple of the reference, or shifted by a constant:
    that is a scale or a slope, not a formula.
    """
    if failure.tolerance is None or not failure.actual.is_floating_point():
        return
    order = _best_order(failure)
    if order is None:
        return
    seen = sampled_finite(failure)
    size = rms(seen.error) / max(rms(seen.expected), 1e-300)
    wrong = seen.error[seen.bad]
    if size > SIZE or _constant(wrong / seen.expected[seen.bad]) or _constant(wrong):
        return
    split = _split(order)
    branch = split is not None and split.jump >= JUMP
    in_rows = failure.kind in (Kind.SOFTMAX, Kind.LOG_SOFTMAX) and _smooth_in_rows(failure)
    smooth = (
        in_rows or order.ratio < SMOOTH or _means_ratio(order.z) < SMOOTH_MEANS or _interpolation(order) < INTERPOLATED
    )
    if branch or smooth:
        yield _clue(failure, order, size, split if branch else None)


def _best_order(failure: Failure) -> _Order | None:
    """The order along the argument that makes the errors smoothest."""
    seen = sampled_finite(failure)
    if len(seen) < SUPPORT or failure.tolerance is None:
        return None
    z = seen.error / at(failure.tolerance, seen.places).clamp_min(1e-300)
    scaled = (z, z * seen.expected.sign(), seen.error)
    orders = []
    for name, x in _arguments(failure, seen).items():
        by = x.argsort(stable=True)
        ratio, smoothest = min(((von_neumann(e[by]), e) for e in scaled), key=lambda pair: pair[0])
        orders.append(_Order(name=name, x=x[by], z=smoothest[by], size=z.abs()[by], bad=seen.bad[by], ratio=ratio))
    return min(orders, key=lambda order: order.ratio, default=None)


def _arguments(failure: Failure, seen: Sample) -> dict[str, torch.Tensor]:
    """What the error may be a function of, at the sampled places."""
    if failure.kind is Kind.SOFTMAX and failure.expected.ndim:
        return {"x - max": exponents_at(failure, seen.places)}
    open_kind = failure.kind is Kind.AUTO and not _foreign(failure)
    if failure.kind not in (Kind.ELEMENTWISE, Kind.TRANSCENDENTAL) and not open_kind:
        return {}
    found = aligned_at(failure, seen.places)
    fitting = {name: x for name, x in found.items() if bool(torch.isfinite(x).all())}
    if len(fitting) > 1:
        (a, x), (b, y) = list(fitting.items())[:2]
        fitting[f"{a} + {b}"] = x + y
    return {name: x for name, x in fitting.items() if len(torch.unique(x)) >= SUPPORT}


def _foreign(failure: Failure) -> bool:
    """Whether an argument does not fit the output: then its elements are not functions of one element each."""
    fitting = set(aligned_at(failure, torch.zeros(1, dtype=torch.int64, device=failure.actual.device)))
    return bool(set(failure.tensors) - fitting)


def _means_ratio(z: torch.Tensor) -> float:
    """von Neumann ratio of the means of BLOCK neighbours; 2 where there are too few."""
    blocks = z.numel() // BLOCK
    if blocks < 32:
        return 2.0
    return von_neumann(z[: blocks * BLOCK].reshape(blocks, BLOCK).mean(-1))


def _interpolation(order: _Order) -> float:
    """Median |z - line between its neighbours| over median |z|, robust to the few points at sparse ends."""
    x, z = order.x, order.z
    gap = x[2:] - x[:-2]
    share_of_gap = torch.where(gap > 0, (x[1:-1] - x[:-2]) / gap.clamp_min(1e-300), torch.full_like(gap, 0.5))
    off = (z[1:-1] - z[:-2] - share_of_gap * (z[2:] - z[:-2])).abs()
    typical = float(z.abs().median())
    return float(off.median()) / typical if typical > 0 else 1.0


def _smooth_in_rows(failure: Failure) -> bool:
    """Whether the error of exponentials is smooth along each row, whose denominator shifts it as a whole."""
    length = failure.actual.shape[-1]
    if length < FEWEST_IN_ROW or failure.tolerance is None:
        return False
    got = failure.actual.reshape(-1, length)[:ROWS].double()
    wanted = failure.expected.reshape(-1, length)[:ROWS].double()
    off = got - wanted if failure.kind is Kind.LOG_SOFTMAX else got / wanted - 1
    by = wanted.argsort(dim=-1)
    off, x = off.gather(-1, by), (wanted if failure.kind is Kind.LOG_SOFTMAX else wanted.log()).gather(-1, by)
    if not bool(torch.isfinite(off).all() & torch.isfinite(x).all()):
        return False
    gap = (x[:, 2:] - x[:, :-2]).clamp_min(1e-300)
    line = off[:, :-2] + (x[:, 1:-1] - x[:, :-2]) / gap * (off[:, 2:] - off[:, :-2])
    spread = float((off - off.median(-1, keepdim=True).values).abs().median())
    return spread > 0 and float((off[:, 1:-1] - line).abs().median()) < INTERPOLATED * spread


def _constant(values: torch.Tensor) -> bool:
    """Whether most values are one number to a hundredth."""
    middle = values.nanmedian()
    return share((values - middle).abs() <= 0.01 * middle.abs()) > 0.8


def _split(order: _Order) -> _Split | None:
    if bool(order.bad.all()):
        return None
    size = order.x.abs().argsort(stable=True)
    sides = (
        (order.name, order.x, order.size, order.bad),
        (f"|{order.name}|", order.x.abs()[size], order.size[size], order.bad[size]),
    )
    found = [split for side in sides if (split := _stump(*side)) is not None]
    return max(found, key=lambda split: split.accuracy, default=None)


def _stump(name: str, x: torch.Tensor, size: torch.Tensor, bad: torch.Tensor) -> _Split | None:
    """The best split of ascending `x` into good and bad, by balanced accuracy."""
    wrong, right = bad.double().cumsum(0), (~bad).double().cumsum(0)
    if float(wrong[-1]) < 8 or float(right[-1]) < 8:
        return None
    above = (right / right[-1] + 1 - wrong / wrong[-1]) / 2
    best, below = int(above.argmax()), int(above.argmin())
    is_above = float(above[best]) >= 1 - float(above[below])
    cut = best if is_above else below
    accuracy = float(above[cut]) if is_above else 1 - float(above[cut])
    if accuracy < SPLIT or cut + 1 >= x.numel():
        return None
    threshold = float((x[cut] + x[cut + 1]) / 2)
    before, beyond = size[max(0, cut + 1 - NEAR) : cut + 1], size[cut + 1 : cut + 1 + NEAR]
    if not is_above:
        before, beyond = beyond, before
    jump = float(beyond.median()) / max(float(before.median()), 1e-3)
    words = f"{name} {'>' if is_above else '<'} {threshold:.4g}"
    return _Split(words=words, threshold=threshold, accuracy=accuracy, jump=jump)


def _clue(failure: Failure, order: _Order, size: float, split: _Split | None) -> Clue:
    evidence: Numbers = {"argument": order.name, "von_neumann": order.ratio, "relative_rms_error": size}
    if split is None:
        statement = (
            f"the error is a smooth function of `{order.name}` (von Neumann ratio {order.ratio:.2g}, noise has 2; "
            f"{_interpolation(order):.2g} off its neighbours' line, noise is 1.2), "
            f"{size:.2g} of the output in the mean: another formula, not lost precision"
        )
        sure = size < CLOSE and failure.kind is not Kind.SOFTMAX  # there a wrong temperature is smooth as well
        return failure.clue("smooth_bias", Cause.APPROXIMATION, 0.82 if sure else 0.65, statement, evidence)
    evidence |= {"threshold": split.threshold, "accuracy": split.accuracy, "jump": split.jump}
    statement = (
        f"wrong exactly where {split.words} ({100 * split.accuracy:.4g} % told apart), where the error jumps: a branch "
        "takes another formula there"
    )
    return failure.clue("smooth_bias", Cause.APPROXIMATION, 0.8, statement, evidence)
