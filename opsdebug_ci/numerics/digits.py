"""Exact percentiles of errors that are too many to keep, digit by digit.

Decides which of them stand at given ranks by counting their leading bits, then the next ones of those that agree with
the answer so far: a pass per 16 bits, memory for three histograms whatever the number of errors. Deliberately slow
and certain: `selection` is faster where a sample brackets the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

DIGIT = 16
"""Bits counted per pass."""

Visit = Callable[[torch.Tensor], None]
Pass = Callable[[Visit], None]
"""Shows all keys, block by block, possibly from several threads: int64, flat, nonnegative, the same in every pass."""


def keys_at_ranks(show: Pass, ranks: list[int], bits: int) -> list[int]:
    """The keys at `ranks` (from 0) of all keys sorted; radix selection by most significant digits.

    Knuth, The Art of Computer Programming 3, 2nd ed., section 5.2.5 (radix exchange), counting instead of exchanging.

    Args:
        show: shows every key below 2**bits once per call.
        ranks: places, each less than the number of keys.
        bits: at most 63.
    """
    answers = [(0, rank) for rank in ranks]
    for shift in reversed(range(0, bits, DIGIT)):
        counters = {prefix: _Counter(prefix, shift) for prefix, _ in answers}

        def visit(keys: torch.Tensor, counters: dict[int, _Counter] = counters) -> None:
            for counter in counters.values():
                counter.add(keys)

        show(visit)
        answers = [counters[prefix].next_digit(rank) for prefix, rank in answers]
    return [prefix for prefix, _ in answers]


def float_keys(errors: torch.Tensor) -> torch.Tensor:
    """Keys of nonnegative float64 errors: their bit patterns are ordered as they are (IEEE 754-2019, 3.4)."""
    return errors.view(torch.int64)


def float_of_key(key: int) -> float:
    """The error whose key this is."""
    return float(torch.tensor(key, dtype=torch.int64).view(torch.float64))


class _Counter:
    """How often each digit follows one prefix."""

    def __init__(self, prefix: int, shift: int) -> None:
        self._prefix = prefix
        self._shift = shift
        self._counts = torch.zeros(1 << DIGIT, dtype=torch.int64)
        self._lock = threading.Lock()

    def add(self, keys: torch.Tensor) -> None:
        shifted = keys >> self._shift
        matching = shifted[shifted >> DIGIT == self._prefix] & ((1 << DIGIT) - 1)
        counts = torch.bincount(matching, minlength=1 << DIGIT).cpu()
        with self._lock:
            self._counts += counts

    def next_digit(self, rank: int) -> tuple[int, int]:
        """The longer prefix of the key at `rank` among those with this prefix, and its rank among the longer's."""
        sums = self._counts.cumsum(0)
        digit = int(torch.searchsorted(sums, rank, right=True))
        below = int(sums[digit]) - int(self._counts[digit])
        return (self._prefix << DIGIT) | digit, rank - below
