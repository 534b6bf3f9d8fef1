"""An output whose values all lie on the grid of a narrower format: it was stored, or computed, through that format.

Decides which format, and whether bits were cut off or rounded. Deliberately silent where the reference lies on that
grid as well, and where the error is larger than the format explains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import float_format, round_to
from opsdebug_ci.numerics.patterns.sample import Numbers, Sample, rms, sampled_finite, share, summing

GRIDS = ((3, "float8_e5m2"), (4, "float8_e4m3fn"), (8, "bfloat16"), (11, "float16 or tf32"), (24, "float32"))
"""Significand bits of the narrower formats, coarsest first: what lies on one grid lies on every finer one."""

ON_GRID = 0.99
"""Share of values on the grid; by chance 2**-(p_out - p) of them are, at most an eighth with SPARE bits."""

SPARE = 3
"""Bits the output's format must have beyond the grid's."""

SUPPORT = 24
"""Elements whose reference is off the grid that must be seen: all on it by chance has probability 8**-24."""

LARGEST_SHARE = 0.25
"""Largest rms error, as a share of the output, of a coarser grid however few its bits: beyond, values are others."""

EXPLAINED = 64.0
"""Largest rms error, in roundoffs of the grid times rms of the reference: a chain of roundings, not wrong values."""

ROUNDED_ONCE = 0.95
"""Share of values that are the reference rounded, or cut, to the grid: one step did it, at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """How the values lie on one grid."""

    bits: int
    """Significand bits."""

    name: str
    """Format, or formats, with so many."""

    elements: int
    """Elements whose reference lies off the grid."""

    on_grid: float
    """Share of them on the grid."""

    toward_zero: float
    """Share of them smaller in magnitude than their reference."""

    nearest: float
    """Share of them that are the reference rounded to nearest on the grid."""

    cut: float
    """Share of them that are the reference with the bits below the grid cut off."""


def coarse_grid(failure: Failure) -> Iterator[Clue]:
    """P(out = RN_p(out)) >= 0.99 over elements whose reference is off the grid of p bits, p the coarsest that fits.

    Cut towards zero: `wrong_rounding`. Rounded: a lower format in the middle, `low_precision_accum` where there is a
    sum, else `dtype_promotion`; the other one of the two follows. Silent about quantised outputs, about zeros, and
    where the rms error exceeds 64 roundings of the grid: those are other values, not coarser ones.
    """
    if not failure.actual.is_floating_point() or failure.kind in (Kind.QUANTIZE, Kind.INDEX):
        return
    precision = float_format(failure.actual.dtype).precision
    seen = sampled_finite(failure)
    for bits, name in GRIDS:
        if bits + SPARE > precision:
            return
        grid = _read(failure, seen, bits, name)
        if grid is not None:
            yield from _clues(failure, grid)
            return


def to_bits(values: torch.Tensor, bits: int, *, cut: bool = False) -> torch.Tensor:
    """Round float64 to `bits` significand bits, exponent unlimited: to nearest even, or cut towards zero.

    IEEE 754-2019, 4.3, without its range. NaN and infinities stay.
    """
    mantissa, exponent = torch.frexp(values)
    scaled = mantissa * 2.0**bits
    kept = torch.ldexp(scaled.trunc() if cut else scaled.round(), exponent - bits)
    return torch.where(torch.isfinite(values), kept, values)


def _read(failure: Failure, seen: Sample, bits: int, name: str) -> _Grid | None:
    stored = round_to(seen.expected, failure.actual.dtype)
    off = (to_bits(stored, bits) != stored) & (seen.actual != 0)
    if int(off.sum()) < SUPPORT or not bool((off & seen.bad).any()):
        return None
    actual, expected = seen.actual[off], seen.expected[off]
    on_grid = share(to_bits(actual, bits) == actual)
    if on_grid < ON_GRID or rms(actual - expected) > min(EXPLAINED * 2.0**-bits, LARGEST_SHARE) * rms(expected):
        return None
    nearest, cut = to_bits(expected, bits), to_bits(expected, bits, cut=True)
    telling = nearest != cut
    return _Grid(
        bits=bits,
        name="tf32" if bits == 11 and float(actual.abs().amax()) > FLOAT_FORMATS["float16"].max_finite else name,
        elements=int(off.sum()),
        on_grid=on_grid,
        toward_zero=share(actual.abs() < expected.abs()),
        nearest=share((actual == nearest)[telling]),
        cut=share((actual == cut)[telling]),
    )


def _clues(failure: Failure, grid: _Grid) -> Iterator[Clue]:
    evidence: Numbers = {
        "significand_bits": grid.bits,
        "elements": grid.elements,
        "on_grid": grid.on_grid,
        "toward_zero": grid.toward_zero,
        "rounded_to_nearest": grid.nearest,
        "cut_off": grid.cut,
    }
    lies = f"{100 * grid.on_grid:.4g} % of the values need only the {grid.bits} bits of {grid.name}, the reference more"
    if grid.cut >= ROUNDED_ONCE:
        statement = f"{lies}; they are the reference with the lower bits cut off, all towards zero"
        yield failure.clue("coarse_grid", Cause.WRONG_ROUNDING, 0.88, statement, evidence)
        yield failure.clue("coarse_grid", Cause.DTYPE_PROMOTION, 0.5, statement, evidence)
        return
    once = grid.nearest >= ROUNDED_ONCE
    how = "they are the reference rounded once" if once else "steps on the way were made in it too"
    first, second = Cause.DTYPE_PROMOTION, Cause.LOW_PRECISION_ACCUM
    if summing(failure):
        first, second = second, first
    yield failure.clue("coarse_grid", first, 0.85, f"{lies}; {how}", evidence)
    yield failure.clue("coarse_grid", second, 0.6, f"{lies}; {how}", evidence)
