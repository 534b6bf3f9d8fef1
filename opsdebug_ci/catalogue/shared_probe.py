"""What both arms of a comparison share: framework code that no change of theirs touches.

Timed in both, it must come out the same; where it does not, something else came between the arms.
"""

from __future__ import annotations

import torch

from opsdebug_ci.model import tensor
from opsdebug_ci.model.shared_probe import SHARED_PROBE
from opsdebug_ci.operators import Operator


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


OPERATORS = [
    Operator(
        SHARED_PROBE, _softmax, {"x": tensor("M N")}, {"torch": _softmax}, kind="softmax", dims={"M": 128, "N": 512}
    )
]
"""The only one."""
