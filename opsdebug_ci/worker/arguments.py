"""The arguments of a case, from its declaration or from the operator's own callable, on the case's device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from opsdebug_ci.errors import DeclarationError, InputsError, Unsupported
from opsdebug_ci.inputs import declared_values, stream_for, to_device
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Family
from opsdebug_ci.operators import Arguments, Operator, call_problem, emptied, written_names
from opsdebug_ci.worker.placement import settled
from opsdebug_ci.worker.range_ends import place_range_ends


def make_arguments(operator: Operator, case: Case) -> Arguments:
    """Pristine arguments of `case`.

    Raises:
        InputsError: the callable raised, returned nothing usable, or a declared argument could not be made.
        Unsupported: the callable says that the case is outside the operator's domain.
    """
    if isinstance(operator.inputs, Mapping):
        made = declared_values(
            operator.inputs, case, kind=operator.kind_of("out0"), written=_declared_written(operator)
        )
        if case.inputs is Family.THRESHOLDS:
            stream = stream_for(case.seed, operator=case.operator, argument="range ends", family=str(case.inputs))
            place_range_ends(operator, made, stream, case.seed)
        values = to_device(made, torch.device(case.device))
        return Arguments(names=tuple(values), values=tuple(values.values()))
    return _own_arguments(operator, case)


def private_arguments(operator: Operator, case: Case) -> Arguments:
    """What `make_arguments` makes, at the addresses modulo 512 every run has.

    Arrays and dicts that the operator's own code may still hold are copied too.
    """
    made = make_arguments(operator, case)
    return Arguments(names=made.names, values=settled(made.values), by_keyword=made.by_keyword)


def _declared_written(operator: Operator) -> frozenset[str]:
    return _written(operator, Arguments.of_mapping(dict.fromkeys(operator.argument_names)))


def _own_arguments(operator: Operator, case: Case) -> Arguments:
    assert not isinstance(operator.inputs, Mapping)  # noqa: S101 - narrowing; the caller checked
    try:
        made = operator.inputs(case.seed, dict(case.dims), case.dtype)
    except Unsupported:
        raise
    except Exception as error:  # user code: whatever it raises is the fault to report
        raise InputsError(
            f"inputs of {_named(operator)} raised {type(error).__name__}: {error}",
            next_step=f"call it by hand with ({case.seed}, {dict(case.dims)}, {case.dtype!r})",
        ) from error
    arguments = _checked(operator, made, torch.device(case.device))
    if case.inputs is not Family.OWN_EMPTY:
        return arguments
    return replace(arguments, values=tuple(map(emptied, arguments.values)))


def _checked(operator: Operator, made: Any, device: torch.device) -> Arguments:
    if isinstance(made, Mapping):
        arguments = Arguments.of_mapping(to_device(dict(made), device))
        misfit = call_problem(operator.function, **dict.fromkeys(map(str, made)))
    elif isinstance(made, Sequence) and not isinstance(made, (str, bytes)):
        named = Arguments.of_sequence(tuple(made), operator.argument_names)
        arguments = replace(named, values=tuple(to_device(dict(named.items()), device).values()))
        misfit = call_problem(operator.function, *made)
    else:
        raise InputsError(
            f"inputs of {_named(operator)} returned {type(made).__name__}; wanted a sequence or mapping of tensors and "
            "plain values",
            next_step="return the arguments of the operator, e.g. `return [x, weight]`",
        )
    if misfit:
        raise InputsError(
            f"inputs of {_named(operator)} returned the arguments {', '.join(arguments.names) or 'none'}, which do not "
            f"fit the function: {misfit}",
            next_step="return one value for every argument of the operator",
        )
    _written(operator, arguments)
    return arguments


def _written(operator: Operator, arguments: Arguments) -> frozenset[str]:
    """Names of the arguments the operator writes. Raises InputsError when the contract names one there is none of."""
    contract = operator.contract
    try:
        if contract.index is not None:
            arguments.name_of(contract.index[0])
        return frozenset(written_names(contract, arguments))
    except DeclarationError as error:
        raise InputsError(f"operator `{operator.name}`: {error.message}", next_step="correct its `Contract`") from error


def _named(operator: Operator) -> str:
    """The operator, with the place of its input callable where that has one."""
    code = getattr(operator.inputs, "__code__", None)
    return f"`{operator.name}`" + (f" ({code.co_filename}:{code.co_firstlineno})" if code else "")
