"""Outputs that are right row by row up to one factor and one shift: something computed once per row is wrong.

Decides what the rows are, and fits factor and shift. Deliberately does not say what was computed: that takes a formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.patterns.sample import aligned
from opsdebug_ci.numerics.places import indices_of

MOST = 1 << 16
"""About as many elements are fitted, in evenly spaced rows."""

TRIED = 6
"""Rows fitted to see whether more are worth it."""

SHORTEST = 8
"""Elements of a row below which a fit of a few numbers says little."""

FEWEST = 2
"""Rows needed: one row is the whole output, and its factor a scale."""

RESIDUAL = 1e-4
"""Largest share of the error's energy the fit may leave: 2e-7 ... 9e-12 for wrong statistics, 0.91 ... 0.99 else."""

NOISE_SHARE = 0.02
"""Largest share of rounding noise in the error's energy up to which the fit may leave noise instead."""

GROUPS = (2, 4, 8, 16, 32, 64)
"""Groups of channels tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What the rows of an output are: its axes, one of them perhaps split, with those that number the rows in front."""

    shape: tuple[int, ...]
    """The output's shape, or the one with the second axis split."""

    order: tuple[int, ...]
    """Axes of `shape`, those that number the rows first."""

    leading: int
    """How many of them number the rows."""

    def of(self, value: torch.Tensor) -> torch.Tensor:
        """A tensor of the output's shape with its axes in this order; a contiguous one is not copied."""
        return value.reshape(self.shape).permute(self.order)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFit:
    """actual = gain * expected + rest, per row."""

    places: torch.Tensor
    """rows x length, int64: flat positions of the rows' elements in the output."""

    actual: torch.Tensor
    """rows x length, float64."""

    expected: torch.Tensor
    """rows x length, float64."""

    gain: torch.Tensor
    """Factor of each row."""

    residual: float
    """Share of the error's energy the fit leaves."""

    noise: float
    """Relative rounding noise of a gain: that of one element over the square root of the row's length."""

    @property
    def off(self) -> torch.Tensor:
        """Rows whose factor is beyond its noise from 1."""
        return (self.gain - 1).abs() > 8 * self.noise


def fitted_rows(failure: Failure) -> RowFit | None:
    """The fit with the longest rows that explains the error; None when none does.

    Least squares of the error on the reference, a constant and every one-dimensional argument, per row.
    """
    if failure.actual.ndim < 2 or not failure.actual.is_floating_point() or not failure.actual.numel():
        return None
    found = (_fit(failure, view) for view in _views(failure.actual.shape))
    return next((fit for fit in found if fit is not None), None)


def gathered(value: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Elements of a tensor shaped like the output at rows x length flat positions, float64; nothing else is copied."""
    index = indices_of(places, value.shape)
    return value.detach()[index].double()


def parameters(failure: Failure) -> dict[str, torch.Tensor]:
    """One-dimensional floating arguments, expanded to the output's shape along its last axis or its second."""
    shape, found = failure.actual.shape, {}
    for name, value in failure.tensors.items():
        if value.ndim != 1 or not value.is_floating_point() or value.numel() < 2:
            continue
        if value.numel() == shape[-1]:
            found[name] = value.detach().expand(shape)
        elif len(shape) > 2 and value.numel() == shape[1]:
            found[name] = value.detach().reshape(-1, *(1 for _ in shape[2:])).expand(shape)
    return found


def full_arguments(failure: Failure) -> dict[str, torch.Tensor]:
    """Floating arguments of the output's own shape."""
    shape = failure.actual.shape
    return {n: v for n, v in aligned(failure).items() if v.is_floating_point() and failure.tensors[n].shape == shape}


def solved(basis: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Least-squares coefficients, rows x k, of `values` (rows x length) on `basis` (rows x length x k).

    Columns are scaled to norm 1 first (van der Sluis, Numer. Math. 14, 1969); linearly dependent ones share a weight.
    """
    norms = torch.linalg.vector_norm(basis, dim=1, keepdim=True).clamp_min(1e-300)
    scaled = basis / norms
    gram = scaled.transpose(1, 2) @ scaled
    moment = (scaled * values.unsqueeze(-1)).sum(1).unsqueeze(-1)
    inverse: torch.Tensor = torch.linalg.pinv(gram, hermitian=True, rtol=1e-13)
    first = inverse @ moment
    remaining = values.unsqueeze(-1) - scaled @ first  # one step of refinement: the Gram matrix squares the condition
    second = inverse @ (scaled.transpose(1, 2) @ remaining)
    coefficients: torch.Tensor = (first + second) / norms.transpose(1, 2)
    return coefficients.squeeze(-1)


def _fit(failure: Failure, view: _View) -> RowFit | None:
    """A fit of the rows with most wrong elements, and if that holds, of as many rows as there is time for."""
    bad = view.of(failure.bad)
    heads = bad.shape[: view.leading]
    rows, length = math.prod(heads), math.prod(bad.shape[view.leading :])
    if rows < FEWEST or length < SHORTEST:
        return None
    wrong = bad.sum(tuple(range(view.leading, bad.ndim))).flatten()
    places = view.of(torch.arange(bad.numel(), device=bad.device).reshape(failure.bad.shape))

    def chosen(which: torch.Tensor) -> torch.Tensor:
        return places[indices_of(which, heads)].reshape(len(which), length)

    trial = chosen(wrong.topk(min(TRIED, rows)).indices)[:, :: max(1, length * TRIED // MOST)]
    if _explained(failure, trial) is None:
        return None
    return _explained(failure, chosen(torch.arange(0, rows, max(1, rows * length // MOST), device=bad.device)))


def _explained(failure: Failure, places: torch.Tensor) -> RowFit | None:
    actual, expected = gathered(failure.actual, places), gathered(failure.expected, places)
    finite = torch.isfinite(actual).all(1) & torch.isfinite(expected).all(1)
    places, actual, expected = places[finite], actual[finite], expected[finite]
    columns = [expected, torch.ones_like(expected), *(gathered(p, places) for p in parameters(failure).values())]
    if len(places) < FEWEST or places.shape[1] < 3 * len(columns):
        return None
    basis = torch.stack(columns, -1)
    error = actual - expected
    coefficients = solved(basis, error)
    left = float((error - (basis @ coefficients.unsqueeze(-1)).squeeze(-1)).square().sum())
    energy = float(error.square().sum())
    unit = max(float_format(failure.actual.dtype).unit_roundoff, failure.compute.unit_roundoff)
    noise = float((unit * expected).square().sum())
    if energy == 0 or not (left <= RESIDUAL * energy or (left <= 2 * noise and noise <= NOISE_SHARE * energy)):
        return None
    return RowFit(
        places=places,
        actual=actual,
        expected=expected,
        gain=1 + coefficients[:, 0],
        residual=left / energy,
        noise=2 * unit / math.sqrt(places.shape[1]),
    )


def _views(shape: torch.Size) -> list[_View]:
    """Rows over trailing axes, along one axis, per channel, and per group of channels; the longest rows first."""
    axes = tuple(range(len(shape)))
    found = [_View(shape=tuple(shape), order=axes, leading=start) for start in axes[1:]]
    for axis in axes[:-1]:
        others = tuple(a for a in axes if a != axis)
        found.append(_View(shape=tuple(shape), order=(*others, axis), leading=len(others)))
    found.append(_View(shape=tuple(shape), order=(1, 0, *axes[2:]), leading=1))
    if len(shape) > 2:
        for groups in GROUPS:
            if shape[1] % groups == 0 and shape[1] > groups:
                split = (shape[0], groups, shape[1] // groups, *shape[2:])
                found.append(_View(shape=split, order=tuple(range(len(split))), leading=2))
    return sorted(found, key=lambda view: math.prod(view.shape[axis] for axis in view.order[: view.leading]))
