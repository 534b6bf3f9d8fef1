"""Outputs that are right row by row up to one factor and one shift: something computed once per row is wrong.

Decides what the rows are and fits factor and shift. Deliberately does not say what was computed: that takes the formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.patterns.sample import aligned

MOST = 1 << 18
"""Elements fitted: as many first rows as they make."""

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

View = Callable[[torch.Tensor], torch.Tensor]
"""Brings a tensor shaped like the output into rows x length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFit:
    """actual = gain * expected + rest, per row."""

    view: View
    """What the rows are."""

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
    found = (_fit(failure, view) for view in sorted(_views(failure.actual.shape), key=_length(failure)))
    return next((fit for fit in found if fit is not None), None)


def viewed(view: View, value: torch.Tensor) -> torch.Tensor:
    """The first rows of a tensor in a view, float64, MOST elements."""
    rows = view(value.detach())
    return rows[: max(FEWEST, MOST // rows.shape[1])].double()


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
    """Least-squares coefficients, rows x k, of `values` (rows x length) on `basis` (rows x length x k), by QR.

    Columns are scaled to norm 1 first (van der Sluis, Numer. Math. 14, 1969); linearly dependent ones share a weight.
    """
    norms = torch.linalg.vector_norm(basis, dim=1, keepdim=True).clamp_min(1e-300)
    scaled = basis / norms
    gram = scaled.transpose(1, 2) @ scaled
    moment = (scaled * values.unsqueeze(-1)).sum(1).unsqueeze(-1)
    first = torch.linalg.pinv(gram, hermitian=True, rtol=1e-13) @ moment
    remaining = values.unsqueeze(-1) - scaled @ first  # one step of refinement: the Gram matrix squares the condition
    second = torch.linalg.pinv(gram, hermitian=True, rtol=1e-13) @ (scaled.transpose(1, 2) @ remaining)
    return ((first + second) / norms.transpose(1, 2)).squeeze(-1)


def _fit(failure: Failure, view: View) -> RowFit | None:
    actual, expected = viewed(view, failure.actual), viewed(view, failure.expected)
    columns = [expected, torch.ones_like(expected), *(viewed(view, p) for p in parameters(failure).values())]
    rows, length = expected.shape
    if rows < FEWEST or length < max(SHORTEST, 3 * len(columns)):
        return None
    finite = torch.isfinite(actual).all(1) & torch.isfinite(expected).all(1)
    if int(finite.sum()) < FEWEST:
        return None
    basis = torch.stack(columns, -1)[finite]
    actual, expected = actual[finite], expected[finite]
    error = actual - expected
    coefficients = solved(basis, error)
    left = float((error - (basis @ coefficients.unsqueeze(-1)).squeeze(-1)).square().sum())
    energy = float(error.square().sum())
    unit = max(float_format(failure.actual.dtype).unit_roundoff, failure.compute.unit_roundoff)
    noise = float((unit * expected).square().sum())
    if energy == 0 or not (left <= RESIDUAL * energy or (left <= 2 * noise and noise <= NOISE_SHARE * energy)):
        return None
    return RowFit(
        view=lambda value: view(value)[: finite.numel()][finite],
        actual=actual,
        expected=expected,
        gain=1 + coefficients[:, 0],
        residual=left / energy,
        noise=2 * unit / math.sqrt(length),
    )


def _length(failure: Failure) -> Callable[[View], int]:
    return lambda view: -int(view(failure.bad).shape[1])


def _views(shape: torch.Size) -> Iterator[View]:
    """Rows over trailing axes, along one axis, per channel, and per group of channels."""
    for start in range(1, len(shape)):
        yield lambda value, start=start: value.reshape(math.prod(shape[:start]), -1)  # type: ignore[misc]
    for axis in range(len(shape) - 1):
        yield lambda value, axis=axis: value.movedim(axis, -1).reshape(-1, shape[axis])  # type: ignore[misc]
    if len(shape) > 1:
        yield lambda value: value.movedim(1, 0).reshape(shape[1], -1)
    if len(shape) > 2:
        for groups in GROUPS:
            if shape[1] % groups == 0 and shape[1] > groups:
                yield lambda value, groups=groups: value.reshape(shape[0] * groups, -1)  # type: ignore[misc]
