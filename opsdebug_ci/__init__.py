"""opsdebug-ci: is a numerical operator right, is it fast, and why did it break.

Hands out the public names lazily, so that importing the package costs nothing and never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opsdebug_ci.errors import Unsupported as Unsupported
    from opsdebug_ci.model.argument import scalar as scalar
    from opsdebug_ci.model.argument import tensor as tensor
    from opsdebug_ci.model.checkpoint import checkpoint as checkpoint
    from opsdebug_ci.model.contract import Contract as Contract
    from opsdebug_ci.model.contract import Cost as Cost
    from opsdebug_ci.operators import Operator as Operator
    from opsdebug_ci.operators import operator as operator
    from opsdebug_ci.worker.capture import capture as capture

__version__ = "0.1.0"

_HOMES = {
    "Contract": "opsdebug_ci.model.contract",
    "Cost": "opsdebug_ci.model.contract",
    "Operator": "opsdebug_ci.operators",
    "Unsupported": "opsdebug_ci.errors",
    "capture": "opsdebug_ci.worker.capture",
    "checkpoint": "opsdebug_ci.model.checkpoint",
    "operator": "opsdebug_ci.operators",
    "scalar": "opsdebug_ci.model.argument",
    "tensor": "opsdebug_ci.model.argument",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - one table, not two


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `opsdebug_ci` has no `{name}`; it has {', '.join(sorted(_HOMES))}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
