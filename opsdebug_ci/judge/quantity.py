"""How statements count things.

Decides the plural. Deliberately not what is counted.
"""

from __future__ import annotations


def quantity(count: int, noun: str) -> str:
    """`1 element`, `16,384 elements`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
