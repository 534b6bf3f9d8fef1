"""What a probe can do: launch the operator again, ask its reference again, verify it again on other inputs.

Decides how probes run: on copies, isolated, within one budget of time. Deliberately explains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Status
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.lifting import NodeObserver
from opsdebug_ci.numerics.spread import Change
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.arguments import make_arguments
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.launch_reading import Outputs
from opsdebug_ci.worker.launches import Launcher, NotAnOutput, OperatorFault
from opsdebug_ci.worker.probes.budget import Budget, Prices, Result
from opsdebug_ci.worker.probes.glance import glance
from opsdebug_ci.worker.references import References

Verify = Callable[[Case, "Arguments | None"], Observation]
"""Run a case without looking for causes, on the given arguments or on its own."""

Judge = Callable[[Arguments, Outputs], Observation]
"""Compare given outputs with what the references say of given arguments, launching nothing."""

PROBE_FAULTS = (OperatorFault, NotAnOutput, Unsupported, OpsdebugError)
"""What a launch may end in besides outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One failed case, to be probed. Never leaves the worker."""

    operator: Operator
    """The operator that failed."""

    case: Case
    """The case it failed on."""

    arguments: Arguments
    """Its pristine arguments."""

    outputs: Outputs
    """What it returned, by name."""

    precise: Sequence[torch.Tensor] | None
    """What the `precise` reference says, in contract order; None: it did not answer."""

    verify: Verify
    """Runs a case without looking for causes."""

    judge: Judge
    """Compares outputs that a launch left."""

    budget: Budget
    """How long probing may go on."""

    health: list[tuple[HealthEvent, ...]] = field(default_factory=list)
    """Unhealthy steps of one watched launch, kept by the first probe that asks; empty: none has."""

    prices: Prices = field(default_factory=Prices)
    """What launches and references of the case cost."""

    careful: bool = False
    """The operator writes beside its own memory, so that no launch may go unwatched."""

    @property
    def expired(self) -> bool:
        """The budget is used up: begin nothing new."""
        return self.budget.expired

    def launch(self, arguments: Arguments, *, watched: bool = False, seed: int | None = None) -> Outputs | None:
        """Outputs of one launch on copies of `arguments`; None when it ends in anything else. The random generators
        have the case's seed unless there is another.

        A watched launch finds all fresh memory filled with the same bytes, so that what it does not write is the same
        each time.
        """
        launcher = Launcher(self.operator, arguments, self.case.seed if seed is None else seed, careful=self.careful)
        try:
            return self._paid("launch", arguments, lambda: launcher.once(watched=watched))
        except PROBE_FAULTS:
            return None

    def reference(
        self, arguments: Arguments, observer: NodeObserver | None = None, change: Change | None = None
    ) -> list[torch.Tensor] | None:
        """Outputs of the torch reference in float64 on `arguments`, `change`d once they are wide, its steps shown to
        `observer`.

        None when there is no such reference, or it raised.
        """
        references = References(self.operator, arguments, _unheard, self.case.seed)
        try:
            return self._paid("reference", arguments, lambda: references.altered(arguments, observer, change))
        except BaseException:  # noqa: BLE001 - user code on arguments it was not written for; exits too
            return None

    def position(self, output: str) -> int:
        """Place of an output among the operator's and the references' outputs."""
        return list(self.outputs).index(output)

    def arguments_at(self, dims: Mapping[str, int]) -> Arguments:
        """Pristine arguments at other dims, all else as in the case. Raises as `make_arguments` does."""
        with isolated(self.case.seed):
            return make_arguments(self.operator, replace(self.case, dims={**self.case.dims, **dims}))

    def passes(self, arguments: Arguments, failure: Failure | None = None) -> bool | None:
        """Whether the operator is right on other arguments; None when that cannot be said.

        At a glance where the failure of its only output is given, by a full verification otherwise.
        """
        seen = None if failure is None else self._glance(arguments, failure)
        return _passed(self._verified(self.case, arguments)) if seen is None else seen

    def right(self, arguments: Arguments, outputs: Outputs, failure: Failure | None = None) -> bool | None:
        """Whether these outputs are right on `arguments`; None when that cannot be said. At a glance as in `passes`."""
        seen = None if failure is None else self._seen(arguments, outputs, failure)
        return _passed(self._paid("judge", arguments, lambda: self.judge(arguments, outputs))) if seen is None else seen

    def passes_at(self, dims: Mapping[str, int], failure: Failure) -> bool | None:
        """Whether it is right at other dims, all else as in the case; None when that cannot be said."""
        try:
            arguments = self.arguments_at(dims)
        except (OpsdebugError, Unsupported):
            return None
        seen = self._glance(arguments, failure)
        return _passed(self.observe_at(dims)) if seen is None else seen

    def _glance(self, arguments: Arguments, failure: Failure) -> bool | None:
        outputs = self.launch(arguments) if len(self.outputs) == 1 else None
        return None if outputs is None else self._seen(arguments, outputs, failure)

    def _seen(self, arguments: Arguments, outputs: Outputs, failure: Failure) -> bool | None:
        if len(self.outputs) != 1 or failure.output not in outputs:
            return None
        wanted = self.reference(arguments)
        return None if not wanted else glance(failure, outputs[failure.output], wanted[0])

    def observe_at(self, dims: Mapping[str, int]) -> Observation:
        """What happens at other dims, all else as in the case."""
        case = replace(self.case, dims={**self.case.dims, **dims})
        return self.prices.pay(self.budget, "verify", math.prod(case.dims.values()), lambda: self.verify(case, None))

    def _verified(self, case: Case, arguments: Arguments) -> Observation:
        return self._paid("verify", arguments, lambda: self.verify(case, arguments))

    def _paid(self, what: str, arguments: Arguments, work: Callable[[], Result]) -> Result:
        elements = sum(value.numel() for _, value in arguments.leaves() if isinstance(value, torch.Tensor))
        return self.prices.pay(self.budget, what, elements, work)


def _passed(observation: Observation) -> bool | None:
    if observation.status is not Status.RAN or observation.structure or not observation.outputs:
        return None
    if any(output.accuracy is None for output in observation.outputs):
        return False
    return not any(output.rejected or output.disputed for output in observation.outputs)


def _unheard(_: str) -> None:
    """Probes leave no breadcrumbs: the phase is known."""
