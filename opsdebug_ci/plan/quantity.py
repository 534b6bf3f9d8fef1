"""Durations and amounts of memory as people write them: `60`, `"60 s"`, `"2 min"`, `"4 GiB"`.

Decides the units. Deliberately has no sums such as `1 h 30 min`: one number, one unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

SECONDS_PER_UNIT: dict[str, float] = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Units of time; a bare number counts seconds."""

BYTES_PER_UNIT: dict[str, float] = {
    "B": 1,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
"""Units of memory (IEC 80000-13 for the binary ones); a bare number counts bytes."""

DURATION_EXPECTED = f'a duration above 0 ({", ".join(SECONDS_PER_UNIT)}), e.g. 60 or "2 min"'
"""What a duration looks like, for messages."""

MEMORY_EXPECTED = f'memory above 0 ({", ".join(BYTES_PER_UNIT)}), e.g. "4 GiB"'
"""What an amount of memory looks like, for messages."""

_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-z]*)\s*")


def seconds(value: object) -> float | None:
    """`value` in seconds; None when it is not a positive duration."""
    return _amount(value, SECONDS_PER_UNIT, "s")


def memory_bytes(value: object) -> int | None:
    """`value` in whole bytes, rounded down; None when it is not a positive amount of memory."""
    amount = _amount(value, BYTES_PER_UNIT, "B")
    return None if amount is None or amount < 1 else int(amount)


def _amount(value: object, units: Mapping[str, float], bare: str) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) and value > 0 else None
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    known = {unit.lower(): factor for unit, factor in units.items()}
    factor = known.get((match[2] or bare).lower())
    amount = None if factor is None else float(match[1]) * factor
    return amount if amount else None
