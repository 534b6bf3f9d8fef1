"""Integers that went through a type of another width, or through a float: wrapped, not wrapped, clipped, rounded, cut.

Decides which arithmetic explains every wrong element exactly. Deliberately asks no operator again.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import dtype_name, is_finite
from opsdebug_ci.numerics.patterns.sample import MOST, Numbers

WIDTHS = (8, 16, 32)
"""Widths integers wrap around at, smallest first."""

SUPPORT = 3
"""Wrong elements needed: differences at random are all multiples of 2**8 with probability 2**-24."""

FLOATS = (torch.bfloat16, torch.float16, torch.float32)
"""Floats integers are computed in by mistake, coarsest first."""

CLIPS = (torch.int8, torch.uint8, torch.int16, torch.int32)
"""Integers whose range values are clipped to by mistake."""

LEAST_BITS = 16
"""Evidence: a value is by chance what another is modulo 2**b with probability 2**-b."""

CUT = 0.95
"""Share of wrong elements that must be whole numbers where the reference is not."""

EXACT_LIMIT = 2.0**53
"""Whole numbers in float64 are exact below this."""


def integer_width(failure: Failure) -> Iterator[Clue]:
    """Every wrong element equals the reference modulo 2**8, 2**16 or 2**32; or rounded to a float format; or clipped.

    Whole numbers are asked for on both sides, whatever the dtype. Then: wrong elements that are whole numbers where the
    reference is not, from integer arguments (a limit or a quotient cut to an integer). Silent about indices, codes and
    floating arguments: there such values have other reasons.
    """
    if failure.kind in (Kind.INDEX, Kind.QUANTIZE):
        return
    actual, expected = _wrong(failure)
    if actual.numel() == 0 or failure.actual.dtype == torch.bool:
        return
    if not _whole(expected):
        yield from _cut(failure, actual, expected)
    elif _whole(actual) and actual.numel() >= SUPPORT:
        got, wanted = actual.to(torch.int64), expected.to(torch.int64)
        yield from _wrapped(failure, got, wanted) or _rounded(failure, got, wanted)


def _wrong(failure: Failure) -> tuple[torch.Tensor, torch.Tensor]:
    """The first MOST wrong elements that are finite, and their reference."""
    places = failure.bad.reshape(-1).nonzero().flatten()[:MOST]
    actual = failure.actual.detach().reshape(-1)[places]
    expected = failure.expected.detach().reshape(-1)[places]
    if actual.dtype.is_floating_point:
        finite = is_finite(actual) & torch.isfinite(expected)
        actual, expected = actual[finite].double(), expected[finite]
    return actual, expected


def _whole(values: torch.Tensor) -> bool:
    if not values.dtype.is_floating_point:
        return True
    return bool(((values == values.round()) & (values.abs() < EXACT_LIMIT)).all())


def _wrapped(failure: Failure, got: torch.Tensor, wanted: torch.Tensor) -> list[Clue]:
    for bits in WIDTHS:
        if bool((((got - wanted) & ((1 << bits) - 1)) != 0).any()):
            continue
        lost = _fits(got, bits) and not _fits(wanted, bits)
        if not lost and not (_fits(wanted, bits) and not _fits(got, bits)):
            continue
        if bits * len(torch.unique(wanted)) < LEAST_BITS:
            continue
        how = f"wrapped around at {bits} bits" if lost else f"not wrapped around at {bits} bits, as the reference is"
        statement = f"all {got.numel():,} wrong elements equal the reference modulo 2**{bits}: {how}"
        evidence: Numbers = {"elements": got.numel(), "bits": bits, "wrapped": lost}
        return [failure.clue("integer_width", Cause.DTYPE_PROMOTION, 0.92, statement, evidence)]
    return []


def _rounded(failure: Failure, got: torch.Tensor, wanted: torch.Tensor) -> list[Clue]:
    """Rounded to a float format, or clipped to an integer one."""
    if not any(value.is_floating_point() for value in failure.tensors.values()):
        for dtype in FLOATS:
            if torch.equal(wanted.to(dtype).to(torch.float64), got.to(torch.float64)):
                return [_exactly(failure, got, "rounded to", dtype, 0.92)]
    for dtype in CLIPS:
        limits = torch.iinfo(dtype)
        if torch.equal(wanted.clamp(limits.min, limits.max), got) and not torch.equal(wanted, got):
            return [_exactly(failure, got, "clipped to", dtype, 0.85)]
    return _imprecise(failure, got, wanted)


def _exactly(failure: Failure, got: torch.Tensor, how: str, dtype: torch.dtype, confidence: float) -> Clue:
    name = dtype_name(dtype)
    statement = f"all {got.numel():,} wrong elements are the reference {how} {name}"
    evidence: Numbers = {"elements": got.numel(), "format": name}
    return failure.clue("integer_width", Cause.DTYPE_PROMOTION, confidence, statement, evidence)


def _imprecise(failure: Failure, got: torch.Tensor, wanted: torch.Tensor) -> list[Clue]:
    """On the float32 grid beyond 2**24, and close: summed in float32."""
    beyond = wanted.abs() > 1 << 24
    on_grid = torch.equal(got.to(torch.float32).to(torch.float64), got.to(torch.float64))
    close = bool(((got - wanted).abs().double() <= 1e-4 * wanted.abs().double()).all())
    odd = bool((wanted.to(torch.float32).to(torch.float64) != wanted.to(torch.float64)).any())
    if not (bool(beyond.all()) and on_grid and close and odd):
        return []
    statement = (
        f"all {got.numel():,} wrong elements lie beyond 2**24, on float32's grid, near the reference: integers were "
        "computed in float32"
    )
    return [failure.clue("integer_width", Cause.DTYPE_PROMOTION, 0.85, statement, {"elements": got.numel()})]


def _cut(failure: Failure, actual: torch.Tensor, expected: torch.Tensor) -> Iterator[Clue]:
    integral = [value for value in failure.tensors.values() if not value.is_floating_point()]
    fractional = expected != expected.round()
    whole = (actual == actual.round()) & fractional & ((actual - expected).abs() <= 1)
    matching = float(whole.double().mean())
    if not integral or len(integral) < len(failure.tensors) or matching < CUT:
        return
    statement = (
        f"{100 * matching:.4g} % of the wrong elements are whole numbers within 1 of a reference that is not whole: "
        "a step was made in integers"
    )
    evidence: Numbers = {"elements": actual.numel(), "whole": matching}
    yield failure.clue("integer_width", Cause.DTYPE_PROMOTION, 0.88, statement, evidence)


def _fits(values: torch.Tensor, bits: int) -> bool:
    """Whether all values fit a signed or an unsigned integer of so many bits."""
    low, high = int(values.min()), int(values.max())
    return (low >= 0 and high < 1 << bits) or (low >= -(1 << (bits - 1)) and high < 1 << (bits - 1))
