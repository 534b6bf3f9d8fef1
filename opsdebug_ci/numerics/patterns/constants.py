"""Constants that a wrong factor may be: of mathematics, of sizes, of the arguments.

Decides which factors have a name. Deliberately measures nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure

PLAIN = (
    ("2", 2.0),
    ("1/2", 0.5),
    ("4", 4.0),
    ("1/4", 0.25),
    ("sqrt(2)", math.sqrt(2)),
    ("1/sqrt(2)", math.sqrt(0.5)),
    ("ln 2", math.log(2)),
    ("log2 e", math.log2(math.e)),
    ("ln 10", math.log(10)),
    ("log10 e", math.log10(math.e)),
    ("1.702", 1.702),
    ("1/1.702", 1 / 1.702),
    ("2/sqrt(pi)", 2 / math.sqrt(math.pi)),
    ("sqrt(pi)/2", math.sqrt(math.pi) / 2),
    ("sqrt(2/pi)", math.sqrt(2 / math.pi)),
    ("sqrt(pi/2)", math.sqrt(math.pi / 2)),
    ("pi", math.pi),
    ("1/pi", 1 / math.pi),
    ("2 pi", 2 * math.pi),
    ("1/(2 pi)", 0.5 / math.pi),
    ("pi/180", math.pi / 180),
    ("180/pi", 180 / math.pi),
    ("e", math.e),
    ("1/e", 1 / math.e),
    ("255/256", 255 / 256),
    ("256/255", 256 / 255),
    ("127/128", 127 / 128),
    ("128/127", 128 / 127),
)
"""Names and values of factors that formulas lose or gain."""

BLOCKS = tuple(2**power for power in range(2, 11))
"""Sizes to which a length is padded: 4 to 1,024."""

LARGEST = 1 << 20
"""Sizes beyond it are no divisors anybody forgets."""

SMALL = 16
"""Fractions of whole numbers below it have a name: windows at a border hold so many elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A factor with a name."""

    name: str
    """How a reader would write it."""

    value: float
    """What it is."""

    meaning: str
    """What makes it appear, as a half sentence; empty when nothing special does."""

    cause: Cause
    """What it speaks for."""


def constants(failure: Failure) -> Iterator[Constant]:
    """Every named factor, the likeliest first: the first that fits is the one to tell."""
    sizes = _sizes(failure)
    yield Constant(name="-1", value=-1.0, meaning="the sign is the other one", cause=Cause.SIGN_FLIP)
    yield from _of_arguments(failure)
    for size in sizes:
        yield from _of_degrees(size)
    for name, value in PLAIN:
        yield Constant(name=name, value=value, meaning="", cause=Cause.WRONG_CONSTANT_EPS)
    for size in sizes:
        yield from _of_size(size)
    for size in sizes:
        for other in sizes:
            if size != other:
                meaning = f"{other} counts where {size} should, as a divisor, or the other way round"
                yield _constant(f"{size}/{other}", size / other, meaning)
    yield from _fractions()


def _constant(name: str, value: float, meaning: str) -> Constant:
    return Constant(name=name, value=value, meaning=meaning, cause=Cause.WRONG_CONSTANT_EPS)


def _of_arguments(failure: Failure) -> Iterator[Constant]:
    for name, value in failure.arguments.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
            continue
        for text, factor, meaning in (
            (f"{name}", value, f"`{name}` is applied once more, or its inverse is missing"),
            (f"1/{name}", 1 / value, f"`{name}` is missing"),
            (f"sqrt({name})", math.sqrt(value), f"the root of `{name}` is too much"),
            (f"1/sqrt({name})", 1 / math.sqrt(value), f"the root of `{name}` is missing"),
            (f"1/(1 - {name})", 1 / (1 - value) if value < 1 else 0.0, f"1/(1 - {name}) is too much"),
            (f"1 - {name}", max(0.0, 1 - value), f"1/(1 - {name}) is missing"),
        ):
            if factor:
                yield Constant(name=text, value=float(factor), meaning=meaning, cause=Cause.WRONG_SCALE)


def _of_degrees(size: int) -> Iterator[Constant]:
    """Bessel's correction and its like: n - 1 for n."""
    if size < 2:
        return
    less = size - 1
    for name, value in ((f"{less}/{size}", less / size), (f"{size}/{less}", size / less)):
        meaning = f"the divisor is n-1, not n, or the other way round, with n = {size}"
        yield _constant(name, value, meaning)
        yield _constant(f"sqrt({name})", math.sqrt(value), f"{meaning}, under a root")


def _of_size(size: int) -> Iterator[Constant]:
    yield _constant(f"sqrt({size})", math.sqrt(size), f"1/sqrt({size}) is missing, or {size} divides for its root")
    yield _constant(f"1/sqrt({size})", 1 / math.sqrt(size), f"1/sqrt({size}) is there once too often")
    yield _constant(f"{size}", float(size), f"the division by {size} is missing")
    yield _constant(f"1/{size}", 1 / size, f"the division by {size} is there once too often")
    for block in BLOCKS:
        padded = -(-size // block) * block
        if padded != size and block < 2 * size:
            meaning = f"the divisor is {padded}, {size} padded to blocks of {block}"
            yield _constant(f"{size}/{padded}", size / padded, meaning)


def _fractions() -> Iterator[Constant]:
    for divisor in range(1, SMALL):
        for number in range(1, SMALL):
            if number != divisor and math.gcd(number, divisor) == 1:
                yield _constant(f"{number}/{divisor}", number / divisor, f"{divisor} counts where {number} should")


def _sizes(failure: Failure) -> list[int]:
    """Sizes of dims, axes and of all axes but the first two together, each once, in that order."""
    found = dict.fromkeys(failure.dims.values())
    for tensor in (*failure.tensors.values(), failure.bad):
        shape = tuple(tensor.shape)
        found.update(dict.fromkeys((*shape, *(math.prod(shape[axis:]) for axis in range(len(shape))))))
    return [size for size in found if 1 < size <= LARGEST]
