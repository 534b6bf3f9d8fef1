"""The wrong operators alone, for a configuration: each must fail."""

from __future__ import annotations

from opsdebug_ci.catalogue import planted
from opsdebug_ci.model.planted import WRONG

OPERATORS = [each.wrong for each in planted.PLANTED]

UNAVAILABLE = {f"{WRONG}{name}": reason for name, reason in planted.UNAVAILABLE.items()}
