"""A region of an output laid over every tensor of a case, and what its elements are like.

Decides how inputs of other shapes are aligned with the output: by broadcasting; else by the leading axes they share
with it, else by the trailing ones, taken as a whole along the rest; else not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.attribution import Alignment, Tally, TensorRole, TensorSummary, ValueSummary
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.region import Region, Span
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import dtype_name
from opsdebug_ci.numerics.quantiles import quantiles
from opsdebug_ci.numerics.splits import Feature, value_features


def region_mask(region: Region, shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """bool of `shape`: True inside a resolved region."""
    mask = torch.zeros(shape, dtype=torch.bool, device=device)
    mask[tuple(slice(span.first, span.last + 1) for span in region)] = True
    return mask


def region_of(mask: torch.Tensor) -> Region | None:
    """Smallest region that holds every True element of `mask`; None when there is none."""
    if not bool(mask.any()):
        return None
    stretches = []
    for axis in range(mask.ndim):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        touched = (mask.any(others) if others else mask).nonzero()
        stretches.append(Span(first=int(touched[0]), last=int(touched[-1])))
    return tuple(stretches)


def located(reading: OutputReading, failure: Failure | None) -> tuple[OutputReading, Failure | None]:
    """What `examine` gives, with the region that holds the bad elements of a failure."""
    return (reading if failure is None else replace(reading, bad_region=region_of(failure.bad))), failure


def summarise_values(values: torch.Tensor) -> ValueSummary:
    """What some elements are like. NaN and infinities are counted; every other number is over the finite elements.

    Args:
        values: any real dtype, any shape; its format decides what is subnormal.
    """
    wide = values.detach().double().flatten()
    known = FLOAT_FORMATS.get(dtype_name(values.dtype))
    tiny = known.min_normal if known is not None else 0.0
    finite = wide[torch.isfinite(wide)]
    size = finite.abs()
    some = finite.numel() > 0
    low, high = (bound.item() for bound in torch.aminmax(finite)) if some else (None, None)
    return ValueSummary(
        count=wide.numel(),
        nan=int(torch.isnan(wide).sum()),
        infinite=int(torch.isinf(wide).sum()),
        zero=int((wide == 0).sum()),
        subnormal=int(((size > 0) & (size < tiny)).sum()),
        minimum=low,
        maximum=high,
        mean=float(finite.mean()) if some else None,
        deviation=float(finite.std(correction=0)) if some else None,
        size=quantiles(size),
    )


def tally(bad: torch.Tensor, within: torch.Tensor) -> Tally:
    """Bad elements among those `within` (bool, same shape); a scalar is one row."""
    wrong = bad & within
    rows, wrong_rows = _rows(within), _rows(wrong)
    touched = rows.any(1)
    return Tally(
        elements=int(within.sum()),
        bad=int(wrong.sum()),
        rows=int(touched.sum()),
        bad_rows=int(wrong_rows.any(1).sum()),
        all_bad_rows=int((touched & (wrong_rows == rows).all(1)).sum()),
    )


def _rows(mask: torch.Tensor) -> torch.Tensor:
    return mask.reshape(-1, mask.shape[-1]) if mask.ndim else mask.reshape(1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """One tensor beside an output of `shape`."""

    name: str
    """Argument name."""

    values: torch.Tensor
    """The tensor."""

    alignment: Alignment
    """How it lies beside the output."""

    shared: int
    """Axes it shares with the output, when it is aligned by leading or trailing ones."""

    shape: tuple[int, ...]
    """Shape of the output."""

    def summary(self, inside: torch.Tensor) -> TensorSummary:
        """Its elements in the region `inside` (bool, shaped like the output) and outside it."""
        chosen = self._chosen(inside)
        values = self.values.expand(self.shape) if self.alignment is Alignment.ELEMENTS else self.values
        return TensorSummary(
            name=self.name,
            role=TensorRole.INPUT,
            shape=tuple(self.values.shape),
            dtype=dtype_name(self.values.dtype),
            alignment=self.alignment,
            inside=summarise_values(values if chosen is None else values[chosen]),
            outside=None if chosen is None or bool(chosen.all()) else summarise_values(values[~chosen]),
        )

    def features(self) -> list[Feature]:
        """Numbers of this tensor for every element of the output."""
        if self.values.numel() == 0 or self.alignment is Alignment.WHOLE:
            return []
        if self.alignment is Alignment.ELEMENTS:
            return value_features(self.name, self.values)
        wide = self.values.double()
        rest = tuple(range(self.shared, wide.ndim)) if self._leads else tuple(range(wide.ndim - self.shared))
        return [
            Feature(name=f"{word} {self.name}", values=self._laid(found), order=0.5)
            for word, found in (
                ("largest |.| of", wide.abs().amax(rest)),
                ("smallest |.| of", wide.abs().amin(rest)),
                ("mean of", wide.mean(rest)),
                ("spread of", wide.std(rest, correction=0)),
            )
        ]

    def element(self, index: tuple[int, ...]) -> float | None:
        """Its element beside that of the output at `index`; None where there is not just one, or it is not finite."""
        if self.alignment is not Alignment.ELEMENTS:
            return None
        value = float(self.values.expand(self.shape)[index])
        return value if abs(value) < float("inf") else None

    @property
    def _leads(self) -> bool:
        return self.alignment is Alignment.LEADING

    def _laid(self, reduced: torch.Tensor) -> torch.Tensor:
        ones = [1] * (len(self.shape) - self.shared)
        return reduced.reshape([*reduced.shape, *ones] if self._leads else [*ones, *reduced.shape])

    def _chosen(self, inside: torch.Tensor) -> torch.Tensor | None:
        """Its elements that belong to the region, as bool over its shared axes' elements; None: it has no say."""
        if self.alignment is Alignment.WHOLE:
            return None
        if self.alignment is Alignment.ELEMENTS:
            return inside
        away = range(self.shared, inside.ndim) if self._leads else range(inside.ndim - self.shared)
        touched = inside.any(tuple(away)) if away else inside
        lengths = [1] * (self.values.ndim - self.shared)
        laid = touched.reshape([*touched.shape, *lengths] if self._leads else [*lengths, *touched.shape])
        return laid.expand(self.values.shape)


def align(name: str, values: torch.Tensor, shape: tuple[int, ...]) -> Aligned:
    """How `values` lies beside an output of `shape`."""
    own = tuple(values.shape)
    leading, trailing = _common(own, shape), _common(own[::-1], shape[::-1])
    if _broadcasts(own, shape):
        alignment, shared = Alignment.ELEMENTS, len(own)
    elif leading and leading >= trailing:
        alignment, shared = Alignment.LEADING, leading
    elif trailing:
        alignment, shared = Alignment.TRAILING, trailing
    else:
        alignment, shared = Alignment.WHOLE, 0
    return Aligned(name=name, values=values, alignment=alignment, shared=shared, shape=shape)


def _broadcasts(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    tail = shape[len(shape) - len(own) :]
    return len(own) <= len(shape) and all(mine in (1, theirs) for mine, theirs in zip(own, tail, strict=True))


def _common(own: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """Leading sizes that agree."""
    for count, (mine, theirs) in enumerate(zip(own, shape, strict=False)):
        if mine != theirs:
            return count
    return min(len(own), len(shape))
