"""One row alone against the same row among others, for operators that promise `batch_invariant`.

Decides what a row is: the first index of the dim that leads every output and at least one argument, and that occurs
nowhere else. Deliberately silent where no such dim is declared, as for input callables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.inputs.returned import called
from opsdebug_ci.model.argument import ScalarArgument, TensorArgument
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.property import Property, PropertyReading
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.arguments import make_arguments
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.launch_reading import LaunchReading, Outputs, differing_bits
from opsdebug_ci.worker.probes.scene import Scene

ROWS = 3
"""Rows tried where the case has one: more than one, and no multiple of a block."""


def batch_invariance(scene: Scene, launch: LaunchReading) -> Iterator[PropertyReading]:
    """One more launch, on the first row alone; two where the case has a single row. Silent about races."""
    contract = scene.operator.contract
    if not contract.batch_invariant or launch.repeat_mismatches or launch.unwritten:
        return
    dim = _row_dim(scene.operator, scene.case, scene.outputs)
    whole = None if dim is None else _rows(scene, dim)
    if dim is None or whole is None:
        return
    arguments, together = whole
    row = _first_row(scene, arguments, dim)
    alone = None if row is None else scene.launch(row)
    if alone is not None and list(alone) == list(together):
        yield from _reading(dim, together, alone)


def _row_dim(operator: Operator, case: Case, outputs: Outputs) -> str | None:
    leading: dict[str, None] = {}
    inner: set[str] = set()
    for argument in operator.tensors.values():
        for axis, expression in enumerate(argument.shape):
            if axis == 0 and expression.text == "".join(expression.names):
                leading[expression.text] = None
            else:
                inner.update(expression.names)
    candidates = [name for name in leading if name not in inner and case.dims[name] > 0]
    fitting = [name for name in candidates if all(o.ndim and o.shape[0] == case.dims[name] for o in outputs.values())]
    return fitting[0] if len(fitting) == 1 else None


def _rows(scene: Scene, dim: str) -> tuple[Arguments, Outputs] | None:
    """Arguments and outputs of several rows: the case's own, or those of a case that has more."""
    if scene.case.dims[dim] > 1:
        return scene.arguments, scene.outputs
    case = replace(scene.case, dims={**scene.case.dims, dim: ROWS})
    try:
        with isolated(case.seed):
            arguments = make_arguments(scene.operator, case)
    except (OpsdebugError, Unsupported):
        return None
    outputs = scene.launch(arguments)
    return None if outputs is None else (arguments, outputs)


def _first_row(scene: Scene, arguments: Arguments, dim: str) -> Arguments | None:
    """The arguments with one row; numbers that follow from dims and tensors are derived anew, None where none do."""
    declared = scene.operator.inputs
    assert not callable(declared)  # noqa: S101 - narrowing; a row dim is declared
    made: dict[str, Any] = {}
    for name, value in arguments.items():
        item = declared[name]
        if isinstance(item, TensorArgument) and item.shape and item.shape[0].text == dim:
            made[name] = value[:1].clone()
        elif isinstance(item, ScalarArgument):
            try:
                made[name] = called(f"argument `{name}`", item.function, {**scene.case.dims, dim: 1}, dict(made))
            except (OpsdebugError, Unsupported):
                return None
        else:
            made[name] = value
    return replace(arguments, values=tuple(made.values()))


def _reading(dim: str, together: Outputs, alone: Outputs) -> Iterator[PropertyReading]:
    """The output whose first row differs most, or that none does."""
    compared = sum(output.numel() for output in alone.values())
    rows = next(iter(together.values())).shape[0]
    if not compared or any(o.shape[0] != rows or alone[n].shape != o[:1].shape for n, o in together.items()):
        return
    differing = {name: differing_bits(alone[name], row[:1]) for name, row in together.items()}
    name = max(differing, key=lambda each: int(differing[each].sum()))
    broken = int(differing[name].sum())
    distance = (alone[name].double() - together[name][:1].double()).abs()
    largest = float(torch.nan_to_num(distance, nan=0.0).max())
    yield PropertyReading(
        property=Property.BATCH_INVARIANCE,
        compared=compared,
        broken=broken,
        evidence={"output": name, "dim": dim, "rows": rows, "largest": largest} if broken else {"dim": dim},
    )
