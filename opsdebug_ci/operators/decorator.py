"""`@operator(...)`: sugar over `Operator`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.operators.operator import Function, Inputs, Operator, RequiresFunction


def operator(
    name: str | None = None,
    *,
    kind: str | Mapping[str, str] = "auto",
    dtypes: Sequence[str] = ("float32",),
    dims: Mapping[str, int] | None = None,
    contract: Contract | None = None,
    requires: RequiresFunction | None = None,
    devices: Sequence[str] = ("cpu",),
    backward: bool = False,
    arguments: Inputs | None = None,
    **tensors: object,
) -> Callable[[Function], Operator]:
    """Declare the decorated function as an operator.

    Args:
        name: the function's own name when absent.
        arguments: mapping or callable, where an argument's name collides with one of these keywords.
        tensors: argument name -> `tensor(...)`, `scalar(...)` or a plain value.

    The rest is as for `Operator`. With neither `arguments` nor keywords the signature decides.
    References, cost and requirements are added with `@op.reference("torch")`, `@op.cost`, `@op.requires`.
    """

    def declare(function: Function) -> Operator:
        return Operator(
            name or function.__name__,
            function,
            _inputs(arguments, tensors),
            {},
            kind=kind,
            dtypes=dtypes,
            dims=dims,
            contract=contract,
            requires=requires,
            devices=devices,
            backward=backward,
        )

    return declare


def _inputs(arguments: Inputs | None, tensors: Mapping[str, Any]) -> Inputs | None:
    if arguments is None:
        return dict(tensors) or None
    return {**arguments, **tensors} if isinstance(arguments, Mapping) else arguments
