"""Version-stable randomness: raw Philox words and exact transforms, from one named seed.

Decides how a seed becomes numbers. Deliberately uses no distribution of numpy's `Generator`, whose values may change
between releases (NEP 19), and nothing of libm: integer operations, IEEE additions and multiplications, and a sort give
the same bits everywhere.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

GENERATOR_VERSION = "opsdebug.philox/1"
"""Part of every key: a change of any transform below needs a new one, so that old recipes are told apart."""

UNIFORM_BITS = 24
"""Bits of a uniform number by default: every value is exact in float32."""

SQRT_THREE = 1.7320508075688772
"""Square root of 3, rounded to float64: scales a variance of 1/3 to 1."""

Words = npt.NDArray[np.uint64]
Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stream:
    """A source of numbers without state: the same call gives the same numbers; `part` gives independent ones."""

    key: int
    """128-bit Philox key."""

    def part(self, label: str) -> Stream:
        """An independent stream for one purpose, e.g. the signs beside the magnitudes."""
        return _stream(self.key.to_bytes(16, "little") + label.encode())

    def words(self, count: int) -> Words:
        """The first `count` raw words of Philox 4x64-10 (Salmon et al., SC 2011, doi:10.1145/2063384.2063405)."""
        raw: Words = np.random.Philox(key=self.key).random_raw(count)
        return raw

    def integers(self, count: int, low: int, high: int) -> Whole:
        """Whole numbers in `[low, high]`, both included, each `word mod (high - low + 1)` above `low`.

        No value is more likely than another by a factor above 1 + r * 2**-63, with r the number of values.
        """
        values = self.words(count)
        size = high - low + 1
        if size < 2**64:
            values %= np.uint64(size)
        shifted: Words = values + np.uint64(low % 2**64)
        return shifted.view(np.int64)

    def uniform(self, count: int, bits: int = UNIFORM_BITS) -> Real:
        """Multiples of `2**-bits` in [0, 1): the top `bits` (at most 53) of a word each."""
        fields: Real = (self.words(count) >> np.uint64(64 - bits)).astype(np.float64)
        return fields * 2.0**-bits

    def normal(self, count: int) -> Real:
        """Normal-ish numbers: the sum of four 24-bit uniforms, centred, times sqrt(3).

        Irwin-Hall distribution of order 4 on the grid 2**-24: mean exactly 0; variance 4 * (1 - 2**-48) / 12 * 3 =
        1 - 2**-48; kurtosis 2.7 against the normal's 3; range +-(2 - 2**-23) * sqrt(3), about +-3.4641. No element is
        an outlier, so a bound that holds on one seed holds on all.
        """
        words = self.words(2 * count)
        field, below = np.uint64(2**24 - 1), np.uint64(16)
        sums = (words >> np.uint64(40)) + ((words >> below) & field)
        # The mean of one field is (2**24 - 1) / 2, so four of them centre at 2 * (2**24 - 1).
        centred: Real = (sums[:count] + sums[count:]).astype(np.float64) - 2.0 * (2**24 - 1)
        return centred * 2.0**-24 * SQRT_THREE

    def permutation(self, count: int) -> Whole:
        """A random order of `range(count)`: the stable sort of as many words."""
        return np.argsort(self.words(count), kind="stable").astype(np.int64)


def stream_for(seed: int, *, operator: str, argument: str, family: str) -> Stream:
    """The stream of one argument: independent of every other argument, so that adding one changes no other."""
    name = json.dumps([GENERATOR_VERSION, int(seed), operator, argument, str(family)], separators=(",", ":"))
    return _stream(name.encode())


def _stream(name: bytes) -> Stream:
    return Stream(int.from_bytes(hashlib.sha256(name).digest()[:16], "little"))
