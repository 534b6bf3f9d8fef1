"""The correct twins alone, for a configuration: each must pass."""

from __future__ import annotations

from opsdebug_ci.catalogue.planted import PLANTED

OPERATORS = [planted.right for planted in PLANTED]
