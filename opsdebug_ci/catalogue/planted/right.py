"""The correct twins alone, for a configuration: each must pass."""

from __future__ import annotations

from opsdebug_ci.catalogue import planted
from opsdebug_ci.model.planted import RIGHT

OPERATORS = [each.right for each in planted.PLANTED]

UNAVAILABLE = {f"{RIGHT}{name}": reason for name, reason in planted.UNAVAILABLE.items()}
