"""Which elements of an output lie beyond a bound around a reference.

Decides element by element, classes (NaN, +inf, -inf, finite) before any subtraction. Deliberately does not decide what
follows from it: that takes all references together (`comparison`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.bounds import Bound

MISROUNDED_CODES_SHARE = 0.01
"""Share of quantised codes that may be off by one: the scaled value lay on a rounding boundary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """Per-element verdict against one reference; bool tensors shaped like the output."""

    over: torch.Tensor
    """Beyond the green bound, or of the wrong class."""

    red: torch.Tensor
    """Beyond the worst case, or of the wrong class."""

    classes: torch.Tensor
    """Of the wrong class."""

    excess: torch.Tensor
    """|actual - expected| / tolerance, float64; 0 where the class is wrong or both agree."""


def float_violations(actual: torch.Tensor, expected: torch.Tensor, bound: Bound, output: FloatFormat) -> Violations:
    """Compare a floating output with float64 `expected` (same shape).

    NaN matches NaN; an infinity matches itself. Where the reference lies beyond the largest finite value of the output
    format by more than the worst case, only the infinity of its sign will do (or that largest value, in a format
    without infinities); within the worst case of that threshold either will.
    """
    got = actual.double()
    classes = _class_mismatch(got, expected, bound, output)
    finite = torch.isfinite(got) & torch.isfinite(expected)
    reachable = expected.clamp(-output.max_finite, output.max_finite)
    error = torch.where(finite, (got - reachable).abs(), torch.zeros_like(expected))
    if bound.exact:
        classes = classes | ((got == 0) & (expected == 0) & (torch.signbit(got) != torch.signbit(expected)))
    return Violations(
        over=classes | (finite & ~(error <= bound.tolerance)),
        red=classes | (finite & ~(error <= bound.worst_case)),
        classes=classes,
        excess=torch.where(error > 0, error / bound.tolerance, torch.zeros_like(error)),
    )


def _class_mismatch(got: torch.Tensor, expected: torch.Tensor, bound: Bound, output: FloatFormat) -> torch.Tensor:
    nan = torch.isnan(got) != torch.isnan(expected)
    true_infinity = torch.isinf(expected) & (got != expected)
    # Round to nearest overflows from max + half an ulp on (IEEE 754-2019, 7.4).
    threshold = output.max_finite * (1.0 + output.unit_roundoff / (2.0 - 2.0 * output.unit_roundoff))
    outward = torch.where(torch.isfinite(expected), expected.abs() + bound.worst_case, expected.abs())
    inward = expected.abs() - bound.worst_case
    same_sign = torch.signbit(got) == torch.signbit(expected)
    overflowed = torch.isinf(got) & torch.isfinite(expected) & ~((outward >= threshold) & same_sign)
    held_back = torch.isfinite(got) & torch.isfinite(expected) & (inward >= threshold) & output.has_infinity
    either_nan = torch.isnan(got) | torch.isnan(expected)
    return nan | (~either_nan & (true_infinity | overflowed | held_back))


def integer_violations(actual: torch.Tensor, expected: torch.Tensor, kind: Kind) -> Violations:
    """Compare integers or bools of one shape as integers; quantised codes may be off by one on a few boundaries."""
    got, wanted = actual.to(torch.int64), expected.to(torch.int64)
    over = got != wanted
    red = over & ((got - wanted).abs() > 1) if kind is Kind.QUANTIZE else over
    found = Violations(over=over, red=red, classes=torch.zeros_like(over), excess=over.double())
    return strict_codes(found) if kind is Kind.QUANTIZE else found


def strict_codes(found: Violations) -> Violations:
    """Quantised codes off by one are red after all when more than MISROUNDED_CODES_SHARE of them are."""
    rare = int(found.over.sum()) <= MISROUNDED_CODES_SHARE * found.over.numel()
    return found if rare else replace(found, red=found.over)


def index_violations(actual: torch.Tensor, expected: torch.Tensor, source: torch.Tensor, axis: int) -> Violations:
    """Compare indices by the values they point at: ties may be broken either way.

    Args:
        actual: indices into `source` along `axis`; shaped like `source` with another length there, or without it.
        expected: the reference's indices, same shape.
        source: the values pointed into.
        axis: axis of `source`.

    An index out of range, or one used twice where the reference uses none twice, is red. NaN equals NaN.
    """
    got, wanted = actual.to(torch.int64), expected.to(torch.int64)
    squeezed = got.ndim == source.ndim - 1
    if squeezed:
        got, wanted = got.unsqueeze(axis), wanted.unsqueeze(axis)
    length = source.shape[axis]
    outside = (got < 0) | (got >= length)
    values = source.gather(axis, got.clamp(0, max(length - 1, 0)))
    reference = source.gather(axis, wanted)
    same = (values == reference) | (_is_nan(values) & _is_nan(reference))
    bad = outside | ~same | (_repeated(got, axis) & ~_repeated(wanted, axis))
    bad = bad.squeeze(axis) if squeezed else bad
    return Violations(over=bad, red=bad, classes=torch.zeros_like(bad), excess=bad.double())


def _is_nan(values: torch.Tensor) -> torch.Tensor:
    return torch.isnan(values) if values.is_floating_point() else torch.zeros_like(values, dtype=torch.bool)


def _repeated(indices: torch.Tensor, axis: int) -> torch.Tensor:
    """Whether an index stands earlier on its line as well."""
    ordered, order = indices.sort(dim=axis, stable=True)
    again = torch.zeros_like(ordered, dtype=torch.bool)
    if ordered.shape[axis] > 1:
        tail = ordered.narrow(axis, 1, ordered.shape[axis] - 1)
        again.narrow(axis, 1, tail.shape[axis]).copy_(tail == ordered.narrow(axis, 0, tail.shape[axis]))
    return torch.zeros_like(again).scatter(axis, order, again)


def infer_index_axis(indices: torch.Tensor, source: torch.Tensor) -> int | None:
    """The axis of `source` that `indices` point along, when their shapes leave exactly one choice."""
    if indices.ndim == source.ndim:
        different = [axis for axis in range(source.ndim) if indices.shape[axis] != source.shape[axis]]
        return different[0] if len(different) == 1 else None
    if indices.ndim == source.ndim - 1:
        fitting = [axis for axis in range(source.ndim) if _without(source.shape, axis) == tuple(indices.shape)]
        return fitting[0] if len(fitting) == 1 else None
    return None


def _without(shape: torch.Size, axis: int) -> tuple[int, ...]:
    return tuple(size for position, size in enumerate(shape) if position != axis)
