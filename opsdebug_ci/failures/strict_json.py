"""JSON out of bundles of strangers.

Decides what a manifest may cost beyond its size, which the archive bounds.
"""

from __future__ import annotations

from typing import Any

from opsdebug_ci.errors import BundleError
from opsdebug_ci.model.strict_json import Bounds, strict_json

DEEPEST = 32
"""Objects and lists within each other."""

LONGEST_NUMBER = 64
"""Characters of a number; a float64 needs 24, a count of bytes 20."""


def read_strictly(data: bytes) -> Any:
    """The plain value of a JSON text.

    Raises:
        BundleError: it is no JSON, or leaves open what it means.
    """
    size = len(data)
    bounds = Bounds(
        size=size, values=size, depth=DEEPEST, number=LONGEST_NUMBER, text=size, integer=10**LONGEST_NUMBER, halves=True
    )
    return strict_json(data, bounds, BundleError)
