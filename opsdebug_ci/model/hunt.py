"""What a hunt for a rare failure came to: many launches on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntReading:
    """What many launches on the same inputs came to."""

    launches: int
    """How many there were."""

    odd: int
    """Those whose outputs have other bits than the first's, or that raised."""

    distinct: int
    """Different outputs, the first's included."""

    raised: int = 0
    """Those that raised."""

    first_odd: int | None = None
    """Which launch was the first of them, from 1; None: none was."""
