"""One step of an operator beside the same step of its references, read as an output of its own.

Decides the bounds of a step (a tolerance of the user's own is about outputs, so it does not apply) and among which
values what separates its bad elements is looked for: arguments, the expected value, the steps before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from opsdebug_ci.model.attribution import Split
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.health import StepSource
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.trace import Step
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import examine
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import dtype_name
from opsdebug_ci.numerics.regions import align
from opsdebug_ci.numerics.splits import Feature, find_splits, value_features
from opsdebug_ci.numerics.spread import Spread
from opsdebug_ci.operators import Arguments

STEPS_BACK = 3
"""Earlier steps whose values are looked at."""

STEP_ORDER, EXPECTED_ORDER = 0.2, 1.0
"""How direct an earlier step and the expected value are as features: less than an argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPair:
    """One step as operator and references took it. Holds live tensors, so it never leaves the worker."""

    name: str
    """Step name."""

    actual: torch.Tensor
    """The operator's."""

    expected: torch.Tensor | None
    """The best reference's: of the torch one in float64, else of a declared precise one."""

    second: torch.Tensor | None
    """The naive reference's."""

    spread: Spread | None
    """How far correct evaluations lie apart here."""

    @property
    def references(self) -> dict[ReferenceKind, torch.Tensor]:
        """Those of the references whose shape is the operator's."""
        given = {ReferenceKind.PRECISE: self.expected, ReferenceKind.NAIVE: self.second}
        return {which: values for which, values in given.items() if values is not None}


def read_output_step(output: ComparedOutput, arguments: Arguments) -> Step:
    """An output as the last step."""
    reading, failure = examine(output, passing=True)
    return _step(reading, failure, StepSource.OUTPUT, judged=True, split=_split(failure, arguments, []))


def read_steps(
    pairs: Sequence[StepPair], source: StepSource, template: ComparedOutput, arguments: Arguments
) -> Iterator[Step]:
    """Every step in order.

    Args:
        pairs: the steps.
        source: where they were seen.
        template: an output of the same case, for everything but the values.
        arguments: pristine.
    """
    for position, pair in enumerate(pairs):
        if not pair.references:
            yield _unpaired(pair, source, "no reference marks it")
            continue
        earlier = pairs[max(0, position - STEPS_BACK) : position]
        reading, failure = examine(_as_output(pair, template), passing=True)
        judged = pair.spread is not None or not pair.actual.is_floating_point()
        split = _split(failure, arguments, earlier) if judged else None
        yield _step(reading, failure, source, judged=judged, split=split)


def _as_output(pair: StepPair, template: ComparedOutput) -> ComparedOutput:
    return replace(
        template,
        name=pair.name,
        kind=Kind.AUTO if pair.actual.is_floating_point() else Kind.EXACT,
        actual=pair.actual,
        references=pair.references,
        derived_precise=True,
        spread=pair.spread,
        evaluate=lambda: None,
        contract=replace(template.contract, atol=None, rtol=None),
        index_source=None,
        index_axis=None,
    )


def _step(
    reading: OutputReading, failure: Failure | None, source: StepSource, *, judged: bool, split: Split | None
) -> Step:
    accuracy = reading.accuracy
    blank = Step(name=reading.name, source=source, shape=reading.actual.shape, dtype=reading.actual.dtype)
    if accuracy is None or failure is None:
        return replace(blank, unpaired=f"the reference has shape {list(reading.expected.shape)} here")
    number_format = FLOAT_FORMATS.get(reading.actual.dtype)
    relative = accuracy.rel_err.max
    worst = accuracy.worst
    units = None if number_format is None or relative is None else relative / number_format.unit_roundoff
    return replace(
        blank,
        max_abs_err=accuracy.max_abs_err,
        units=units,
        ratio=worst.ratio if worst is not None and judged else None,
        worst_index=worst.index if worst is not None and judged else accuracy.max_abs_index,
        actual=None if worst is None or not judged else worst.actual,
        expected=None if worst is None or not judged else worst.expected,
        compared=accuracy.compared,
        bad=accuracy.over_tolerance if judged else 0,
        zone=accuracy.zone if judged else None,
        classes=accuracy.class_mismatches,
        split=split,
    )


def _unpaired(pair: StepPair, source: StepSource, why: str) -> Step:
    dtype = dtype_name(pair.actual.dtype)
    return Step(name=pair.name, source=source, shape=tuple(pair.actual.shape), dtype=dtype, unpaired=why)


def _split(failure: Failure | None, arguments: Arguments, earlier: Sequence[StepPair]) -> Split | None:
    if failure is None or not bool(failure.bad.any()):
        return None
    shape = tuple(failure.bad.shape)
    features: list[Feature] = []
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor) and not value.is_complex():
            features += align(name, value.to(failure.bad.device), shape).features()
    for pair in earlier:
        known = pair.expected if pair.expected is not None else pair.second
        if known is not None and known.shape == failure.bad.shape:
            features += value_features(pair.name, known, STEP_ORDER)
    features += value_features("expected", failure.expected, EXPECTED_ORDER)
    splits = find_splits(failure.bad, features, most=1)
    return splits[0] if splits and math.isfinite(splits[0].threshold) else None
