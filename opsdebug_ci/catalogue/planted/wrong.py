"""The wrong operators alone, for a configuration: each must fail."""

from __future__ import annotations

from opsdebug_ci.catalogue.planted import PLANTED

OPERATORS = [planted.wrong for planted in PLANTED]
