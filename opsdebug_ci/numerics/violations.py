"""Which elements of an output lie beyond a bound around a reference.

Decides element by element, classes (NaN, +inf, -inf, finite) before any subtraction. Deliberately does not decide what
follows from it: that takes all references together (`comparison`).
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.dtype import FloatFormat
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.blocks import Blocks, Reorder, Work
from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.formats import signed_bits, widened
from opsdebug_ci.numerics.places import array_of, places_of
from opsdebug_ci.numerics.worst import Worst

MISROUNDED_CODES_SHARE = 0.01
"""Share of quantised codes that may be off by one: the scaled value lay on a rounding boundary."""

_SURELY_BELOW = 1.0 - 2.0**-40
"""What is within this share of a bound is strictly within it, whatever a product rounds to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """Per-element verdict against one reference; bool tensors shaped like the output, to be read only."""

    over: torch.Tensor
    """Beyond the green bound, or of the wrong class."""

    red: torch.Tensor
    """Beyond the worst case, or of the wrong class."""

    classes: torch.Tensor
    """Of the wrong class."""

    worst: int | None
    """Place, in C order, of the first element of a wrong class, else of the first with the largest |actual - expected|
    in tolerances (one that cannot be told, such as NaN, before all); None where there are no elements."""


def float_violations(actual: torch.Tensor, expected: torch.Tensor, bound: Bound, output: FloatFormat) -> Violations:
    """Compare a floating output with `expected` (same shape; float64, or a float dtype it holds exactly).

    NaN matches NaN; an infinity matches itself. Where the reference lies beyond the overflow threshold of the output
    format by more than the worst case, only the infinity of its sign will do (in a format without infinities: its
    largest value, or NaN); within the worst case of that threshold either will.
    """
    blocks = Blocks(actual, expected, bound.tolerance, bound.worst_case, any_order=True)
    masks = _Masks(expected, blocks.in_c_order)
    worst = Worst(blocks.in_c_order)

    def worker() -> Work[None]:
        buffers = torch.empty(3, blocks.length, dtype=torch.float64, device=expected.device)

        def work(start: int, sides: tuple[torch.Tensor, ...]) -> None:
            a, y, tolerance, worst_case = sides
            wide, error, excess = buffers[:, : a.numel()]
            got, wanted, here = widened(a, wide), widened(y), _of_block(bound, tolerance, worst_case)
            torch.sub(got, wanted, out=error).abs_()
            if not _all_green(got, wanted, error, here, output.max_finite, worst.value, excess):
                places = _doubtful(got, wanted, error, here, output.max_finite, excess)
                few = _of_block(bound, tolerance[places], worst_case[places])
                *judged, excess[places] = _judged(got[places], wanted[places], few, output)
                masks.note(start + places, judged)
                worst.note(excess, start)

        return work

    blocks.each(worker)
    over, red, classes = masks.found()
    first = 0 if blocks.elements else None
    return Violations(over=over, red=red, classes=classes, worst=worst.position if worst.value else first)


class _Masks:
    """Over, red and classes, each of which takes memory only once an element of it is True; threads may share it."""

    def __init__(self, like: torch.Tensor, in_c_order: Reorder | None) -> None:
        self._in_c_order = in_c_order
        self._shape, self._device = like.shape, like.device
        self._lock = threading.Lock()
        self._masks: list[torch.Tensor | None] = [None, None, None]

    def note(self, positions: torch.Tensor, judged: list[torch.Tensor]) -> None:
        """Take what was judged of the elements at flat `positions`."""
        if self._in_c_order is not None:
            positions = self._in_c_order(positions)
        for number, mask in enumerate(judged):
            if bool(mask.any()):
                self._whole(number)[positions[mask]] = True

    def found(self) -> list[torch.Tensor]:
        """bool tensors of the whole shape, to be read only."""
        nothing = torch.zeros((), dtype=torch.bool, device=self._device).expand(self._shape)
        return [nothing if mask is None else mask.view(self._shape) for mask in self._masks]

    def _whole(self, number: int) -> torch.Tensor:
        with self._lock:
            mask = self._masks[number]
            if mask is None:
                mask = torch.zeros(self._shape.numel(), dtype=torch.bool, device=self._device)
                self._masks[number] = mask
            return mask


def _of_block(bound: Bound, tolerance: torch.Tensor, worst_case: torch.Tensor) -> Bound:
    return replace(bound, rounding=tolerance[:0], tolerance=tolerance, worst_case=worst_case)


def _all_green(
    got: torch.Tensor,
    expected: torch.Tensor,
    error: torch.Tensor,
    bound: Bound,
    largest: float,
    worst: float | None,
    spare: torch.Tensor,
) -> bool:
    """Whether a block is finite, within the format, strictly within both bounds, and nowhere as bad as `worst` so far.

    Says no where it is not sure, and divides nothing: e < worst * tolerance is e / tolerance < worst. Where nothing was
    off yet, or bits must agree, that takes the same finite numbers on both sides. NaN fails every comparison.
    """
    y, e, tolerance, worst_case = (
        array_of(side.detach()) for side in (expected, error, bound.tolerance, bound.worst_case)
    )
    if worst is None or not (-largest <= y.min() and y.max() <= largest):
        return False
    if bound.exact or worst == 0.0:
        accepted = bool(e.max() == 0.0 and tolerance.min() >= 0.0 and worst_case.min() >= 0.0)
        return accepted and torch.equal(got.view(torch.int64), expected.view(torch.int64))
    share = _SURELY_BELOW * (worst if worst < 1.0 else 1.0)
    torch.sub(error, bound.tolerance, alpha=share, out=spare)
    return bool(array_of(spare).max() <= 0.0 and (worst_case >= e).all())


def _doubtful(
    got: torch.Tensor, expected: torch.Tensor, error: torch.Tensor, bound: Bound, largest: float, share: torch.Tensor
) -> torch.Tensor:
    """Where a block has to be judged by the definition; elsewhere it is green, and its excess then in `share`."""
    torch.div(error, bound.tolerance, out=share).masked_fill_(error == 0, 0.0)
    sides = expected, bound.tolerance, bound.worst_case, error, share
    y, tolerance, worst_case, e, s = (array_of(side.detach()) for side in sides)
    green = (y >= -largest) & (y <= largest) & (tolerance >= 0) & (worst_case >= e) & (s < 1.0)
    if bound.exact:
        green &= array_of(signed_bits(got)) == array_of(signed_bits(expected))
    return places_of(~green)


def _judged(
    got: torch.Tensor, expected: torch.Tensor, bound: Bound, output: FloatFormat
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The definition, element by element, for one block: over, red, classes, and the excess, infinite for classes."""
    classes = _class_mismatch(got, expected, bound.worst_case, output)
    finite = torch.isfinite(got) & torch.isfinite(expected)
    reachable = expected.clamp(-output.max_finite, output.max_finite)
    error = torch.where(finite, (got - reachable).abs(), torch.zeros_like(expected))
    if bound.exact:
        classes = classes | ((got == 0) & (expected == 0) & (torch.signbit(got) != torch.signbit(expected)))
    over = classes | (finite & ~(error <= bound.tolerance))
    red = classes | (finite & ~(error <= bound.worst_case))
    excess = torch.where(error > 0, error / bound.tolerance, torch.zeros_like(error))
    return over, red, classes, excess.masked_fill_(classes, math.inf)


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
        wrong_nan = (torch.isnan(got) != torch.isnan(expected)) & ~beyond
        return wrong_nan | (torch.isinf(expected) | must_overflow) & ~saturated
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
    found = Violations(over=over, red=red, classes=torch.zeros_like(over), worst=_first(over))
    return strict_codes(found) if kind is Kind.QUANTIZE else found


def _first(wrong: torch.Tensor) -> int | None:
    """The first element that is wrong, else the first; None where there are none."""
    return int(wrong.flatten().to(torch.uint8).argmax()) if wrong.numel() else None


def strict_codes(found: Violations) -> Violations:
    """Quantised codes off by one are red after all when more than MISROUNDED_CODES_SHARE of them are."""
    rare = int(found.over.sum()) <= MISROUNDED_CODES_SHARE * found.over.numel()
    return found if rare else replace(found, red=found.over)


def index_violations(
    actual: torch.Tensor,
    expected: torch.Tensor,
    source: torch.Tensor,
    axis: int | None,
    allowed: torch.Tensor | None = None,
) -> Violations:
    """Compare indices by the values they point at: ties may be broken either way.

    Args:
        actual: indices into `source` along `axis`; shaped like `source` with another length there, or without it.
        expected: the reference's indices, same shape.
        source: the values pointed into.
        axis: axis of `source`; None counts its elements in C order.
        allowed: how far each of them may be off, where they are computed; equal ones only without.

    An index out of range, or one used twice where the reference uses none twice, is red. NaN equals NaN. Where the
    reference itself points nowhere (-1 for "none"), the same index is wanted. A single index into a tensor of more
    axes counts its elements in C order.
    """
    got, wanted = actual.to(torch.int64), expected.to(torch.int64)
    if source.is_floating_point():
        source = source.double()  # torch does not gather 8-bit floats
    if axis is None or (got.ndim == 0 and source.ndim != 1):
        source, axis = source.flatten(), 0
        allowed = None if allowed is None else allowed.flatten()
    squeezed = got.ndim == source.ndim - 1
    if squeezed:
        got, wanted = got.unsqueeze(axis), wanted.unsqueeze(axis)
    values, inside = _pointed_at(got, source, axis)
    reference, somewhere = _pointed_at(wanted, source, axis)
    close = values == reference
    if allowed is not None:
        near = _pointed_at(got, allowed, axis)[0] + _pointed_at(wanted, allowed, axis)[0]
        close = close | ((values - reference).abs() <= near)
    same = inside & somewhere & (close | (_is_nan(values) & _is_nan(reference)))
    bad = ~(same | (got == wanted)) | (_repeated(got, axis) & ~_repeated(wanted, axis))
    bad = bad.squeeze(axis) if squeezed else bad
    return Violations(over=bad, red=bad, classes=torch.zeros_like(bad), worst=_first(bad))


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
