"""One case from start to end.

(1) domain: `requires`            -> skipped with its reason, inputs_broken when it raises
(2) inputs                        -> inputs_broken; backward, the operator of its gradients
(3) launches of the operator      -> raised, skipped when it says Unsupported
(4) references                    -> reference_broken when none answered and one should have
(5) comparison, output by output
(6) properties beyond values, on the everyday cases
(7) investigation of the outputs that failed

Deliberately draws no verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.model.bundle import StoredInputs
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.device_fault import context_lost
from opsdebug_ci.model.message import Breadcrumb, RunCase
from opsdebug_ci.model.observation import Durations, Observation, OutputReading
from opsdebug_ci.model.vocabulary import Confidence, Direction, Phase, ReferenceKind, Refusal, Status
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import examine
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.regions import located
from opsdebug_ci.numerics.spread import Spread
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.arithmetic import arithmetic_of
from opsdebug_ci.worker.differences import observe
from opsdebug_ci.worker.domain import check_domain
from opsdebug_ci.worker.exceptions import broken_inputs, facts_of, ran_out_of_memory
from opsdebug_ci.worker.hunt import Catch, hunt
from opsdebug_ci.worker.investigation import Exhibit, investigate
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.launch_reading import LaunchReading, Outputs
from opsdebug_ci.worker.launches import Launcher, NotAnOutput, OperatorFault
from opsdebug_ci.worker.pairing import beside
from opsdebug_ci.worker.preservation import inputs_of, telling_digest
from opsdebug_ci.worker.probes.budget import Budget
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.properties import is_everyday, readings
from opsdebug_ci.worker.properties.gradients import floored, gradient_operator
from opsdebug_ci.worker.properties.kinks import settled, undetermined, waived
from opsdebug_ci.worker.references import ReferenceAnswers, References
from opsdebug_ci.worker.refusals import MISTAKES, contradicted, empty_arguments, refusal_of, refused_by_reference
from opsdebug_ci.worker.sharing import unlike_reference
from opsdebug_ci.worker.structure import misdeclared, structure_mismatch

WHOLE_S = 15.0
"""What the causes of one case may cost, see `Budget`."""

PROPERTIES_S = 4.0
"""Seconds of work the properties beyond values may take in one case."""

Trail = Callable[[Breadcrumb], None]
"""Where breadcrumbs go before each phase."""

Witness = Callable[[Arguments, list[ComparedOutput]], None]
"""Is shown the arguments of a case and its outputs beside their references, after they were compared."""


def run_case(operator: Operator, request: RunCase, trail: Trail, witness: Witness | None = None) -> Observation:
    """Run one case of `operator`. Nothing the operator or its references raise escapes.

    A `witness` looks into the case itself, so nothing else does: no cause is sought then.
    """
    started, processor_ns = time.perf_counter_ns(), time.process_time_ns()
    trail(Breadcrumb(phase=Phase.INPUTS))
    explaining = request.explaining and witness is None
    seen = _run(operator, request, trail, started, arguments=None, explaining=explaining, witness=witness)
    return replace(seen, processor_ns=time.process_time_ns() - processor_ns)


def exhibit_of(operator: Operator, case: Case, inputs: StoredInputs | None) -> Exhibit | None:
    """A case launched and compared, to be looked at; None: it did not get that far."""
    made: list[Exhibit] = []
    now = time.perf_counter_ns()
    request = RunCase(case=case, inputs=inputs)
    _run(operator, request, _silent, now, arguments=None, explaining=False, exhibits=made)
    return made[0] if made else None


def _run(
    operator: Operator,
    request: RunCase,
    trail: Trail,
    started_ns: int,
    *,
    arguments: Arguments | None,
    explaining: bool,
    witness: Witness | None = None,
    exhibits: list[Exhibit] | None = None,
) -> Observation:
    case = request.case
    try:
        with isolated(case.seed):
            check_domain(operator, case)
            made = inputs_of(operator, case, request.inputs) if arguments is None else arguments
            trail, digest = (trail, None) if trail is _silent else telling_digest(trail, made)
            subject = operator
            if case.direction is not Direction.FORWARD:
                trail(Breadcrumb(phase=Phase.REFERENCE, detail="gradients"))
                subject = gradient_operator(operator, made, case)
    except Unsupported as refusal:
        return Observation(case_id=case.id, status=Status.SKIPPED, reason=str(refusal) or "unsupported")
    except OpsdebugError as error:
        return broken_inputs(case.id, error)
    run = _CaseRun(
        exhibits=exhibits,
        declared=operator,
        operator=subject,
        request=request,
        arguments=made,
        trail=trail,
        started_ns=started_ns,
        explaining=explaining,
        witness=witness,
    )
    return replace(run.observe(), inputs_digest=digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CaseRun:
    """A case whose inputs are made."""

    declared: Operator
    """The operator as declared."""

    operator: Operator
    """The function under test: the operator, or its gradients."""

    request: RunCase
    """What was asked."""

    arguments: Arguments
    """Its inputs, never written: launches and references get copies."""

    trail: Trail
    """Where breadcrumbs go."""

    started_ns: int
    """When the case began, on the monotonic clock."""

    explaining: bool
    """Failing outputs are investigated; not in a run that is itself a probe."""

    witness: Witness | None = None
    """Who is shown the outputs beside their references."""

    exhibits: list[Exhibit] | None = None
    """Where the case goes once it was compared, to be looked at by others; None: causes are sought here."""

    def observe(self) -> Observation:
        self.trail(Breadcrumb(phase=Phase.FUNCTION))
        launcher = Launcher(self.operator, self.arguments, self.request.case.seed)
        try:
            launch = observe(launcher, 1, self.request.profile)
            caught = self._hunted(launcher, launch)
        except Unsupported as refusal:
            return self._blank(Status.SKIPPED, str(refusal) or "unsupported")
        except OperatorFault as fault:
            return self._raised(fault.__cause__ or fault, launcher.duration_ns)
        except NotAnOutput as returned:
            blank = self._blank(Status.RAN, None)
            return replace(blank, structure=str(returned), durations=self._durations(launcher.duration_ns, 0))
        if caught is not None and caught.fault is not None:
            error = caught.fault.__cause__ or caught.fault
            return replace(self._fault(error, launcher.duration_ns), hunt=caught.reading)
        return self._verified(launch, caught)

    def _verified(self, launch: LaunchReading, caught: Catch | None) -> Observation:
        mistake = misdeclared(self.operator, self.arguments, tuple(launch.outputs))
        if mistake is not None:
            return self._blank(Status.INPUTS_BROKEN, mistake)
        asked_ns = time.perf_counter_ns()
        answers = self._ask(tuple(launch.outputs))
        reference_ns = time.perf_counter_ns() - asked_ns
        if not answers.outputs and any(reading.fault for reading in answers.readings):
            broken = next(reading for reading in answers.readings if reading.fault)
            refused = refused_by_reference(
                self.operator, self.arguments, self.request.case, returned=len(launch.outputs)
            )
            if refused is not None:
                seen = replace(self, explaining=False)._compared(launch, answers, reference_ns, caught)
                return replace(seen, refusal=Refusal.REFERENCE, reason=refused)
            blank = self._blank(Status.REFERENCE_BROKEN, f"reference `{broken.reference}`: {broken.reason}")
            return replace(blank, references=tuple(answers.readings))
        self.trail(Breadcrumb(phase=Phase.COMPARE))
        return self._compared(launch, answers, reference_ns, caught)

    def _hunted(self, launcher: Launcher, launch: LaunchReading) -> Catch | None:
        request = self.request
        if request.repeats == 1:
            return None

        def tell(detail: str) -> None:
            self.trail(Breadcrumb(phase=Phase.FUNCTION, detail=detail))

        return hunt(launcher, launch.outputs, request.repeats, request.hunt_s, tell)

    def _raised(self, error: BaseException, function_ns: int) -> Observation:
        """The operator's fault, unless its torch reference rejects the inputs too: then they lie outside the domain."""
        if ran_out_of_memory(error):
            return replace(self._blank(Status.OUT_OF_MEMORY, "out of memory"), exception=facts_of(error))
        hopeless = isinstance(error, MISTAKES) or context_lost(type(error).__name__, str(error))
        answers = ReferenceAnswers() if hopeless else self._ask(which=(ReferenceKind.TORCH,))
        if not answers.outputs and answers.readings:
            why = f"operator and torch reference both reject these inputs: {type(error).__name__}: {error}"
            return replace(self._blank(Status.SKIPPED, why[:500]), refusal=Refusal.REFERENCE)
        raised = self._fault(error, function_ns)
        refused = refusal_of(self.operator, self.arguments, self.request.case, error) if answers.outputs else None
        return raised if refused is None else replace(raised, refusal=refused[0], reason=refused[1])

    def _fault(self, error: BaseException, function_ns: int) -> Observation:
        blank = self._blank(Status.RAISED, f"{type(error).__name__}: {error}"[:500])
        return replace(blank, exception=facts_of(error), durations=self._durations(function_ns, 0))

    def _ask(self, names: tuple[str, ...] = (), which: tuple[ReferenceKind, ...] | None = None) -> ReferenceAnswers:
        """What the references say; `names` are those of the gradients that their answers will be held against."""

        def enter(detail: str) -> None:
            self.trail(Breadcrumb(phase=Phase.REFERENCE, detail=detail))

        references = References(self.operator, self.arguments, enter, self.request.case.seed)
        arithmetic = arithmetic_of(self.operator, self.request.case)
        answers = references.ask(which or self.request.case.checks, arithmetic)
        if self.request.case.direction is not Direction.FORWARD and names and answers.outputs:
            centre = next(iter(answers.outputs.values()))
            freedom = cache(lambda: undetermined(references.on, self.arguments, names, self.request.case.seed))

            def adjust(position: int, spread: Spread, last: bool) -> Spread:
                wide = floored(spread, centre[position], arithmetic.compute.unit_roundoff)
                free = freedom() if last else None
                return wide if free is None else waived(wide, free[position])

            answers.adjust = lambda position: partial(adjust, position)
        return answers

    def _compared(
        self, launch: LaunchReading, answers: ReferenceAnswers, reference_ns: int, caught: Catch | None
    ) -> Observation:
        structure = structure_mismatch(launch, answers)
        compared = [] if structure or not answers.outputs else self._beside(launch, answers)
        examined = [located(*self._examined(output)) for output in compared]
        if compared and caught is not None and caught.odd is not None and not any(f for _, f in examined):
            odd = replace(launch, outputs=caught.odd)
            if structure_mismatch(odd, answers) is None:
                launch, compared = odd, self._beside(odd, answers)
                examined = [located(*examine(output)) for output in compared]
        observation = Observation(
            case_id=self.request.case.id,
            status=Status.RAN,
            outputs=tuple(reading for reading, _ in examined),
            references=tuple(answers.readings),
            memory=launch.memory,
            reads=launch.reads,
            aliases=unlike_reference(
                launch.aliases, self.operator, self.arguments, self.request.case, tuple(launch.outputs)
            ),
            layout_changes=launch.layout_changes,
            guard=launch.guard,
            hunt=None if caught is None else caught.reading,
            repeat_mismatches=launch.repeat_mismatches or (0 if caught is None else caught.mismatches),
            unwritten=launch.unwritten,
            from_scratch=launch.from_scratch,
            structure=structure,
            durations=self._durations(launch.duration_ns, reference_ns),
        )
        if self.witness is not None:
            self.witness(self.arguments, compared)
        if self.exhibits is not None and structure is None:
            shown = [each for _, each in examined if each]
            self.exhibits.append(self._exhibit(observation, shown, launch, answers))
        doubt = self._doubt(observation, launch)
        if doubt is not None:
            return replace(observation, outputs=(), structure=None, refusal=Refusal.REFERENCE, reason=doubt)
        if not self.explaining or (caught is not None and launch.outputs is caught.odd):
            return observation  # what shows once in many launches is not there to be probed
        if structure is None and not launch.careful and is_everyday(self.request.case):
            observation = self._with_properties(observation, launch, answers, reference_ns)
        failures = [failure for _, failure in examined if failure is not None]
        return self._explained(observation, failures, launch, answers) if failures else observation

    def _examined(self, output: ComparedOutput) -> tuple[OutputReading, Failure | None]:
        shown = self.exhibits is not None
        return examine(output, passing=shown, excusing=not shown)

    def _doubt(self, observation: Observation, launch: LaunchReading) -> str | None:
        """Why references cannot judge the outputs for empty inputs; None: they can, or agree with the operator."""
        case, outputs = self.request.case, observation.outputs
        if not empty_arguments(self.operator, case):
            return None
        if any(output.rejected or output.actual != output.expected for output in outputs):
            return contradicted(self.operator, case, list(launch.outputs.values()))
        torn = any(output.disputed or (output.confidence is Confidence.LOW and output.votes) for output in outputs)
        return "the references disagree about inputs without elements" if torn else None

    def _with_properties(
        self, observation: Observation, launch: LaunchReading, answers: ReferenceAnswers, reference_ns: int
    ) -> Observation:
        self.trail(Breadcrumb(phase=Phase.FUNCTION, detail="properties", observation=observation))
        found = readings(self._scene(launch, answers, Budget(PROPERTIES_S)), launch, reference_ns)
        spent = observation.durations
        total_ns = time.perf_counter_ns() - self.started_ns
        durations = None if spent is None else replace(spent, total_ns=total_ns)
        return replace(observation, properties=found, durations=durations)

    def _explained(
        self, observation: Observation, failures: list[Failure], launch: LaunchReading, answers: ReferenceAnswers
    ) -> Observation:
        if not self.request.causes:
            return observation
        self.trail(Breadcrumb(phase=Phase.PROBE, observation=observation))
        found = investigate([self._exhibit(observation, failures, launch, answers)])[observation.case_id]
        mismatches = found.mismatches or observation.repeat_mismatches
        return replace(observation, clues=found.clues, origin=found.origin, repeat_mismatches=mismatches)

    def _exhibit(
        self, observation: Observation, failures: Sequence[Failure], launch: LaunchReading, answers: ReferenceAnswers
    ) -> Exhibit:
        return Exhibit(
            case=self.request.case,
            observation=observation,
            failures=tuple(failures),
            scene=self._scene(launch, answers, Budget(WHOLE_S)),
        )

    def _scene(self, launch: LaunchReading, answers: ReferenceAnswers, budget: Budget) -> Scene:
        return Scene(
            operator=self.operator,
            case=self.request.case,
            arguments=self.arguments,
            outputs=launch.outputs,
            precise=answers.outputs.get(ReferenceKind.PRECISE),
            verify=self._verify,
            judge=partial(self._judge, launch),
            budget=budget,
            careful=launch.careful,
        )

    def _verify(self, case: Case, arguments: Arguments | None) -> Observation:
        """Another run of the operator, silent and unexplained."""
        now = time.perf_counter_ns()
        return _run(self.declared, RunCase(case=case), _silent, now, arguments=arguments, explaining=False)

    def _judge(self, launch: LaunchReading, arguments: Arguments, outputs: Outputs) -> Observation:
        """These very `outputs` beside the references on `arguments`, unexplained; nothing is launched."""
        there = replace(self, arguments=arguments, trail=_silent, explaining=False, witness=None)
        return there._compared(replace(launch, outputs=outputs), there._ask(tuple(outputs)), 0, None)

    def _beside(self, launch: LaunchReading, answers: ReferenceAnswers) -> list[ComparedOutput]:
        forward = self.request.case.direction is Direction.FORWARD
        outputs = launch.outputs if forward else settled(launch.outputs, answers.outputs)
        return beside(self.operator, self.declared, self.request.case, self.arguments, outputs, answers)

    def _blank(self, status: Status, reason: str | None) -> Observation:
        return Observation(case_id=self.request.case.id, status=status, reason=reason)

    def _durations(self, function_ns: int, reference_ns: int) -> Durations:
        return Durations(
            total_ns=time.perf_counter_ns() - self.started_ns, function_ns=function_ns, reference_ns=reference_ns
        )


def _silent(_: Breadcrumb) -> None:
    """Where the breadcrumbs of a probe go: its phase is known."""
