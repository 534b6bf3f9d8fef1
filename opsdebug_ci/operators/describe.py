"""Operators as the control side sees them: without functions, without torch."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path

from opsdebug_ci.model.argument import TensorArgument
from opsdebug_ci.model.description import Catalogue, OperatorDescription, TensorDescription
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind, ValueDomain
from opsdebug_ci.operators.arguments import emptied
from opsdebug_ci.operators.dependencies import installed_files, outside_files, source_files
from opsdebug_ci.operators.discovery import Discovery, FoundOperator
from opsdebug_ci.operators.operator import Operator


def describe(discovery: Discovery, root: Path) -> Catalogue:
    """Description of everything found, with the faults."""
    modules = {item.module.__name__: item.module for item in discovery.found}
    files = {name: source_files(module, root) for name, module in modules.items()}
    return Catalogue(
        operators=tuple(_described(item, files[item.module.__name__], root) for item in discovery.found),
        faults=discovery.faults,
        unavailable=discovery.unavailable,
        outside=outside_files(root),
        installed=installed_files(root),
    )


def _described(item: FoundOperator, files: tuple[str, ...], root: Path) -> OperatorDescription:
    operator = item.operator
    source_file, source_line = _source(operator.function, root)
    own_inputs = not isinstance(operator.inputs, Mapping)
    return OperatorDescription(
        name=operator.name,
        kind=operator.kind_of("out0"),
        dtypes=operator.dtypes,
        dims=operator.dims,
        fixed_dims=tuple(operator.dims) if own_inputs else (),
        tensors=tuple(_tensor(name, argument) for name, argument in operator.tensors.items()),
        own_inputs=own_inputs,
        lists=_has_lists(operator),
        references=tuple(which for which in ReferenceKind if which in operator.references),
        devices=operator.devices,
        contract=operator.contract,
        has_cost=operator.cost_function is not None,
        module=item.configured,
        source_file=source_file,
        source_line=source_line,
        source_files=files,
        other_kinds=() if isinstance(operator.kinds, Kind) else tuple(operator.kinds.values()),
        backward=operator.backward,
    )


def _has_lists(operator: Operator) -> bool:
    """Whether the operator's own inputs hold lists of tensors."""
    if isinstance(operator.inputs, Mapping):
        return False
    try:
        made = operator.inputs(0, dict(operator.dims), operator.dtypes[0])
    except Exception:  # noqa: BLE001 - user code, skips among it: its cases will say what is wrong with it
        return False
    values = made.values() if isinstance(made, Mapping) else made
    return isinstance(values, Iterable) and any(emptied(value) is not value for value in values)


def _tensor(name: str, argument: TensorArgument) -> TensorDescription:
    return TensorDescription(
        name=name,
        shape=argument.shape_text,
        dtype=argument.dtype,
        layouts=argument.layouts,
        values=argument.values if isinstance(argument.values, ValueDomain) else None,
    )


def _source(function: object, root: Path) -> tuple[str | None, int | None]:
    try:
        unwrapped = inspect.unwrap(function)  # type: ignore[arg-type]  # anything inspect cannot read raises TypeError
        file, (_, line) = inspect.getsourcefile(unwrapped), inspect.getsourcelines(unwrapped)
    except (TypeError, OSError):
        return None, None
    if file is None:
        return None, None
    path = Path(file).resolve()
    return (path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()), line
