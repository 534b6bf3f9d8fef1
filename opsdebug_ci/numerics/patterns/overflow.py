"""Infinities and NaN that come from a range left on the way: of float16, of exp, of a sum of squares; and lost ones.

Decides which range by where they are. Deliberately silent about NaN that came from NaN (`nan_policy`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format, round_to
from opsdebug_ci.numerics.patterns.sample import Numbers, Sample, aligned, aligned_at, sampled, summing

HALF_MAX = FLOAT_FORMATS["float16"].max_finite
"""Largest finite float16."""

EXP_LIMITS = (("float16", 10.9, 11.2), ("float32", 88.0, 89.5), ("float64", 709.0, 710.5))
"""exp overflows beyond log(max): 11.09, 88.72, 709.78; the range admits the gap between the two values around it."""

SUPPORT = 2
"""Elements of a wrong class needed on one side of a limit."""


def overflow(failure: Failure) -> Iterator[Clue]:
    """Where finite numbers became infinite, NaN or 0, and which limit separates those elements from the others.

    |reference| > 65504 in a wider output: float16 on the way. An argument, or its row's maximum, beyond log(max) of a
    format: exp without its maximum subtracted. Rows of zeros where the row's sum of squares is beyond the maximum:
    1 / sqrt(inf). Zeros where the reference is subnormal: flushed.
    """
    if not failure.actual.is_floating_point() or failure.kind in (Kind.INDEX, Kind.QUANTIZE):
        return
    seen = sampled(failure)
    finite = torch.isfinite(round_to(seen.expected, failure.actual.dtype))
    blown = finite & ~torch.isfinite(seen.actual)
    if int(blown.sum()) >= SUPPORT:
        found = list(_half(failure, seen, finite, blown)) or list(_exp(failure, seen, finite, blown))
        yield from found or list(_threshold(failure, seen, finite, blown))
    yield from _zero_rows(failure)
    yield from _flushed(failure)


def _half(failure: Failure, seen: Sample, finite: torch.Tensor, blown: torch.Tensor) -> Iterator[Clue]:
    beyond = finite & (seen.expected.abs() > HALF_MAX)
    if float_format(failure.actual.dtype).max_finite <= HALF_MAX or not torch.equal(beyond, blown):
        return
    first, second = Cause.DTYPE_PROMOTION, Cause.LOW_PRECISION_ACCUM
    if summing(failure):
        first, second = second, first
    largest = float(seen.actual[torch.isfinite(seen.actual)].abs().max()) if bool(finite.any()) else 0.0
    statement = (
        f"infinite or NaN exactly where the reference is beyond {HALF_MAX:g}, the largest float16 "
        f"({int(blown.sum()):,} elements): float16 was used on the way"
    )
    evidence: Numbers = {"elements": int(blown.sum()), "limit": HALF_MAX, "largest_finite": largest}
    yield failure.clue("overflow", first, 0.93, statement, evidence)
    yield failure.clue("overflow", second, 0.6, statement, evidence)


def _exp(failure: Failure, seen: Sample, finite: torch.Tensor, blown: torch.Tensor) -> Iterator[Clue]:
    for name, x in _candidates(failure, seen):
        limit = _separates(x, finite, blown)
        if limit is None:
            continue
        below, above = limit
        for kept, low, high in sorted(EXP_LIMITS, key=lambda known: known[0] != failure.compute.name):
            if below <= high and above >= low:
                end = math.log(FLOAT_FORMATS[kept].max_finite)
                early = above < end and "row" not in name  # of a row, sums of exponentials overflow before one does
                why = f"{kept} holds exp up to {end:.4g}: it ends too early" if early else ""
                statement = (
                    f"infinite or NaN where {name} is {above:.4g} or more ({int(blown.sum()):,} elements), finite up "
                    f"to {below:.4g}: {why or f'exp overflows {kept} above {end:.4g}'}"
                )
                evidence: Numbers = {
                    "elements": int(blown.sum()),
                    "last_finite": below,
                    "first_wrong": above,
                    "format": kept,
                }
                yield failure.clue("overflow", Cause.NAN_INF_HANDLING, 0.93, statement, evidence)
                return


def _threshold(failure: Failure, seen: Sample, finite: torch.Tensor, blown: torch.Tensor) -> Iterator[Clue]:
    """Any other limit of an argument's magnitude."""
    for name, x in _candidates(failure, seen):
        limit = _separates(x.abs(), finite, blown)
        if limit is not None and int((finite & ~blown).sum()) >= SUPPORT:
            statement = (
                f"infinite or NaN exactly where |{name}| is at least {limit[1]:.4g} ({int(blown.sum()):,} elements), "
                "where the reference is finite"
            )
            evidence: Numbers = {"elements": int(blown.sum()), "last_finite": limit[0], "first_wrong": limit[1]}
            yield failure.clue("overflow", Cause.NAN_INF_HANDLING, 0.91, statement, evidence)
            return


def _candidates(failure: Failure, seen: Sample) -> Iterator[tuple[str, torch.Tensor]]:
    """Every floating argument of the output's shape there, and the largest of its row."""
    for name, x in aligned_at(failure, seen.places).items():
        yield f"`{name}`", x
    for name, value in failure.tensors.items():
        rows = _row_values(failure, value)
        if rows is not None:
            yield f"the row maximum of `{name}`", rows.amax(-1)[_rows_of(failure, rows, seen.places)]


def _row_values(failure: Failure, value: torch.Tensor) -> torch.Tensor | None:
    """An argument as rows x columns, float64, where the output has the same rows; None otherwise."""
    shape = failure.actual.shape
    if not value.is_floating_point() or value.ndim < 1 or value.numel() == 0:
        return None
    fits = (
        value.shape == shape
        or value.shape[:-1] == shape
        or (value.ndim == len(shape) and value.shape[:-1] == shape[:-1])
    )
    return value.detach().double().reshape(-1, value.shape[-1]) if fits else None


def _rows_of(failure: Failure, rows: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The row each flat position of the output belongs to."""
    return places // max(1, failure.actual.numel() // rows.shape[0])


def _separates(x: torch.Tensor, finite: torch.Tensor, blown: torch.Tensor) -> tuple[float, float] | None:
    """Largest x of the finite elements and smallest of the blown ones, if the former is smaller."""
    kept = finite & ~blown & ~torch.isnan(x)
    if not bool(kept.any()) or bool(torch.isnan(x[blown]).any()):
        return None
    below, above = float(x[kept].max()), float(x[blown].min())
    return (below, above) if below < above else None


def _zero_rows(failure: Failure) -> Iterator[Clue]:
    if failure.actual.ndim < 1 or failure.actual.shape[-1] < 2:
        return
    actual = failure.actual.detach().reshape(-1, failure.actual.shape[-1]).double()
    expected = failure.expected.detach().reshape(actual.shape)
    zero = (actual == 0).all(-1) & (expected.abs() > 0).any(-1)
    if not bool(zero.any()) or bool(zero.all()):
        return
    for name, value in aligned(failure).items():
        if value.shape != failure.actual.shape or not value.is_floating_point():
            continue
        squares = value.double().reshape(actual.shape).square().sum(-1)
        for kept in ("float32", "float16"):
            limit = FLOAT_FORMATS[kept].max_finite
            if torch.equal(zero, squares > limit):
                cause = Cause.LOW_PRECISION_ACCUM if kept == "float16" else Cause.NAN_INF_HANDLING
                statement = (
                    f"{int(zero.sum()):,} rows are all zero, exactly those whose squares of `{name}` add up to more "
                    f"than {limit:.4g}: the sum overflowed {kept}, and 1 / sqrt(inf) is 0"
                )
                yield failure.clue("overflow", cause, 0.92, statement, {"rows": int(zero.sum()), "limit": limit})
                return


def _flushed(failure: Failure) -> Iterator[Clue]:
    """All wrong elements are zero where the reference is subnormal in the output's format or a narrower one."""
    seen = sampled(failure, failure.bad)
    size = seen.expected.abs()
    if not bool(((seen.actual == 0) & (size > 0)).all()) or len(seen) < SUPPORT:
        return
    limit = float_format(failure.actual.dtype).min_normal
    if bool((size < limit).all()):
        statement = (
            f"all {int(failure.bad.sum()):,} wrong elements are zero where the reference is below {limit:.4g}: flushed"
        )
        evidence: Numbers = {"elements": int(failure.bad.sum()), "limit": limit, "largest": float(size.max())}
        yield failure.clue("overflow", Cause.DENORMAL_SIGNED_ZERO, 0.92, statement, evidence)
