"""The state of a device's clocks while something was measured.

Decides what can be known of frequency, throttling and stolen time without privileges. What the system does not tell is
None, never a guess.
"""

from __future__ import annotations

from typing import final

import torch

from opsdebug_ci.model.timing import Clocks


@final
class ClockWatch:
    """Watches from its making until `read`."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def read(self) -> Clocks:
        """What happened to the clocks since."""
        return Clocks()
