"""`opsdebug attribute` in the worker: one case, and a region of one of its outputs held against the rest of it.

Decides which output is read and what may separate its bad elements: inputs, the expected value, indices and lanes.
"""

from __future__ import annotations

import math

import torch

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.attribution import (
    Alignment,
    Attribution,
    RegionElement,
    RegionReading,
    Split,
    TensorRole,
    TensorSummary,
)
from opsdebug_ci.model.message import AttributeCase, RunCase
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.region import WHOLE_AXIS, Region, resolve
from opsdebug_ci.numerics.classes import unravel
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import examine
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import dtype_name
from opsdebug_ci.numerics.regions import Aligned, align, region_mask, summarise_values, tally
from opsdebug_ci.numerics.splits import Feature, find_splits, value_features
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.case_run import Trail, run_case

ELEMENTS_SHOWN = 5
"""Elements of the region that are shown one by one."""

EXPECTED_ORDER = 1.0
"""How direct the expected value is as a feature: less than an input, from which it follows."""


def attribute(operator: Operator, request: AttributeCase, trail: Trail) -> Attribution:
    """Run the case and read the region. Nothing the operator or its references raise escapes."""
    seen: list[ComparedOutput] = []

    def witness(_: Arguments, compared: list[ComparedOutput]) -> None:
        seen.extend(compared)

    observation = run_case(operator, RunCase(case=request.case), trail, witness)
    answer = Attribution(case_id=request.case.id, observation=observation)
    try:
        output = _wanted(seen, request.output, observation)
        failure = None if output is None else examine(output, passing=True)[1]
        if failure is None:
            return answer
        reading = read_region(failure, request.region)
    except UsageError as error:
        return Attribution(
            case_id=answer.case_id, observation=observation, refusal=error.message, remedy=error.next_step
        )
    return Attribution(case_id=answer.case_id, observation=observation, reading=reading)


def _wanted(outputs: list[ComparedOutput], name: str | None, observation: Observation) -> ComparedOutput | None:
    """The output asked for, else the worst one; None when nothing was compared."""
    if not outputs:
        return None
    worst = observation.worst_output
    wanted = name or (outputs[0].name if worst is None else worst.name)
    found = next((output for output in outputs if output.name == wanted), None)
    if found is None:
        names = ", ".join(f"`{output.name}`" for output in outputs)
        raise UsageError(f"`--output` is `{wanted}`; the operator's outputs are {names}", next_step="pick one of them")
    return found


def read_region(failure: Failure, region: Region | None) -> RegionReading:
    """The elements of one output, those in `region` against the others.

    Args:
        failure: the output; its `bad` may be False everywhere.
        region: as typed; None: the whole output.

    Raises:
        UsageError: the region does not fit the output.
    """
    shape = tuple(failure.bad.shape)
    stretches = resolve((WHOLE_AXIS,) * len(shape) if region is None else region, shape, f"output `{failure.output}`")
    inside = region_mask(stretches, shape, failure.bad.device)
    inputs = [align(name, values.to(inside.device), shape) for name, values in _real(failure).items()]
    features = [feature for tensor in inputs for feature in tensor.features()]
    features += value_features("expected", failure.expected, EXPECTED_ORDER)
    return RegionReading(
        output=failure.output,
        shape=shape,
        region=stretches,
        inside=tally(failure.bad, inside),
        outside=tally(failure.bad, ~inside),
        tensors=tuple(_summaries(failure, inputs, inside)),
        splits=find_splits(failure.bad, features, region=inside),
        region_splits=_within(failure.bad, features, stretches),
        elements=_elements(failure, inputs, stretches),
    )


def _real(failure: Failure) -> dict[str, torch.Tensor]:
    return {name: values for name, values in failure.tensors.items() if not values.is_complex()}


def _summaries(failure: Failure, inputs: list[Aligned], inside: torch.Tensor) -> list[TensorSummary]:
    others = (
        (failure.output, TensorRole.OUTPUT, failure.actual),
        ("expected", TensorRole.REFERENCE, failure.expected),
        ("error", TensorRole.ERROR, failure.error),
    )
    everything = bool(inside.all())
    return [
        *(tensor.summary(inside) for tensor in inputs),
        *(
            TensorSummary(
                name=name,
                role=role,
                shape=tuple(values.shape),
                dtype=dtype_name(values.dtype),
                alignment=Alignment.ELEMENTS,
                inside=summarise_values(values[inside]),
                outside=None if everything else summarise_values(values[~inside]),
            )
            for name, role, values in others
        ),
    ]


def _within(bad: torch.Tensor, features: list[Feature], region: Region) -> tuple[Split, ...]:
    cut = tuple(slice(span.first, span.last + 1) for span in region)
    own = [
        Feature(name=feature.name, values=feature.values.expand(bad.shape)[cut], order=feature.order)
        for feature in features
    ]
    return find_splits(bad[cut], own)


def _elements(failure: Failure, inputs: list[Aligned], region: Region) -> tuple[RegionElement, ...]:
    """The worst elements of the region: of a wrong class first, then by error over tolerance."""
    cut = tuple(slice(span.first, span.last + 1) for span in region)
    excess = failure.error.abs()
    if failure.tolerance is not None:
        excess = torch.where(excess > 0, excess / failure.tolerance, excess)
    excess = torch.where(torch.isnan(excess), torch.where(failure.bad, math.inf, -1.0), excess)[cut]
    worst = torch.topk(excess.flatten(), min(ELEMENTS_SHOWN, excess.numel())).indices.tolist()
    offsets = [span.first for span in region]
    indices = [
        tuple(i + first for i, first in zip(unravel(at, tuple(excess.shape)), offsets, strict=True)) for at in worst
    ]
    return tuple(
        RegionElement(
            index=index,
            bad=bool(failure.bad[index]),
            actual=_finite(failure.actual[index]),
            expected=_finite(failure.expected[index]),
            inputs={tensor.name: tensor.element(index) for tensor in inputs if tensor.alignment is Alignment.ELEMENTS},
        )
        for index in indices
    )


def _finite(value: torch.Tensor) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
