"""How statements count things.

Decides the plural. Deliberately not what is counted.
"""

from __future__ import annotations


def quantity(count: int, noun: str, plural: str | None = None) -> str:
    """`1 element`, `16,384 elements`; `plural` where an s does not make it."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
