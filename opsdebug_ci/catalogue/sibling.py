"""The same operator written another way: another kernel under the same references, contract and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdebug_ci import Contract, Operator


def sibling(
    original: Operator,
    name: str,
    function: Callable[..., Any],
    *,
    inputs: Mapping[str, object] | Callable[..., Any] | None = None,
    dtypes: Sequence[str] | None = None,
    dims: Mapping[str, int] | None = None,
    contract: Contract | None = None,
    devices: Sequence[str] | None = None,
) -> Operator:
    """`original` with another name and function, and with what is given replaced."""
    return Operator(
        name,
        function,
        original.inputs if inputs is None else inputs,
        {str(which): reference for which, reference in original.references.items()},
        kind=original.kinds,
        dtypes=original.dtypes if dtypes is None else dtypes,
        dims=original.dims if dims is None else dims,
        contract=original.contract if contract is None else contract,
        cost=original.cost_function,
        requires=original.requires_function,
        devices=original.devices if devices is None else devices,
        backward=original.backward,
    )
