"""The Triton operators, or why there are none here."""

from __future__ import annotations

from importlib import import_module

from opsdebug_ci import Operator
from opsdebug_ci.catalogue.triton_runtime import unavailable_reason

NAMES: dict[str, tuple[str, ...]] = {
    "triton_elementwise": ("triton_add", "triton_gelu"),
    "triton_rows": ("triton_softmax", "triton_layer_norm", "triton_rms_norm"),
    "triton_product": ("triton_matmul",),
}
"""Module of this package -> operators in it. Known without importing them, which needs Triton."""


def load_all() -> tuple[list[Operator], dict[str, str]]:
    """Every Triton operator when Triton can run here; otherwise the reason, for each of them."""
    reason = unavailable_reason()
    if reason is not None:
        return [], {name: reason for names in NAMES.values() for name in names}
    modules = [import_module(f"opsdebug_ci.catalogue.{module}") for module in NAMES]
    return [item for module in modules for item in module.OPERATORS], {}


OPERATORS, UNAVAILABLE = load_all()
