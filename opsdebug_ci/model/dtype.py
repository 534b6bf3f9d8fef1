"""Facts of the number formats: precision, range, width. Standard library only, so both sides share them.

Decides nothing about arithmetic; `numerics` on the worker side does that with these constants.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format."""

    name: str
    """Framework spelling, e.g. `float16`."""

    bits: int
    """Storage width in bits."""

    precision: int
    """Significand bits including the hidden one (p); unit roundoff is 2**-p."""

    min_exponent: int
    """Exponent e of the smallest normal number 2**e."""

    max_finite: float
    """Largest finite value."""

    has_infinity: bool = True
    """False for float8_e4m3fn, where overflow saturates or becomes NaN."""

    @property
    def unit_roundoff(self) -> float:
        """u = 2**-p: largest relative error of rounding to nearest (Higham, ASNA 2nd ed., eq. 2.4)."""
        return 2.0**-self.precision

    @property
    def min_normal(self) -> float:
        """Smallest positive value with full precision."""
        return float(2.0**self.min_exponent)

    @property
    def min_subnormal(self) -> float:
        """Smallest positive value there is."""
        return float(2.0 ** (self.min_exponent - self.precision + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerFormat:
    """An integer format; bool counts as one bit."""

    name: str
    """Framework spelling, e.g. `int32`."""

    bits: int
    """Storage width in bits (8 for bool)."""

    minimum: int
    """Smallest value."""

    maximum: int
    """Largest value."""


def _floats() -> tuple[FloatFormat, ...]:
    return (
        FloatFormat(name="float64", bits=64, precision=53, min_exponent=-1022, max_finite=1.7976931348623157e308),
        FloatFormat(name="float32", bits=32, precision=24, min_exponent=-126, max_finite=3.4028234663852886e38),
        FloatFormat(name="float16", bits=16, precision=11, min_exponent=-14, max_finite=65504.0),
        FloatFormat(name="bfloat16", bits=16, precision=8, min_exponent=-126, max_finite=3.3895313892515355e38),
        FloatFormat(name="float8_e4m3fn", bits=8, precision=4, min_exponent=-6, max_finite=448.0, has_infinity=False),
        FloatFormat(name="float8_e5m2", bits=8, precision=3, min_exponent=-14, max_finite=57344.0),
    )


def _integers() -> tuple[IntegerFormat, ...]:
    signed = tuple(
        IntegerFormat(name=f"int{b}", bits=b, minimum=-(2 ** (b - 1)), maximum=2 ** (b - 1) - 1)
        for b in (8, 16, 32, 64)
    )
    unsigned = IntegerFormat(name="uint8", bits=8, minimum=0, maximum=255)
    return (*signed, unsigned, IntegerFormat(name="bool", bits=8, minimum=0, maximum=1))


TF32 = FloatFormat(name="tf32", bits=19, precision=11, min_exponent=-126, max_finite=3.4011621342146535e38)
"""What tensor cores round float32 operands to; never stored, so no dtype."""

FLOAT_FORMATS: dict[str, FloatFormat] = {f.name: f for f in _floats()}
"""Every floating-point format the project compares, by name."""

INTEGER_FORMATS: dict[str, IntegerFormat] = {f.name: f for f in _integers()}
"""Every integer format the project compares, by name."""

DTYPE_NAMES: tuple[str, ...] = (*FLOAT_FORMATS, *INTEGER_FORMATS)
"""Every dtype name an operator may declare."""


def is_float(name: str) -> bool:
    """Whether `name` is one of the floating-point formats above."""
    return name in FLOAT_FORMATS


def compute_format(name: str) -> FloatFormat:
    """The format a good kernel computes in for inputs of `name`: float32 for narrower floats, else its own."""
    own = FLOAT_FORMATS.get(name, FLOAT_FORMATS["float64"])
    return own if own.precision >= FLOAT_FORMATS["float32"].precision else FLOAT_FORMATS["float32"]
