"""Layer, group, batch and RMS norm: where eps stands, what the divisor is, which parameters enter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative
from opsdebug_ci.numerics.variants.reduced_axes import MOST_AXES, listed
from opsdebug_ci.numerics.variants.reductions import BETWEEN, BLOCKS, squares_of_blocks
from opsdebug_ci.numerics.variants.tails import paddings, read_on

PADDINGS = (8, 16, 32, 64, 128, 256, 512, 1024)
"""Block widths rows are padded to."""

DECADES = (-7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
"""Powers of ten an eps is off by."""


Total = Callable[[torch.Tensor, int], torch.Tensor]
"""The sum over an axis, which is kept."""


def _total(x: torch.Tensor, axis: int) -> torch.Tensor:
    return x.sum(axis, keepdim=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Norm:
    """One normalisation over the last axis of `x` after it was reshaped to rows."""

    x: torch.Tensor
    """Rows to normalise, (rows, n)."""

    eps: float
    """Constant beside the variance."""

    centred: bool = True
    """The mean is subtracted."""

    lost: int = 0
    """Degrees of freedom taken off the divisor."""

    place: str = "inside"
    """Where eps stands: `inside` the root, `outside` it, on the `count`, or in a `floor` below the variance."""

    padding: int = 0
    """Zeros added to each row before the statistics are taken."""

    beyond: int = 0
    """Elements of the next rows that the statistics take in, as far as there are any."""

    block: int = 1
    """Elements that are padded together: those of a channel."""

    divided_by_padded: bool = False
    """The divisor counts those zeros too."""

    joined: tuple[int, str] | None = None
    """Length of the blocks the squares are summed in, and how these are put together."""

    def rows(
        self, total: Total = _total, centre: torch.Tensor | None = None, *, one_pass: bool = False
    ) -> torch.Tensor:
        """The normalised rows, by how sums are made, about another centre, or with E[x**2] - mean**2 for a variance."""
        n = self.x.shape[-1]
        count = n + (self.padding if self.divided_by_padded else 0)
        read, held = (read_on(each, 1, self.beyond) for each in (self.x, torch.ones_like(self.x)))
        mean = torch.zeros_like(self.x[:, :1]) if centre is None else centre
        if self.centred and centre is None:
            mean = total(read, 1) / count
        centred = self.x - mean
        square = total((read - mean) ** 2 * held, 1) + self.padding * mean**2
        if self.joined is not None:
            square = squares_of_blocks(self.x, *self.joined).unsqueeze(1)
        divisor = count - self.lost + (self.eps if self.place == "count" else 0.0)
        variance = square / divisor
        if one_pass:
            variance = (total(self.x**2, 1) / count - mean**2).abs()  # a correct sign is not to be had
        if self.place == "inside":
            return centred * torch.rsqrt(variance + self.eps)
        if self.place == "outside":
            return centred / (variance.sqrt() + self.eps)
        if self.place == "floor":
            return centred * torch.rsqrt(variance.clamp_min(self.eps))
        return centred * torch.rsqrt(variance)


def normalisation(call: Call) -> Iterator[Alternative]:
    """Siblings of `native_layer_norm`, `native_group_norm`, `_fused_rms_norm` and of variances in written-out norms."""
    if "batch_norm" in call.name:
        yield from _batch(call)
    reader = _READERS.get(call.name)
    if reader is None:
        return
    if call.name == "native_group_norm":
        yield from _regrouped(call)
    if reader is _layer:
        yield from _other_axes(call)
    norm, finish = reader(call)
    yield from map(partial(_as_alternative, finish=finish), (*_divisors(norm), *_siblings(norm)))
    yield from _parameters(call)


def normalised_rows(call: Call) -> tuple[_Norm, Finish] | None:
    """The rows a call normalises by their own statistics, and how its result is made of them; None for other calls."""
    if call.name in _READERS:
        return _READERS[call.name](call)
    x, eps = call.tensor("input"), call.values.get("eps")
    if "batch_norm" in call.name and x is not None and call.values.get("training") is True and isinstance(eps, float):
        return _Norm(x=x.movedim(1, 0).reshape(x.shape[1], -1), eps=eps), partial(_of_channels, call, x)
    return None


def _as_alternative(sibling: Sibling, finish: Finish) -> Alternative:
    statement, cause, changed = sibling
    return Alternative(
        name=re.sub(r" = \d+", "", statement),
        cause=cause,
        statement=statement,
        counts=_counts(changed),
        result=lambda: finish(changed.rows()),
        weight=0.9,
    )


def _counts(norm: _Norm) -> tuple[float, float] | None:
    """Of a variance with another divisor."""
    n = norm.x.shape[-1]
    return (n - norm.lost, n) if norm.lost else None


Sibling = tuple[str, Cause, _Norm]


def _divisors(norm: _Norm) -> Iterator[Sibling]:
    n, words = norm.x.shape[-1], "the divisor of the variance is"
    yield f"{words} n-1 = {n - 1}, not n = {n}", Cause.WRONG_CONSTANT_EPS, replace(norm, lost=1)


def _siblings(norm: _Norm) -> Iterator[Sibling]:
    n, eps_cause = norm.x.shape[-1], Cause.WRONG_CONSTANT_EPS
    places = (("outside", "to the root"), ("count", "to the element count"))
    for place, where in places:
        yield f"eps is added {where}, not to the variance", eps_cause, replace(norm, place=place)
    yield "eps is a floor below the variance, not added to it", eps_cause, replace(norm, place="floor")
    for decade in DECADES:
        other = norm.eps * 10.0**decade
        yield f"eps is {other:.3g}, not {norm.eps:.3g}", eps_cause, replace(norm, eps=other)
    yield f"eps is left out, {norm.eps:.3g} in the reference", eps_cause, replace(norm, eps=0.0)
    for other in {1e-3, 1e-5, 1e-6, 1e-8, 1e-12} - {norm.eps}:
        yield f"eps is {other:.3g}, not {norm.eps:.3g}", eps_cause, replace(norm, eps=other)
    for end, padding in paddings(n, PADDINGS):
        where = f"over rows padded with zeros to {end}"
        yield f"the statistics run {where}", Cause.TAIL_MASK, replace(norm, padding=padding)
        both = replace(norm, padding=padding, divided_by_padded=True)
        yield f"the statistics and their divisor run {where}", Cause.TAIL_MASK, both
    units = n // norm.block
    beyond = (1 << (units - 1).bit_length()) - units
    if beyond and norm.x.shape[0] > 1:
        whose = "the channels that follow the group's" if norm.block > 1 else "the elements that follow the row's"
        statement = f"the statistics take in {whose}, up to the next power of two = {units + beyond}"
        yield statement, Cause.TAIL_MASK, replace(norm, beyond=beyond * norm.block)
    for block in (block for block in BLOCKS if norm.centred and block < n):
        for way in BETWEEN:
            joined = replace(norm, joined=(block, way))
            yield f"blocks of {block} are put together {way}", Cause.WRONG_DEFAULT, joined
    swapped = "the mean is subtracted" if not norm.centred else "the mean is not subtracted"
    yield swapped, Cause.WRONG_DEFAULT, replace(norm, centred=not norm.centred)


def _batch(call: Call) -> Iterator[Alternative]:
    """Statistics of the batch where stored ones are meant, the other way round, and another eps."""
    if isinstance(call.values.get("training"), bool):
        trained = call.values["training"]
        kept = "stored statistics, not of the batch" if trained else "statistics of the batch, not stored ones"
        yield alternative(
            f"it normalises by {kept}", Cause.WRONG_DEFAULT, partial(_retrained, call, not trained), weight=0.8
        )
    eps, read = call.values.get("eps"), normalised_rows(call)
    if read is not None:
        norm, finish = read
        yield from map(partial(_as_alternative, finish=finish), (*_divisors(norm), *_siblings(norm)))
        yield from _running(call, norm.x.shape[1])
    for other in (1e-3, 1e-5, 1e-6, 1e-8, 0.0):
        if isinstance(eps, float) and other != eps and read is None:
            yield alternative(
                f"eps is {other:.3g}, not {eps:.3g}",
                Cause.WRONG_CONSTANT_EPS,
                partial(call.again, eps=other),
                weight=0.8,
            )
    for name in ("weight", "bias"):
        if call.tensor(name) is not None:
            yield alternative(
                f"the {name} is left out", Cause.WRONG_DEFAULT, partial(call.again, **{name: None}), weight=0.8
            )


def _running(call: Call, n: int) -> Iterator[Alternative]:
    """Running statistics that are blended otherwise: what is observed of them follows the results."""
    old_mean, old_variance = call.tensor("running_mean"), call.tensor("running_var")
    momentum = call.values.get("momentum")
    if old_mean is None or old_variance is None or not isinstance(momentum, float) or len(call.result) != 5 or n < 2:
        return
    x = call.values["input"]
    axes = [axis for axis in range(x.ndim) if axis != 1]
    mean, biased = x.mean(axes), x.var(axes, correction=0)

    def blended(share: float, mean: torch.Tensor, variance: torch.Tensor) -> Any:
        return (*call.result[:3], old_mean.lerp(mean, share), old_variance.lerp(variance, share))

    unbiased = biased * (n / (n - 1))
    words = "the running variance is blended with the biased variance, divided by n = {}, not by n-1"
    yield replace(
        alternative("", Cause.WRONG_DEFAULT, partial(blended, momentum, mean, biased), weight=0.9),
        name=words.format("N"),
        statement=words.format(n),
    )
    shares = {1 - momentum: f"1 - momentum = {1 - momentum:g}", 0.0: "0, so that they stay as they were"}
    shares |= {other: f"{other:g}" for other in (0.1, 0.01, 0.2, 0.5, 0.9, 0.99, 1.0)}
    for share, text in shares.items():
        if share != momentum:
            phrase = f"the running statistics are blended with a share of {text}, not of the momentum {momentum:g}"
            yield alternative(phrase, Cause.WRONG_CONSTANT_EPS, partial(blended, share, mean, unbiased), weight=0.8)


def _of_channels(call: Call, x: torch.Tensor, rows: torch.Tensor) -> Any:
    """The call's result from normalised rows, one per channel."""
    channels = (x.shape[1], x.shape[0], *x.shape[2:])
    out = _affine(call, rows.reshape(channels).movedim(0, 1), (1, -1, *(1,) * (x.ndim - 2)))
    return (out, *call.result[1:]) if isinstance(call.result, (tuple, list)) else out


def _affine(call: Call, out: torch.Tensor, per_channel: tuple[int, ...]) -> torch.Tensor:
    weight, bias = call.tensor("weight"), call.tensor("bias")
    out = out * weight.reshape(per_channel) if weight is not None else out
    return out + bias.reshape(per_channel) if bias is not None else out


def _retrained(call: Call, training: bool) -> Any:
    """Stored statistics are copied: a training run would update them."""
    stored = {name: call.values[name] for name in ("running_mean", "running_var") if name in call.values}
    if not training and any(value is None for value in stored.values()):
        raise ValueError("no statistics are stored")  # torch would read them all the same
    copies = {name: None if value is None else value.clone() for name, value in stored.items()}
    return call.again(training=training, **copies)


Finish = Callable[[torch.Tensor], Any]
"""Normalised rows to the call's result."""


def _other_axes(call: Call) -> Iterator[Alternative]:
    """Statistics of a layer or RMS norm over other axes than the last ones."""
    x, shape = call.values["input"], call.values.get("normalized_shape")
    if shape is None or not 2 <= x.ndim <= MOST_AXES:
        return
    own = tuple(range(x.ndim - len(shape), x.ndim))
    for count in range(1, x.ndim + 1):
        for axes in combinations(range(x.ndim), count):
            if axes != own and any(x.shape[axis] > 1 for axis in axes):
                yield alternative(
                    f"the statistics run over ax{'es' if count > 1 else 'is'} {listed(axes)}, not {listed(own)}",
                    Cause.WRONG_AXIS,
                    partial(_normed_along, call, x, axes),
                    weight=0.85,
                )


def _normed_along(call: Call, x: torch.Tensor, axes: tuple[int, ...]) -> Any:
    norm, finish = _layer(call)
    last = tuple(range(x.ndim - len(axes), x.ndim))
    moved = x.movedim(axes, last)
    rows = moved.flatten(x.ndim - len(axes)).flatten(0, -2) if len(axes) < x.ndim else moved.reshape(1, -1)
    return finish(replace(norm, x=rows).rows().reshape(moved.shape).movedim(last, axes))


def _parameters(call: Call) -> Iterator[Alternative]:
    for name in ("weight", "bias"):
        if call.tensor(name) is not None:
            yield Alternative(
                name=f"the {name} is left out",
                cause=Cause.WRONG_DEFAULT,
                statement=f"the {name} is left out",
                result=partial(lambda name: call.again(**{name: None}), name),
                weight=0.7,
            )
    weight = call.tensor("weight")
    if weight is not None:
        yield Alternative(
            name="1 + weight for weight",
            cause=Cause.WRONG_DEFAULT,
            statement="the rows are scaled by 1 + weight, not weight",
            result=lambda: call.again(weight=1 + weight),
            weight=0.8,
        )


def _layer(call: Call) -> tuple[_Norm, Finish]:
    x = call.values["input"]
    shape = call.values["normalized_shape"]
    width = 1
    for size in shape:
        width *= size
    weight, bias = call.values.get("weight"), call.values.get("bias")

    def finish(rows: torch.Tensor) -> Any:
        out = rows.reshape(x.shape)
        out = out * weight if weight is not None else out
        out = out + bias if bias is not None else out
        return (out, *call.result[1:]) if isinstance(call.result, (tuple, list)) else out

    eps = call.values.get("eps")
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return _Norm(x=x.reshape(-1, width), eps=float(eps), centred="rms" not in call.name), finish


def _group(call: Call) -> tuple[_Norm, Finish]:
    x, groups, eps = call.values["input"], call.values["group"], call.values["eps"]

    def finish(rows: torch.Tensor) -> Any:
        out = _affine(call, rows.reshape(x.shape), (1, -1, *(1,) * (x.ndim - 2)))
        return (out, *call.result[1:])

    rows, width = x.reshape(x.shape[0] * groups, -1), x[0, 0].numel()
    return _Norm(x=rows, eps=float(eps), block=width), finish


def _regrouped(call: Call) -> Iterator[Alternative]:
    """Channels dealt to the groups in turn instead of in blocks; affine parameters of the group, not the channel."""
    x, groups = call.values["input"], call.values["group"]
    channels = x.shape[1]
    in_turn = torch.arange(channels, device=x.device).reshape(-1, groups).t().reshape(-1)
    back = in_turn.argsort()

    def dealt() -> Any:
        plain = {"input": x.index_select(1, in_turn), "weight": None, "bias": None}
        normal = call.again(**plain)[0].index_select(1, back)
        for name, join in (("weight", torch.mul), ("bias", torch.add)):
            parameter = call.tensor(name)
            if parameter is not None:
                normal = join(normal, parameter.reshape(1, -1, *(1,) * (x.ndim - 2)))
        return (normal, *call.result[1:])

    if 1 < groups < channels:
        yield alternative(
            "channel c is in group c % G, not c // (C / G)",
            Cause.WRONG_AXIS,
            dealt,
            weight=0.85,
        )
    if call.tensor("weight") is not None and 1 < groups < channels:
        of_group = torch.arange(channels, device=x.device) // (channels // groups)
        held = {name: call.tensor(name) for name in ("weight", "bias")}
        picked = {name: None if value is None else value[of_group] for name, value in held.items()}
        yield alternative(
            "the affine parameters are those of the group's number, not of the channel's",
            Cause.BROADCASTING,
            partial(call.again, **picked),
            weight=0.85,
        )


_READERS: dict[str, Callable[[Call], tuple[_Norm, Finish]]] = {
    "native_layer_norm": _layer,
    "_fused_rms_norm": _layer,
    "rms_norm": _layer,
    "native_group_norm": _group,
}
