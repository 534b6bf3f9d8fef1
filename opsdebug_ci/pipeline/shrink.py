"""Shrinking the failures of real operators: candidates through the workers, judged and compared with the failure.

Decides what of an operator's cases may be varied: the dims a case has, whatever its inputs are made by; its layout,
family and seed; the dtypes and values that the operator declares. Whatever its inputs or references reject is passed
over. What the same failure is, `shrink_trials` decides; the search itself is `failures.shrinking`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.failures.shrinking import Budget, Candidate, Shrunk, Space, Trials, minimise
from opsdebug_ci.failures.shrinking.budget import Clock
from opsdebug_ci.failures.shrinking.space import Dims, product
from opsdebug_ci.model import Case, Judgement, OperatorDescription
from opsdebug_ci.model.bundle import Rate, StoredInputs
from opsdebug_ci.model.dims import parse_shape
from opsdebug_ci.pipeline.shrink_trials import CandidateRunner, loaded
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.plan.sizes import largest_tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkFailure:
    """What the shrinking of one failure came to."""

    judgement: Judgement
    """The smallest case that fails for the same cause; the failure itself when nothing smaller does."""

    inputs: StoredInputs | None
    """What it runs on; None: made from the case."""

    minimised_from: str | None
    """Id of the case it was shrunk from; None: nothing smaller was found."""

    boundary: str | None
    """The border in words, e.g. `fails at n=129, passes at n=128`; None: not known."""

    nearest_passing: Case | None
    """The nearest case that passes; None: not known."""

    values: str | None
    """What is left of its values, in words; None: they were not reduced."""

    rate: Rate | None
    """How often the smallest case failed; None: there was no time to count."""

    verified: bool
    """Its cause was compared with that of the failure."""

    others: tuple[Judgement, ...]
    """Other failures met on the way, each once: findings of their own."""

    trials: int
    """Runs it took."""

    seconds: float
    """Time it took."""

    ended: bool
    """The budget ended it: there may be a smaller case."""

    notes: tuple[str, ...] = ()
    """What a reader must know, e.g. why nothing was shrunk."""


def shrink_case(
    failure: Judgement,
    bench: Workbench,
    description: OperatorDescription,
    *,
    budget: Budget,
    clock: Clock,
    directory: Path | None = None,
    inputs: StoredInputs | None = None,
    state: Path | None = None,
    width: int = 1,
) -> ShrunkFailure:
    """Shrink one failure.

    Args:
        failure: what failed, with its observation.
        bench: workers that know the operator.
        description: the operator.
        budget: how much may be spent; nothing is begun after it.
        clock: seconds, never going back.
        directory: where reduced values are put, which outlives the call; None: values are not reduced.
        inputs: kept inputs it failed on; None: made from the case.
        state: file to keep the state in and to go on from; None: nowhere.
        width: candidates run at a time.

    Raises:
        UsageError: `state` holds something else.
    """
    start = Candidate(case=failure.case, values=None if inputs is None else loaded(inputs))
    with tempfile.TemporaryDirectory(prefix="opsdebug-shrink-") as scratch:
        place = Path(scratch)
        runner = CandidateRunner(failure, bench, description, clock=clock, seconds=budget.seconds, scratch=place)
        trials = Trials(quick=runner.quick, full=runner.full)
        keep = None if directory is None else runner.keep
        space = space_of(description)
        shrunk = minimise(start, trials, space, clock=clock, budget=budget, keep=keep, state=state, width=width)
        return _told(failure, start, shrunk, runner, inputs, directory)


def space_of(description: OperatorDescription) -> Space:
    """What of an operator's cases may be varied."""
    if description.own_inputs:
        return Space(dtypes=description.dtypes)
    shapes = tuple(parse_shape(tensor.shape) for tensor in description.tensors)

    def elements(dims: Dims) -> int:
        return largest_tensor(dims, shapes) if shapes else product(dims)

    return Space(
        elements=elements,
        growing=bool(shapes),
        dtypes=description.dtypes,
        domains={tensor.name: tensor.values for tensor in description.tensors},
    )


def _told(
    failure: Judgement,
    start: Candidate,
    shrunk: Shrunk,
    runner: CandidateRunner,
    inputs: StoredInputs | None,
    directory: Path | None,
) -> ShrunkFailure:
    smallest = shrunk.smallest
    smaller = smallest.case != start.case or shrunk.reduction is not None
    moved = smaller and smallest.key in runner.judged
    kept = inputs if not moved else None
    if moved and smallest.values is not None:
        kept = runner.stored(smallest.values, directory)
    others = (runner.judged.get(other.candidate.key) for other in shrunk.others)
    return ShrunkFailure(
        judgement=runner.explained(runner.judged[smallest.key], kept) if moved else failure,
        inputs=kept,
        minimised_from=failure.case.id if moved else None,
        boundary=shrunk.boundary,
        nearest_passing=shrunk.nearest_passing,
        values=None if shrunk.reduction is None else shrunk.reduction.text,
        rate=shrunk.rate,
        verified=shrunk.verified,
        others=tuple(other for other in others if other is not None),
        trials=shrunk.trials,
        seconds=shrunk.seconds,
        ended=shrunk.ended,
        notes=shrunk.notes,
    )
