"""A slow, obvious judge: numbers as exact fractions, one element at a time, by the rules of docs/tolerance.md.

Numbers are decoded from their bit patterns here, and bounds computed from the formats' own parameters, so that nothing
is taken from the code under test. Deliberately knows no spread: it judges operators whose references are constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch

EDGE = Fraction(1, 2**48)
"""Relative width of the strip around a bound in which float64, in which bounds are computed, cannot tell the sides."""

CODES_OFF = Fraction(1, 100)
"""Share of the codes of a quantised output that may be one off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A binary interchange format."""

    name: str
    """Framework spelling."""

    bits: int
    """Width."""

    fraction: int
    """Bits after the point."""

    infinite: bool = True
    """False: the all-ones exponent holds numbers too, but for its last pattern (OCP 8-bit E4M3)."""

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.name)

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def bias(self) -> int:
        return (1 << (self.bits - 2 - self.fraction)) - 1

    @property
    def infinity(self) -> int:
        """Pattern of +inf; in a format without one, of the NaN that takes its place."""
        all_ones = self.sign - 1
        return all_ones - (1 << self.fraction) + 1 if self.infinite else all_ones

    @property
    def unit(self) -> Fraction:
        """u: largest relative error of rounding to nearest."""
        return Fraction(1, 2 ** (self.fraction + 1))

    @property
    def least(self) -> Fraction:
        """Smallest positive number."""
        return Fraction(2) ** (1 - self.bias - self.fraction)

    @property
    def largest(self) -> Fraction:
        """Largest finite number."""
        return decoded(self.infinity - 1, self).value

    @property
    def threshold(self) -> Fraction | None:
        """From here on rounding to nearest overflows; None for float64, in which references are written."""
        if self.name == "float64":
            return None
        step = self.largest - decoded(self.infinity - 2, self).value
        return self.largest + step / 2


FORMATS = {
    f.name: f
    for f in (
        Format(name="float64", bits=64, fraction=52),
        Format(name="float32", bits=32, fraction=23),
        Format(name="float16", bits=16, fraction=10),
        Format(name="bfloat16", bits=16, fraction=7),
        Format(name="float8_e5m2", bits=8, fraction=2),
        Format(name="float8_e4m3fn", bits=8, fraction=3, infinite=False),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One element: a NaN, an infinity or a number, with its sign."""

    negative: bool
    """Its sign bit, which zeros have too."""

    value: Fraction = Fraction(0)
    """The number, sign included."""

    nan: bool = False
    """Not a number."""

    infinite: bool = False
    """An infinity."""

    @property
    def finite(self) -> bool:
        return not (self.nan or self.infinite)


def decoded(pattern: int, fmt: Format) -> Number:
    """The number a bit pattern stands for (IEEE 754-2019, 3.4)."""
    negative, magnitude = bool(pattern & fmt.sign), pattern & (fmt.sign - 1)
    if magnitude >= fmt.infinity:
        infinite = fmt.infinite and magnitude == fmt.infinity
        return Number(negative=negative, nan=not infinite, infinite=infinite)
    exponent, fraction = magnitude >> fmt.fraction, magnitude & ((1 << fmt.fraction) - 1)
    significand = fraction + (1 << fmt.fraction if exponent else 0)
    value = significand * Fraction(2) ** (max(exponent, 1) - fmt.bias - fmt.fraction)
    return Number(negative=negative, value=-value if negative else value)


def tensor_of(patterns: Sequence[int], fmt: Format, shape: Sequence[int]) -> torch.Tensor:
    """The tensor of these bit patterns."""
    signed = [pattern - 2 * fmt.sign if pattern & fmt.sign else pattern for pattern in patterns]
    whole = torch.tensor(signed, dtype=getattr(torch, f"int{fmt.bits}"))
    return whole.view(fmt.dtype).reshape(tuple(shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """How many elements of an output are wrong."""

    least: int
    """Those that are wrong whatever float64 makes of the bound."""

    most: int
    """With those in the strip around their bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How one output is judged."""

    fmt: Format
    """Its format."""

    exact: bool
    """Bits must agree."""

    worst: int = 1
    """Tolerances that some elements may be off: 2, about one code, where values are quantised."""

    def tolerance(self, y: Number) -> Fraction:
        """u_o * |y| + eta_o; twice that where the reference is as precise as the output, in float64."""
        if self.exact:
            return Fraction(0)
        as_precise = self.fmt.name == "float64" and self.worst == 1
        return (2 if as_precise else 1) * (self.fmt.unit * abs(y.value) + self.fmt.least / 2)

    def may_overflow(self, y: Number) -> bool:
        return self._reaches(abs(y.value) + self.worst * self.tolerance(y))

    def must_overflow(self, y: Number) -> bool:
        return self._reaches(abs(y.value) - self.worst * self.tolerance(y))

    def _reaches(self, size: Fraction) -> bool:
        return self.fmt.threshold is not None and size >= self.fmt.threshold


def floats_rejected(kind: str, fmt: Format, output: Sequence[Number], reference: Sequence[Number]) -> Rejected:
    """Elements of a floating output that no operator of the contract returns.

    At most a hundredth of quantised values may be off by more than the rounding, by twice as much.
    """
    rule = Rule(fmt=fmt, exact=kind == "exact", worst=2 if kind == "quantize" else 1)
    pairs = list(zip(output, reference, strict=True))
    over = [_wrong(rule, x, y, 1) for x, y in pairs]
    red = [_wrong(rule, x, y, rule.worst) for x, y in pairs]

    def counted(doubtful: bool) -> int:
        off, wrong = (sum(doubtful if e is None else e for e in elements) for elements in (over, red))
        return off if off > CODES_OFF * len(pairs) else wrong

    return Rejected(least=counted(False), most=counted(True))


def _wrong(rule: Rule, x: Number, y: Number, tolerances: int) -> bool | None:
    """Whether an element is more than some tolerances off, or of a wrong class; None: float64 cannot tell."""
    if _wrong_class(rule, x, y):
        return True
    if not (x.finite and y.finite):
        return False
    largest = rule.fmt.largest
    error = abs(x.value - max(-largest, min(largest, y.value)))
    if rule.exact:
        return error != 0 or (x.value == 0 and x.negative != y.negative)
    bound = tolerances * rule.tolerance(y)
    edge = error > 0 and abs(error - bound) <= EDGE * bound
    return None if edge else error > bound


def _wrong_class(rule: Rule, x: Number, y: Number) -> bool:
    """NaN for NaN, infinity for what rounds to it; in a format without one, the largest number, or NaN."""
    same_sign = x.negative == y.negative
    if y.nan:
        return not x.nan
    if not rule.fmt.infinite:
        saturated = x.nan or (abs(x.value) == rule.fmt.largest and same_sign)
        must = y.infinite or rule.must_overflow(y)
        return not saturated if must else x.nan and not rule.may_overflow(y)
    if x.nan:
        return True
    if y.infinite or x.infinite:
        return not (same_sign and x.infinite and (y.infinite or rule.may_overflow(y)))
    return rule.must_overflow(y)


def integers_rejected(kind: str, output: Sequence[int], reference: Sequence[int]) -> int:
    """Integers are compared as integers; a quantised code may be one off, on few elements."""
    off = [abs(x - y) for x, y in zip(output, reference, strict=True)]
    wrong = sum(distance > 0 for distance in off)
    if kind != "quantize" or wrong > CODES_OFF * len(off):
        return wrong
    return sum(distance > 1 for distance in off)


def indices_rejected(output: Sequence[int], reference: Sequence[int], line: Sequence[Number]) -> int:
    """Indices into one line of values: equal values are as good, but no index again where the reference has a new."""
    wrong = 0
    for position, (index, wanted) in enumerate(zip(output, reference, strict=True)):
        again = index in output[:position] and wanted not in reference[:position]
        wrong += again or not (index == wanted or _same_value(index, wanted, line))
    return wrong


def _same_value(index: int, wanted: int, line: Sequence[Number]) -> bool:
    if not (0 <= index < len(line) and 0 <= wanted < len(line)):
        return False
    x, y = line[index], line[wanted]
    return (x.nan and y.nan) or ((x.nan, x.infinite, x.value) == (y.nan, y.infinite, y.value) and _same_sign(x, y))


def _same_sign(x: Number, y: Number) -> bool:
    return not x.infinite or x.negative == y.negative
