"""Planted defects: wrong operators that must be caught, each beside a correct twin that must be left alone.

Not built-in operators: `planted.wrong` and `planted.right` are modules to configure when the tool itself is checked.
"""

from __future__ import annotations

from opsdebug_ci.catalogue.planted import edges, numbers, placement, special
from opsdebug_ci.catalogue.planted.value import Planted as Planted

PLANTED: tuple[Planted, ...] = (*edges.PLANTED, *numbers.PLANTED, *placement.PLANTED, *special.PLANTED)
"""Every planted defect."""
