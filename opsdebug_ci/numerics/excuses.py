"""What excuses an element that a reference rejects: an evaluation as right as the reference shows the same.

Decides which evaluations those are. Each is asked only while red elements are left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.mp import sample_indices
from opsdebug_ci.numerics.violations import Violations, float_violations

FRAMEWORK_ERRORS = 2.0
"""Times the framework's own error that an operator may be off where the framework is beyond the bounds itself: two
roundings of one sign for one."""

TRUE_ELEMENTS = 256
"""Red elements whose true value is asked for. Where all of so many are accepted, no more than 1.2 % of the others are
wrong, at 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An output beside the reference that is used, with elements it rejects."""

    output: ComparedOutput
    """The output and all its references."""

    expected: torch.Tensor
    """The reference."""

    native: torch.Tensor | None
    """What the framework answers in the operator's dtype."""

    formula: torch.Tensor | None
    """The same where the reference was derived from it; None: it was not."""

    bound: Bound | None
    """Around the reference; None for integers."""

    beyond: torch.Tensor
    """bool: beyond the worst case."""

    found: Violations
    """Those, and elements that are misrounded too often."""

    violated: Callable[[torch.Tensor], Violations]
    """The same against another answer."""


def excused(judged: Judged) -> torch.Tensor:
    """Red elements that an evaluation as right as the reference shows too, or where no evaluation is specified.

    (1) The framework at the operator's precision, from whose formula the reference is derived. (2) The true value,
    where the framework's function is off. (3) A zero of the other sign among equal ones. (4) Decisions at the
    border taken the other way. (5) Answers beyond the range of the steps' precision. (6) Answers that do not
    depend on what is not finite, and limits. Cheap ones first; each is asked only while red elements are left.
    """
    forgiven = torch.zeros_like(judged.found.red)
    for accepted in (_as_framework, _in_truth, _other_zero, _as_decided, _out_of_range, _special):
        if bool((judged.found.red & ~forgiven).any()):
            forgiven = forgiven | (judged.found.red & accepted(judged))
    return forgiven


def _as_framework(judged: Judged) -> torch.Tensor:
    """What the framework answers at this precision; where that is itself beyond the bounds, what is no more than
    FRAMEWORK_ERRORS times as far from the truth."""
    native, found = judged.formula, judged.found
    if native is None:
        return torch.zeros_like(found.red)
    actual, beyond = judged.output.actual.double(), judged.beyond
    own = float_violations(native, judged.expected, judged.bound, float_format(judged.output.actual.dtype)).red \
        if judged.bound is not None else torch.zeros_like(beyond)  # fmt: skip
    error, theirs = (actual - judged.expected).abs(), (native - judged.expected).abs()
    as_bad = own & torch.isfinite(judged.expected) & ~(error > FRAMEWORK_ERRORS * theirs)
    accepted = beyond & (~judged.violated(native).red | as_bad)
    return accepted | (found.red & ~beyond & (native == actual))  # misrounded only where it is just the same


def _in_truth(judged: Judged) -> torch.Tensor:
    """What the true values accept. Of many red elements a sample stands for all where all of it is accepted."""
    red = judged.found.red.flatten()
    places = red.nonzero().flatten()
    some = places[sample_indices(places.numel(), TRUE_ELEMENTS, 0).to(places.device)]
    truth = judged.output.truth(some)
    accepted = torch.zeros_like(red)
    if truth is not None and judged.bound is not None:
        right = judged.expected.flatten().clone()
        right[some] = truth.to(right.device)
        right_there = ~judged.violated(right.reshape(judged.expected.shape)).red.flatten()[some]
        accepted[places if bool(right_there.all()) else some[right_there]] = True
    return accepted.reshape(judged.found.red.shape)


def _other_zero(judged: Judged) -> torch.Tensor:
    """The zero of the other sign, where the reference chose among zeros."""
    source, actual, expected = judged.output.evaluate(), judged.output.actual, judged.expected
    zeros = (actual == 0) & (expected == 0) & judged.found.red
    if source is None or not actual.is_floating_point() or not bool(zeros.any()):
        return torch.zeros_like(zeros)
    return zeros & source.either_zero(judged.output.position).to(zeros.device)


def _as_decided(judged: Judged) -> torch.Tensor:
    """Between the answers of either side, or what follows from the operator's own valid choice."""
    source, position = judged.output.evaluate(), judged.output.position
    accepted = torch.zeros_like(judged.found.red)
    if source is None:
        return accepted
    sides = source.either_side(position)
    if sides is not None and sides[0].shape == accepted.shape:
        low, high = (comparable(side, judged.output.actual) for side in sides)
        actual = judged.output.actual.to(low.dtype)
        if judged.bound is None:
            accepted = (actual >= low) & (actual <= high)
        else:
            beyond = judged.bound.worst_case
            accepted = (low != high) & (actual >= low - beyond) & (actual <= high + beyond)
    chosen = source.conditioned(position)
    if chosen is not None and chosen.shape == accepted.shape:
        accepted = accepted | ~judged.violated(comparable(chosen, judged.output.actual)).red
    return accepted


def _out_of_range(judged: Judged) -> torch.Tensor:
    """Where a step leaves the normal range of the working precision: beyond it anything may come, below it what
    flushing to zero explains. In another order of the products one may be as large as the arguments together.

    A result that is subnormal itself, on values that somebody chose, is kept where the framework keeps it."""
    source, bound, expected = judged.output.evaluate(), judged.bound, judged.expected
    none = torch.zeros_like(judged.found.red)
    if source is None or bound is None or bound.exact:
        return none
    position, smallest = judged.output.position, judged.output.arithmetic.compute.min_normal
    ranged = comparable(source.in_range(position), judged.output.actual)
    if ranged.shape != none.shape:
        return none
    lost = torch.isfinite(expected) & ~torch.isfinite(ranged)
    if _largest_product(judged) > judged.output.arithmetic.compute.max_finite:
        lost = lost | (torch.isfinite(expected) & ~torch.isfinite(judged.output.actual))
    free = ranged != expected
    native = judged.native
    if judged.output.own_values and native is not None:
        free = free & ~(source.flushed_last(position).to(free.device) & (native != 0))
    error = (judged.output.actual.double() - expected).abs()

    flushed = 2.0 * ((ranged - expected).abs() + smallest)
    accepted = lost | (free & (error <= bound.worst_case + flushed))
    if not judged.output.own_values and bool((judged.found.red & ~accepted).any()) and _any_below(judged, smallest):
        moved = comparable(source.of_lost_digits(position), judged.output.actual)
        accepted = accepted | (torch.isfinite(expected) & (moved > 0) & (error <= bound.worst_case + 2.0 * moved))
    return accepted


def _any_below(judged: Judged, smallest: float) -> bool:
    """Some floating argument holds a number that is smaller, and not zero."""
    floats = [value for value in judged.output.arguments.values() if isinstance(value, torch.Tensor)]
    sizes = [value.double().abs() for value in floats if value.layout is torch.strided and value.is_floating_point()]
    return any(bool(((size > 0) & (size < smallest)).any()) for size in sizes)


def _largest_product(judged: Judged) -> float:
    """Of one element of each floating argument."""
    product = 1.0
    for value in judged.output.arguments.values():
        dense = isinstance(value, torch.Tensor) and value.layout is torch.strided
        if dense and value.is_floating_point() and value.numel():
            finite = torch.nan_to_num(value.double(), nan=0.0, posinf=0.0, neginf=0.0)
            product *= max(1.0, float(finite.abs().max()))
    return product


def _special(judged: Judged) -> torch.Tensor:
    """Elements of a wrong class that no special value of the arguments needs to reach, or whose limit is given."""
    source, position, found = judged.output.evaluate(), judged.output.position, judged.found
    none = torch.zeros_like(found.red)
    if source is None or judged.bound is None or not bool(found.classes.any()):
        return none
    accepted = torch.isnan(judged.output.actual) & source.touched_by_special(position)
    answer = source.beyond_special(position)
    accepted = accepted | (~torch.isnan(answer) & ~judged.violated(comparable(answer, judged.output.actual)).red)
    return accepted & found.classes


def comparable(reference: torch.Tensor, actual: torch.Tensor) -> torch.Tensor:
    """float64 for a floating comparison; integers stay integers where both are."""
    if reference.is_floating_point() or actual.is_floating_point():
        return reference.to(actual.device).double()
    return reference.to(actual.device, torch.int64)
