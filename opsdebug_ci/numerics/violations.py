"""Which elements of an output lie beyond a bound around a reference.

Decides element by element, classes (NaN, +inf, -inf, finite) before any subtraction. Deliberately does not decide what
follows from it: that takes all references together (`comparison`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.bounds import Bound

MISROUNDED_CODES_SHARE = 0.01
"""Share of quantised codes that may be off by one: the scaled value lay on a rounding boundary."""

BLOCK = 1 << 17
"""Elements judged at a time: what is computed for them on the way stays in a cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """Per-element verdict against one reference; bool tensors shaped like the output, to be read only."""

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

    NaN matches NaN; an infinity matches itself. Where the reference lies beyond the overflow threshold of the output
    format by more than the worst case, only the infinity of its sign will do (in a format without infinities: its
    largest value, or NaN); within the worst case of that threshold either will.
    """
    shape = expected.shape
    sides = (actual, expected, bound.tolerance, bound.worst_case)
    blocks = zip(*(torch.split(side.detach().reshape(-1), BLOCK) for side in sides), strict=True)
    excess = torch.empty(expected.numel(), dtype=torch.float64, device=expected.device)
    spare = torch.empty(min(BLOCK, excess.numel()), dtype=torch.float64, device=expected.device)
    masks: list[torch.Tensor] = []
    for start, (a, y, tolerance, worst_case) in zip(range(0, excess.numel(), BLOCK), blocks, strict=False):
        share, got, here = excess[start : start + BLOCK], a.double(), _of_block(bound, tolerance, worst_case)
        if _all_green(got, y, here, output.max_finite, (share, spare[: share.numel()])):
            continue
        masks = masks or [torch.zeros_like(excess, dtype=torch.bool) for _ in range(3)]
        found = _judged(got, y, here, output)
        share.copy_(found.excess)
        for mask, block in zip(masks, (found.over, found.red, found.classes), strict=True):
            mask[start : start + BLOCK] = block
    masks = masks or [torch.zeros((), dtype=torch.bool, device=excess.device).expand(excess.shape)] * 3
    over, red, classes = (mask.reshape(shape) for mask in masks)
    return Violations(over=over, red=red, classes=classes, excess=excess.reshape(shape))


def _of_block(bound: Bound, tolerance: torch.Tensor, worst_case: torch.Tensor) -> Bound:
    return replace(bound, rounding=tolerance[:0], tolerance=tolerance, worst_case=worst_case)


def _all_green(
    got: torch.Tensor,
    expected: torch.Tensor,
    bound: Bound,
    largest: float,
    buffers: tuple[torch.Tensor, torch.Tensor],
) -> bool:
    """Whether a block is finite, within the format, and strictly within both bounds; its excess is then in `buffers`.

    Comparisons of minima and maxima, which NaN fails, instead of masks of elements. Says no where it is not sure, as
    where a tolerance is 0, unless both sides are the same finite numbers.
    """
    share, spare = buffers
    low, high = torch.aminmax(expected)
    if not (-largest <= low.item() and high.item() <= largest):
        return False
    error = torch.sub(got, expected, out=spare).abs_()
    if error.amax().item() == 0.0:
        share.zero_()
        accepted = bound.tolerance.amin().item() >= 0.0 and bound.worst_case.amin().item() >= 0.0
        return accepted and torch.equal(got.view(torch.int64), expected.view(torch.int64))
    least, most = torch.aminmax(torch.div(error, bound.tolerance, out=share))
    if bound.exact or not (least.item() >= 0.0 and most.item() < 1.0):
        return False
    return torch.sub(bound.worst_case, error, out=spare).amin().item() >= 0.0


def _judged(got: torch.Tensor, expected: torch.Tensor, bound: Bound, output: FloatFormat) -> Violations:
    """Element by element: the definition, for one block."""
    classes = _class_mismatch(got, expected, bound.worst_case, output)
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


def _class_mismatch(
    got: torch.Tensor, expected: torch.Tensor, worst_case: torch.Tensor, output: FloatFormat
) -> torch.Tensor:
    threshold = overflow_threshold(output)
    size = expected.abs()
    may_overflow = size + torch.nan_to_num(worst_case) >= threshold
    must_overflow = size - torch.nan_to_num(worst_case) >= threshold
    same_sign = torch.signbit(got) == torch.signbit(expected)
    if not output.has_infinity:
        # No infinity to give: the largest value, or NaN (OCP 8-bit floating point 1.0, section 5.2: both modes exist).
        saturated = torch.isnan(got) | (same_sign & (got.abs() == output.max_finite))
        beyond = torch.isnan(got) & may_overflow & ~torch.isnan(expected)
        return (torch.isnan(got) != torch.isnan(expected)) & ~beyond | torch.isinf(expected) & ~saturated
    wrong_nan = torch.isnan(got) != torch.isnan(expected)
    wrong_infinity = torch.isinf(got) & ~torch.isnan(expected) & ~(may_overflow & same_sign)
    held_back = torch.isfinite(got) & must_overflow
    return wrong_nan | wrong_infinity | held_back


def overflow_threshold(output: FloatFormat) -> float:
    """Where rounding to nearest overflows: largest finite value plus half its ulp (IEEE 754-2019, 4.3.1).

    Infinite for float64, in which nothing between the two can be written down.
    """
    half_ulp = math.ldexp(1.0, math.frexp(output.max_finite)[1] - 1 - output.precision)
    threshold = output.max_finite + half_ulp
    return threshold if threshold > output.max_finite else math.inf


def integer_violations(actual: torch.Tensor, expected: torch.Tensor, kind: Kind) -> Violations:
    """Compare integers or bools of one shape as integers; quantised codes may be off by one on a few boundaries."""
    got, wanted = actual.to(torch.int64), expected.to(torch.int64)
    over = got != wanted
    neighbours = ((got > wanted) & (got - 1 == wanted)) | ((got < wanted) & (got + 1 == wanted))
    red = over & ~neighbours if kind is Kind.QUANTIZE else over
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

    An index out of range, or one used twice where the reference uses none twice, is red. NaN equals NaN. Where the
    reference itself points nowhere (-1 for "none"), the same index is wanted. A single index into a tensor of more
    axes counts its elements in C order.
    """
    got, wanted = actual.to(torch.int64), expected.to(torch.int64)
    if got.ndim == 0 and source.ndim != 1:
        source, axis = source.flatten(), 0
    squeezed = got.ndim == source.ndim - 1
    if squeezed:
        got, wanted = got.unsqueeze(axis), wanted.unsqueeze(axis)
    values, inside = _pointed_at(got, source, axis)
    reference, somewhere = _pointed_at(wanted, source, axis)
    same = inside & somewhere & ((values == reference) | (_is_nan(values) & _is_nan(reference)))
    bad = ~(same | (got == wanted)) | (_repeated(got, axis) & ~_repeated(wanted, axis))
    bad = bad.squeeze(axis) if squeezed else bad
    return Violations(over=bad, red=bad, classes=torch.zeros_like(bad), excess=bad.double())


def _pointed_at(indices: torch.Tensor, source: torch.Tensor, axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Values at `indices` (any of them where an index is out of range), and which indices are in range."""
    length = source.shape[axis]
    if length == 0:
        return torch.zeros(indices.shape, dtype=source.dtype, device=source.device), torch.zeros_like(indices).bool()
    return source.gather(axis, indices.clamp(0, length - 1)), (indices >= 0) & (indices < length)


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
    """The axis of `source` that `indices` point along, when their shapes leave exactly one choice.

    A single index has no axis to choose: it counts the elements, and 0 stands for that.
    """
    if indices.ndim == 0:
        return 0
    if indices.ndim == source.ndim:
        different = [axis for axis in range(source.ndim) if indices.shape[axis] != source.shape[axis]]
        return different[0] if len(different) == 1 else None
    if indices.ndim == source.ndim - 1:
        fitting = [axis for axis in range(source.ndim) if _without(source.shape, axis) == tuple(indices.shape)]
        return fitting[0] if len(fitting) == 1 else None
    return None


def _without(shape: torch.Size, axis: int) -> tuple[int, ...]:
    return tuple(size for position, size in enumerate(shape) if position != axis)
