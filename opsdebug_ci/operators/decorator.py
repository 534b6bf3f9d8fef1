"""`@operator(...)`: sugar over `Operator`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.operators.operator import Function, Inputs, Operator, RequiresFunction


@overload
def operator(name: Function, /) -> Operator: ...


@overload
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
) -> Callable[[Function], Operator]: ...


def operator(
    name: str | Function | None = None,
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
) -> Operator | Callable[[Function], Operator]:
    """Declare the decorated function as an operator; `@operator` alone takes everything from it.

    Args:
        name: the function's own name when absent.
        arguments: mapping or callable, where an argument's name collides with one of these keywords.
        tensors: argument name -> `tensor(...)`, `scalar(...)` or a plain value.

    The rest is as for `Operator`. With neither `arguments` nor keywords the signature decides.
    References, cost and requirements are added with `@op.reference("torch")`, `@op.cost`, `@op.requires`.
    """

    if callable(name):
        return operator()(name)

    return lambda function: Operator(
        name or function.__name__,
        function,
        _inputs(name or function.__name__, arguments, tensors),
        {},
        kind=kind,
        dtypes=dtypes,
        dims=dims,
        contract=contract,
        requires=requires,
        devices=devices,
        backward=backward,
    )


def _inputs(name: str, arguments: Inputs | None, tensors: Mapping[str, Any]) -> Inputs | None:
    if arguments is None:
        return dict(tensors) or None
    if not isinstance(arguments, Mapping):
        if tensors:
            raise DeclarationError(
                f"operator `{name}`: `arguments` is a callable, so it makes every argument; got {_listed(tensors)} too",
                next_step="declare arguments in one of the two ways",
            )
        return arguments
    twice = [argument for argument in tensors if argument in arguments]
    if twice:
        raise DeclarationError(
            f"operator `{name}`: {_listed(twice)} declared twice, in `arguments` and as keyword",
            next_step="keep one of the two",
        )
    return {**arguments, **tensors}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
