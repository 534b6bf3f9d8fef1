"""Flops of an operator, as a product of its dims. Bytes are left to the arguments and outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from opsdebug_ci import Cost


def flops(per_point: float, dims: str) -> Callable[[Mapping[str, int], str], Cost]:
    """`per_point` operations for every point of the space spanned by the blank-separated `dims`."""
    names = dims.split()

    def cost(sizes: Mapping[str, int], dtype: str) -> Cost:  # noqa: ARG001 - the signature users write
        return Cost(flops=per_point * math.prod(sizes[name] for name in names))

    return cost
