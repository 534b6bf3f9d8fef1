"""Caches: how large the last one is, and how to empty it of an operator's data.

Decides that a buffer of twice the last cache, read and written from end to end, leaves nothing of what was there
before. Deliberately uses no instruction or call that needs privileges.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import torch

UNKNOWN_BYTES = 64 * 1024 * 1024
"""Taken for a cache whose size the system does not tell: more than most have."""

MOST_BYTES = 512 * 1024 * 1024
"""Longest buffer; caches of more than half of it are emptied in part."""

_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


def last_level_bytes(device: torch.device, root: Path = Path("/sys/devices/system/cpu")) -> int | None:
    """Size of the last cache; None: the system does not tell.

    Args:
        device: whose.
        root: where Linux describes its processors.
    """
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).L2_cache_size)
    if device.type != "cpu":
        return None
    sizes = [_bytes(path) for path in root.glob("cpu0/cache/index*/size")]
    return max(sizes, default=0) or None


def flush_of(device: torch.device, cache_bytes: int | None) -> Callable[[], object]:
    """A call that fills the caches of `device` with something else. It holds its buffer as long as it is held."""
    size = min(MOST_BYTES, 2 * (cache_bytes or UNKNOWN_BYTES))
    buffer = torch.zeros(size, dtype=torch.uint8, device=device)

    def flush() -> None:
        # Reads and writes every byte; on the CPU on all threads, so that each core's own caches are emptied as well.
        buffer.add_(1)

    return flush


def _bytes(path: Path) -> int:
    """A size as Linux writes it, e.g. `32768K`; 0 where it cannot be read."""
    try:
        found = re.fullmatch(r"(\d+)([KMG]?)", path.read_text(encoding="ascii").strip())
    except (OSError, UnicodeDecodeError):
        return 0
    return 0 if found is None else int(found[1]) * _UNITS.get(found[2], 1)
