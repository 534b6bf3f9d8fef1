"""Interpolation, grids and pooling: where pixels lie, what a divisor counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call

Mapping = Callable[[torch.Tensor, int, int], torch.Tensor]
"""Output positions, input size, output size to input positions."""


def _half_pixel(at: torch.Tensor, size: int, wanted: int) -> torch.Tensor:
    return (at + 0.5) * size / wanted - 0.5


def _top_left(at: torch.Tensor, size: int, wanted: int) -> torch.Tensor:
    return at * size / wanted


def _corners(at: torch.Tensor, size: int, wanted: int) -> torch.Tensor:
    return at * ((size - 1) / (wanted - 1)) if wanted > 1 else at * 0


MAPPINGS: dict[str, Mapping] = {
    "pixels are mapped by their top-left corners": _top_left,
    "pixels are mapped with aligned corners": _corners,
    "pixels are mapped by their centres": _half_pixel,
}


def resampling(call: Call) -> Iterator[Alternative]:
    """Another pixel mapping of linear and nearest interpolation, other pooling defaults, other grid defaults."""
    if call.name.startswith("upsample_") and call.tensor("self") is not None:
        yield from _interpolation(call, call.values["self"])
    if call.name in ("avg_pool1d", "avg_pool2d", "avg_pool3d"):
        yield from _flags(call, "count_include_pad")
        yield from _flags(call, "ceil_mode")
    if call.name in ("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d"):
        phrase = "windows end at floor((i + 1) n / m), not at the ceiling"
        yield _default(phrase, partial(_short_windows, call, call.values["self"]))
    if call.name.endswith("_window"):
        yield from _windows(call)
    if call.name == "max_pool2d_with_indices" and any(call.values.get("padding") or ()):
        yield from _padded_maximum(call, call.values["self"])
    if call.name in PADS and call.tensor("self") is not None:
        yield from _paddings(call, call.values["self"])
    if call.name == "grid_sampler_2d":
        yield from _flags(call, "align_corners")
        for mode in {0, 1, 2} - {call.values["padding_mode"]}:
            phrase = f"the padding mode outside the grid is {('zeros', 'border', 'reflection')[mode]}"
            yield _default(phrase, partial(lambda mode: call.again(padding_mode=mode), mode))


PADS = {f"{mode}_pad{dims}d": mode for mode in ("reflection", "replication") for dims in (1, 2, 3)}
PADS["constant_pad_nd"] = "zeros"
"""Call to how it fills the border."""

BORDERS: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "reflection": lambda at, n: torch.where(at < 0, -at, torch.where(at >= n, 2 * n - 2 - at, at)),
    "symmetric reflection, which repeats the edge": lambda at, n: torch.where(
        at < 0, -at - 1, torch.where(at >= n, 2 * n - 1 - at, at)
    ),
    "replication": lambda at, n: at.clamp(0, n - 1),
    "wrap-around": lambda at, n: at % n,
}
"""Where an element beyond the border comes from, by its place, in an axis of so many."""


def _paddings(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """Borders filled in another way."""
    widths = call.values.get("padding", call.values.get("pad"))
    own = PADS[call.name]
    if not x.is_floating_point() or min(widths) < 0 or call.values.get("value"):
        return
    for mode, place in BORDERS.items():
        if mode != own:
            yield _default(f"the padding is {mode}, not {own}", partial(_padded, x, widths, place))
    if own != "zeros":
        yield _default(f"the padding is zeros, not {own}", partial(torch.nn.functional.pad, x, list(widths)))


def _padded(x: torch.Tensor, widths: list[int], place: Callable[[torch.Tensor, int], torch.Tensor]) -> torch.Tensor:
    for axis, (before, after) in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        n = x.shape[-1 - axis]
        at = place(torch.arange(-before, n + after, device=x.device), n)
        x = x.index_select(-1 - axis, at.clamp(0, n - 1))
    return x


def _flags(call: Call, name: str) -> Iterator[Alternative]:
    if isinstance(call.values.get(name), bool):
        yield _default(
            f"`{name}` is {not call.values[name]}, not {call.values[name]}",
            lambda: call.again(**{name: not call.values[name]}),
        )


def _windows(call: Call) -> Iterator[Alternative]:
    """The symmetric window for the periodic one, and the other way round (the default is periodic)."""
    periodic, length = call.values.get("periodic", True), call.values["window_length"]
    other = getattr(torch, call.name)
    yield _default(
        f"the window of {length} is {'symmetric, not periodic' if periodic else 'periodic, not symmetric'}",
        lambda: other(length, periodic=not periodic).to(call.result),
    )


def _padded_maximum(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """A maximum into which padding enters as zeros."""
    rows, columns = (*call.values["padding"], *call.values["padding"])[:2]
    padded = torch.nn.functional.pad(x, (columns, columns, rows, rows))
    yield Alternative(
        name="padding that enters a maximum as zeros",
        cause=Cause.MASK_SEMANTICS,
        statement="padding enters the maximum as zeros, not as minus infinity",
        result=partial(call.again, self=padded, padding=[0, 0]),
        weight=0.9,
    )


def _interpolation(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    sizes = tuple(call.result.shape[2:])
    if "linear" in call.name:
        for phrase, mapping in MAPPINGS.items():
            yield _default(f"{phrase} in the linear interpolation", partial(lambda m: _linear(x, sizes, m), mapping))
        yield _default(
            "positions before the centre of the first pixel are not cut at 0, so that the edge is extrapolated",
            lambda: _linear(x, sizes, _mapping(call), least=-1.0),
        )
        yield _default(
            "the nearest pixel is taken, not a linear interpolation",
            lambda: _nearest(x, sizes, _half_pixel, rounding=True),
        )
    if "nearest" in call.name:
        for phrase, mapping in MAPPINGS.items():
            for rounding in (False, True):
                yield _default(
                    f"{phrase}, {'rounded' if rounding else 'cut'}, in the nearest interpolation",
                    partial(lambda m, r: _nearest(x, sizes, m, rounding=r), mapping, rounding),
                )
    if "bicubic" in call.name:
        yield from _flags(call, "align_corners")
        for share in (-0.5, -1.0):
            phrase = f"the coefficient of the cubic is {share}, not {CUBIC}"
            yield _default(phrase, partial(_cubic, x, sizes, _mapping(call), share))


CUBIC = -0.75
"""The coefficient of torch's bicubic interpolation."""


def _mapping(call: Call) -> Mapping:
    return _corners if call.values.get("align_corners") else _half_pixel


def _cubic(x: torch.Tensor, sizes: tuple[int, ...], mapping: Mapping, a: float) -> torch.Tensor:
    """Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans. ASSP 29(6), 1981, with another
    coefficient."""
    for axis, wanted in enumerate(sizes, start=2):
        size = x.shape[axis]
        source = mapping(torch.arange(wanted, dtype=torch.float64, device=x.device), size, wanted)
        low, total = source.floor(), torch.zeros((), dtype=torch.float64, device=x.device)
        for step in (-1, 0, 1, 2):
            d = (source - low - step).abs()
            near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
            share = torch.where(d <= 1, near, far)
            shape = [-1 if position == axis else 1 for position in range(x.ndim)]
            place = (low + step).long().clamp(0, size - 1)
            total = total + x.index_select(axis, place) * share.reshape(shape)
        x = total
    return x


def _short_windows(call: Call, x: torch.Tensor) -> torch.Tensor:
    """Windows that end where a division is cut, not where it is rounded up."""
    wanted = call.result.shape[x.ndim - len(call.values["output_size"]) :]
    for axis, count in enumerate(wanted, start=x.ndim - len(wanted)):
        size = x.shape[axis]
        ends = [(i * size // count, max((i + 1) * size // count, i * size // count + 1)) for i in range(count)]
        x = torch.stack([x.narrow(axis, low, high - low).mean(axis) for low, high in ends], axis)
    return x


def _linear(x: torch.Tensor, sizes: tuple[int, ...], mapping: Mapping, least: float = 0.0) -> torch.Tensor:
    for axis, wanted in enumerate(sizes, start=2):
        size = x.shape[axis]
        source = mapping(torch.arange(wanted, dtype=torch.float64, device=x.device), size, wanted)
        source = source.clamp(least, size - 1)
        low = source.clamp(min=0).floor().long()
        share = (source - low).reshape([-1 if position == axis else 1 for position in range(x.ndim)])
        high = (low + 1).clamp(max=size - 1)
        x = x.index_select(axis, low) * (1 - share) + x.index_select(axis, high) * share
    return x


def _nearest(x: torch.Tensor, sizes: tuple[int, ...], mapping: Mapping, *, rounding: bool) -> torch.Tensor:
    for axis, wanted in enumerate(sizes, start=2):
        size = x.shape[axis]
        source = mapping(torch.arange(wanted, dtype=torch.float64, device=x.device), size, wanted)
        place = (source + 0.5 if rounding else source).floor().long().clamp(0, size - 1)
        x = x.index_select(axis, place)
    return x


def _default(phrase: str, result: Callable[[], Any]) -> Alternative:
    return Alternative(
        name=phrase,
        cause=Cause.WRONG_DEFAULT,
        statement=phrase,
        result=result,
        weight=0.9,
    )
