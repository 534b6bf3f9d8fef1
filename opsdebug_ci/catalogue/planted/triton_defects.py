"""The defects in Triton kernels, or why there are none here."""

from __future__ import annotations

from importlib import import_module

from opsdebug_ci.catalogue.planted.value import Planted
from opsdebug_ci.catalogue.triton_runtime import unavailable_reason

NAMES = ("triton_pad", "triton_tail", "triton_store", "triton_load")
"""Known without importing them, which needs Triton."""


def plant_all() -> tuple[list[Planted], dict[str, str]]:
    """Every defect when Triton can run here; otherwise the reason, for each of them."""
    reason = unavailable_reason()
    if reason is not None:
        return [], dict.fromkeys(NAMES, reason)
    return list(import_module("opsdebug_ci.catalogue.planted.triton_kernels").PLANTED), {}


PLANTED, UNAVAILABLE = plant_all()
