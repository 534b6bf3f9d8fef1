"""The last arguments before a function overflows or underflows, found by asking its reference.

Decides which floats `thresholds` holds beside its fixed points: those on either side of where the reference's result in
the dtype under test first is infinite, subnormal or zero. Only ends of the function count, where the result comes
close to the format's limit; where it jumps there from afar, a formula overflows on the way, and another right one need
not. Only elementwise references have such ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from opsdebug_ci.inputs import Stream
from opsdebug_ci.inputs.aimed_families import COARSE_STEP
from opsdebug_ci.model.argument import TensorArgument
from opsdebug_ci.model.vocabulary import ReferenceKind, ValueDomain
from opsdebug_ci.numerics.lifting import call_lifted, widen
from opsdebug_ci.numerics.places import indices_of
from opsdebug_ci.operators import Operator, positional_outputs
from opsdebug_ci.worker.isolation import isolated

CODES = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}
"""The integers of a format's size: as such, positive floats are in order. Narrower formats have no room to search."""

FEWEST_ELEMENTS = 64
"""Smallest argument that is searched: one call of the reference asks about as many values as it has elements."""

MOST_ENDS = 12
"""Most steps searched of one argument: on either side of 0 an overflow, an underflow and a first zero, twice."""

NEARNESS = 4.0
"""Factor within which the last ordinary result is at the limit: one step of a bfloat16 argument at 88 makes e**0.5."""

PLACED_SHARE = 4
"""At most one element in 4 holds such a value; the others are those of the family."""

Codes = npt.NDArray[np.int64]
Classes = npt.NDArray[np.int64]
ZERO, SUBNORMAL, NORMAL, INFINITE, UNKNOWN = range(5)
"""Classes of results; NaN, and what cannot be told, is no end of a range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interval:
    """Two arguments of one sign between which the class of the result changes, as signed codes."""

    sign: int
    """1 or -1."""

    near: int
    """Code of the magnitude nearer 0."""

    far: int
    """Code of the other."""

    near_class: int
    """Class of the result at `near`, as the search began."""

    far_class: int
    """Class of the result at `far`, as the search began."""

    entering: bool
    """The step into the far class is wanted, else the one out of the near class: 0 may follow after subnormals."""

    def narrowed(self, codes: Codes, classes: Classes) -> _Interval:
        """Around the wanted step by the classes at `codes`, ascending and between both ends."""
        if self.entering:
            outside = np.flatnonzero(classes != self.far_class)
            cut = int(outside[-1]) + 1 if outside.size else 0
        else:
            outside = np.flatnonzero(classes != self.near_class)
            cut = int(outside[0]) if outside.size else codes.size
        bounds = [self.near, *codes.tolist(), self.far]
        return replace(self, near=bounds[cut], far=bounds[cut + 1])


class _Search:
    """One argument of one reference, and what its results are at any values of that argument."""

    def __init__(
        self,
        dtype: torch.dtype,
        shape: torch.Size,
        ask: Callable[[torch.Tensor], torch.Tensor],
        wide: Callable[[torch.Tensor], torch.Tensor],
    ) -> None:
        """Args: `ask` gives the result for an argument of `dtype` and `shape`, `wide` the same in float64."""
        self.dtype, self._shape, self._ask, self._wide = dtype, shape, ask, wide
        limits = torch.finfo(dtype)
        low, high = torch.tensor([limits.tiny, limits.max], dtype=dtype).view(CODES[dtype]).tolist()
        self._low, self._high = int(low), int(high)

    def values(self, signs: Codes, codes: Codes) -> torch.Tensor:
        magnitudes = torch.from_numpy(codes).to(CODES[self.dtype]).view(self.dtype)
        return magnitudes * torch.from_numpy(signs).to(self.dtype)

    def results(self, values: torch.Tensor) -> tuple[npt.NDArray[np.float64], Classes, torch.finfo]:
        """Magnitudes and classes of the results at as many values as fit in the argument, and the results' format."""
        result = self._ask(self._filled(values))
        limits = torch.finfo(result.dtype)
        sizes = result.reshape(-1)[: values.numel()].double().abs().numpy()
        classes = np.select(
            [np.isnan(sizes), sizes == 0, sizes < limits.tiny, np.isinf(sizes)],
            [UNKNOWN, ZERO, SUBNORMAL, INFINITE],
            NORMAL,
        )
        return sizes, classes, limits

    def _filled(self, values: torch.Tensor) -> torch.Tensor:
        filled = torch.ones(self._shape.numel(), dtype=self.dtype)
        filled[: values.numel()] = values
        return filled.view(self._shape)

    def ends(self, signs: tuple[int, ...]) -> list[tuple[float, float]]:
        """Neighbouring arguments, the one nearer 0 first, between which the function leaves its format's range."""
        room = self._shape.numel()
        sweep = _spread(self._low, self._high, room // len(signs))
        _, classes, _ = self.results(torch.cat([self.values(np.full(sweep.size, sign), sweep) for sign in signs]))
        found: list[_Interval] = []
        for sign, here in zip(signs, np.split(classes, len(signs)), strict=True):
            for at in np.flatnonzero((here[1:] != here[:-1]) & (here[1:] != UNKNOWN) & (here[:-1] != UNKNOWN)):
                near, far = int(sweep[at]), int(sweep[at + 1])
                found += [
                    _Interval(
                        sign=sign, near=near, far=far, near_class=here[at], far_class=here[at + 1], entering=entering
                    )
                    for entering in (False, True)
                ]
        found = found[:MOST_ENDS]
        while any(interval.far - interval.near > 1 for interval in found):
            inner = [np.unique(_spread(i.near, i.far, room // len(found)))[1:-1] for i in found]
            asked = [self.values(np.full(codes.size, i.sign), codes) for i, codes in zip(found, inner, strict=True)]
            _, classes, _ = self.results(torch.cat(asked))
            parts = np.split(classes, np.cumsum([codes.size for codes in inner])[:-1])
            found = [i.narrowed(codes, part) for i, codes, part in zip(found, inner, parts, strict=True)]
        pairs = sorted({(i.sign, i.near, i.far) for i in found})
        return self._confirmed(pairs) if pairs else []

    def _confirmed(self, pairs: list[tuple[int, int, int]]) -> list[tuple[float, float]]:
        """Those whose results do not depend on where in the argument they stand, and are close to a limit.

        In float64 they have to be there too: a formula may double a result before it halves it.
        """
        signs = np.array([sign for sign, *_ in pairs for _ in range(2)])
        values = self.values(signs, np.array([code for _, *codes in pairs for code in codes]))
        sizes, classes, limits = self.results(values)
        elsewhere, _, _ = self.results(values.flip(0))
        wide = self._wide(self._filled(values)).reshape(-1)[: values.numel()].double().abs().numpy()
        smallest = limits.tiny * limits.eps
        near_limit = (
            ((classes == NORMAL) & (sizes >= limits.max / NEARNESS))
            | ((classes == NORMAL) & (sizes <= limits.tiny * NEARNESS))
            | ((classes == SUBNORMAL) & (sizes <= smallest * NEARNESS))
        )
        kept = (near_limit.reshape(-1, 2).any(1)) & (sizes == elsewhere[::-1]).reshape(-1, 2).all(1)
        kept &= classes[0::2] != classes[1::2]
        leaves = ((classes != INFINITE) | (wide >= limits.max * (1 - COARSE_STEP))) & (
            ~np.isin(classes, (SUBNORMAL, ZERO)) | (wide <= limits.tiny * (1 + COARSE_STEP))
        )
        kept &= leaves.reshape(-1, 2).all(1)
        return [(near, far) for (near, far), keep in zip(values.view(-1, 2).tolist(), kept, strict=True) if keep]


def place_range_ends(operator: Operator, made: Mapping[str, Any], stream: Stream, seed: int) -> None:
    """Put the ends of every searched argument among its values in place, with 1 in the others' same places.

    Args:
        operator: whose torch reference, else the naive one, is asked with 1 in all other arguments.
        made: its arguments on the CPU. Those that are drawn are floats of one shape, else there is nothing to find.
        stream: decides the places.
        seed: for the reference.
    """
    drawn = {name: item for name, item in operator.tensors.items() if isinstance(item.values, ValueDomain)}
    tensors = {name: made[name] for name in drawn}
    shapes = {tensor.shape for tensor in tensors.values()}
    kinds = (ReferenceKind.TORCH, ReferenceKind.NAIVE)
    reference = next((operator.references[kind] for kind in kinds if kind in operator.references), None)
    shared = any(0 in tensor.stride() for tensor in tensors.values())
    if reference is None or len(shapes) != 1 or shared or not all(t.dtype in CODES for t in tensors.values()):
        return
    (shape,) = shapes
    if shape.numel() < FEWEST_ELEMENTS:
        return
    order = torch.from_numpy(stream.permutation(shape.numel()))[: shape.numel() // PLACED_SHARE]
    for name, item in drawn.items():
        with isolated(seed), torch.no_grad():
            try:
                ends = _beside(_search(reference, made, tensors, name).ends(_signs(item)), tensors[name].dtype)
            except BaseException:  # noqa: BLE001 - user code on arguments it was not written for; exits too
                ends = torch.empty(0, dtype=tensors[name].dtype)
        places, order = order[: ends.numel()], order[ends.numel() :]
        for other, tensor in tensors.items():
            held = ends[: places.numel()] if other == name else torch.ones(places.numel(), dtype=tensor.dtype)
            tensor[indices_of(places, shape)] = held


def _spread(low: int, high: int, count: int) -> Codes:
    """`count` whole numbers from `low` to `high`, both included; close ones are exact."""
    return np.minimum(low + np.linspace(0, high - low, count).astype(np.int64), high)


def _search(
    reference: Callable[..., Any], made: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], name: str
) -> _Search:
    shape = tensors[name].shape
    ones = {other: torch.ones(shape, dtype=tensor.dtype) for other, tensor in tensors.items()}

    def first(returned: object) -> torch.Tensor:
        return next(out for out in positional_outputs(returned) if out.shape == shape and out.is_floating_point())

    def ask(values: torch.Tensor) -> torch.Tensor:
        return first(reference(*{**made, **ones, name: values}.values()))

    def wide(values: torch.Tensor) -> torch.Tensor:
        given = {**made, **ones, name: values}
        return first(call_lifted(lambda: reference(*map(widen, given.values()))))

    return _Search(tensors[name].dtype, shape, ask, wide)


def _signs(item: TensorArgument) -> tuple[int, ...]:
    return (1,) if item.values in (ValueDomain.NONNEGATIVE, ValueDomain.POSITIVE) else (1, -1)


def _beside(ends: list[tuple[float, float]], dtype: torch.dtype) -> torch.Tensor:
    """Both sides of every end, the next float on either side, and a coarse step before and after."""
    pairs = torch.tensor(ends, dtype=torch.float64).view(-1, 2)
    near, far = pairs.unbind(1)
    step = far - near
    values = torch.stack([near, far, near * (1 - COARSE_STEP), near - step, far + step, far * (1 + COARSE_STEP)], 1)
    made = values.to(dtype).flatten()
    return made[made.isfinite()]
