"""Sizes worth trying for one dim on the way down.

Decides them from where kernels break: beside powers of two, and at the same remainder by the common tile widths, since
a tail that fails at 4097 fails at 129 and at 17 but at no half of 4097.
"""

from __future__ import annotations

JOINT_CAPS = (1, 2, 4, 16, 17, 33, 65, 129)
"""No dim is larger than these, all at once: one block and one element, of every common width."""

TILES = (16, 32, 64, 128)
"""Widths of vectors and tiles whose remainders are kept."""

SMALLEST = (0, 1, 2, 3, 4)


def sizes_below(size: int) -> tuple[int, ...]:
    """Smaller sizes, ascending, so that the first that fails is the smallest of them."""
    powers = [1 << bit for bit in range(size.bit_length())]
    beside = [power + step for power in powers for step in (-1, 0, 1)]
    alike = [size % tile + turns * tile for tile in TILES for turns in (0, 1, 2)]
    fractions = [size // 2, 3 * size // 4]
    return tuple(sorted({each for each in (*SMALLEST, *beside, *alike, *fractions) if 0 <= each < size}))
