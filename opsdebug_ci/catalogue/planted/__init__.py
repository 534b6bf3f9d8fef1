"""Planted defects: wrong operators that must be caught, each beside a correct twin that must be left alone.

Not built-in operators: `planted.wrong` and `planted.right` are modules to configure when the tool itself is checked,
as `opsdebug selftest` does. `model.planted` says what each defect is and what a diagnosis should call it.
"""

from __future__ import annotations

from opsdebug_ci.catalogue.planted import (
    addresses,
    aftermath,
    behaviour,
    compiled,
    edges,
    endings,
    extremes,
    memory,
    numbers,
    overruns,
    placement,
    precision,
    semantics,
    special,
    tails,
    triton_defects,
)
from opsdebug_ci.catalogue.planted.value import Planted as Planted

_MODULES = (
    edges,
    tails,
    placement,
    addresses,
    numbers,
    precision,
    special,
    extremes,
    memory,
    overruns,
    aftermath,
    semantics,
    behaviour,
    endings,
    compiled,
    triton_defects,
)

PLANTED: tuple[Planted, ...] = tuple(planted for module in _MODULES for planted in module.PLANTED)
"""Every planted defect that can run on this machine."""

UNAVAILABLE: dict[str, str] = {**compiled.UNAVAILABLE, **overruns.UNAVAILABLE, **triton_defects.UNAVAILABLE}
"""Name of each defect that cannot run here -> the reason, in a sentence."""
