"""From a selection to a judged and documented run: what `run` and the stages of `ci` share.

(1) select operators, leave out what a change cannot have touched; (2) plan cases; (3) run and judge them;
(4) group the failures; (5) decide the gate against what is known; (6) document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from opsdebug_ci.execution.pool import usable_cores
from opsdebug_ci.judge import judge, summarise
from opsdebug_ci.model import (
    Case,
    Judgement,
    KnownFailures,
    Observation,
    OperatorDescription,
    RecordedFailure,
    Status,
    Summary,
)
from opsdebug_ci.model.description import Unavailable
from opsdebug_ci.model.document import OperatorSource, RunDocument
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.run import CiContext, Revision
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Gate, Stage, Verdict
from opsdebug_ci.pipeline.attempt import Attempt
from opsdebug_ci.pipeline.batches import CASES_SHARE, Rations, batches, growing_batches
from opsdebug_ci.pipeline.budget import Budget
from opsdebug_ci.pipeline.causes import with_causes
from opsdebug_ci.pipeline.diagnosis import Diagnosis, Means, diagnose, undiagnosed
from opsdebug_ci.pipeline.planned import plan_facts
from opsdebug_ci.pipeline.record import run_record, start
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import (
    Axes,
    Configuration,
    cases,
    changed_files,
    is_glob,
    mismatch,
    select,
    shard,
    unchanged,
)
from opsdebug_ci.report import document


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What the gate compares with."""

    gate: Gate
    """Which failures gate."""

    known: KnownFailures = field(default_factory=KnownFailures)
    """What is recorded at the baseline, and where that was found."""

    how: str = ""
    """Which commit that is and how it was found, or why there is none, in a sentence; empty: nobody asked for one."""

    failures: tuple[RecordedFailure, ...] = ()
    """What is recorded there as failing, with all of its cases."""

    doubt: str = ""
    """Why what is recorded may count as new all the same, in a sentence; empty: it does not."""


class TerminatedError(SystemExit):
    """A signal has ended the run."""

    def __init__(self, document: RunDocument, code: object) -> None:
        super().__init__(code)
        self.document = document
        """What was judged until then."""


def verify(
    selection: Selection,
    bench: Workbench,
    configuration: Configuration,
    world: World,
    *,
    baseline: Baseline,
    revision: Revision,
    ci: CiContext,
    attempt: Attempt | None = None,
) -> RunDocument:
    """Run the selection and document what happened. Stores nothing, prints nothing.

    `attempt` says what is left of the budget and what is judged already; None: one that begins now, of the selection.

    Raises:
        TerminatedError: a signal came, for which the process is to exit; has the document of what was judged.
    """
    began = start(world)
    attempt = attempt or Attempt(budget=Budget.begin("correctness", selection.budget_s, world.monotonic_ns))
    wanted, left_out = _parted(selection, bench, configuration)
    whole = _planned(selection, wanted, bench)
    planned = _mine(selection, whole)
    rations = _rations(selection, planned)
    found: dict[str, Judgement] = {}
    signalled: SystemExit | None = None
    try:
        _judge_cases(selection, planned, wanted, bench, world, attempt, rations, found)
        found |= {judgement.case.id: judgement for judgement in with_causes(found, wanted, bench)}
        told = _diagnosed(_in_order(planned, found), selection, bench, configuration, world, revision, attempt)
    except SystemExit as exit_wanted:
        signalled, told = exit_wanted, undiagnosed(_in_order(planned, found))
    summary = summarise(
        told.judgements,
        told.groups,
        baseline.gate,
        baseline.known,
        planned=len(planned),
        membership=told.fingerprints,
        whole=len(planned) == len(whole),
    )
    if (left_out and not wanted) or (whole and not planned):
        summary = _nothing_to_do(summary)
    documented = document(
        run_record(selection.stage, bench.machine, configuration, world, began=began, revision=revision, ci=ci),
        told.judgements,
        summary,
        fingerprints=told.fingerprints,
        bundles=told.bundles,
        unchanged=left_out,
        unavailable=_unavailable(selection, bench),
        sources=_sources(wanted, configuration.root),
        notes=(*_cut_short(attempt, rations, len(found), len(planned), signalled), *told.notes),
        baseline=baseline.known.commit,
    )
    ids = [item.case.id for item in whole]
    finished = replace(documented, plan=plan_facts(selection, baseline.gate, revision, ids, mine=len(planned)))
    if signalled is None:
        return finished
    raise TerminatedError(finished, signalled.code)


def _cut_short(
    attempt: Attempt, rations: Rations | None, judged: int, planned: int, signalled: SystemExit | None
) -> Iterator[str]:
    """Why not all of the plan was judged, if so."""
    yield from attempt.told(judged, planned)
    yield from rations.told() if rations is not None else ()
    if signalled is not None:
        yield f"ended by a signal: {judged:,} of {planned:,} cases judged"


def nothing_judged(stage: Stage, configuration: Configuration, world: World) -> RunDocument:
    """The document of a run that a signal ended before it had one: not even its machine is known."""
    machine = Machine(
        key="",
        system="",
        cpu="",
        cores=0,
        memory_bytes=0,
        devices=(),
        python="",
        torch="",
        versions={},
        threads=0,
    )
    began, nothing = start(world), summarise((), (), Gate.ALL)
    record = run_record(stage, machine, configuration, world, began=began, revision=Revision(), ci=CiContext())
    return document(record, (), nothing, fingerprints={}, notes=("ended by a signal: no case is told",))


def _parted(
    selection: Selection, bench: Workbench, configuration: Configuration
) -> tuple[list[OperatorDescription], tuple[str, ...]]:
    """Operators to verify, and the names of those that the change cannot have touched."""
    selected = select(bench.catalogue.operators, selection.patterns)
    untouched = _untouched(selection, bench.catalogue.operators, configuration)
    wanted = [operator for operator in selected if operator.name not in untouched]
    return wanted, tuple(operator.name for operator in selected if operator.name in untouched)


def _diagnosed(
    judgements: Sequence[Judgement],
    selection: Selection,
    bench: Workbench,
    configuration: Configuration,
    world: World,
    revision: Revision,
    attempt: Attempt,
) -> Diagnosis:
    if selection.diagnosis_s is None:
        return undiagnosed(judgements)
    means = Means(
        bench=bench,
        configuration=configuration,
        revision=revision,
        world=world,
        seconds=attempt.seconds_for_diagnosis(selection.diagnosis_s),
        profile=selection.profile,
    )
    return diagnose(judgements, means)


def _untouched(
    selection: Selection, operators: Sequence[OperatorDescription], configuration: Configuration
) -> tuple[str, ...]:
    """Operators the change cannot have touched; all are asked about, so that each one's source is known as such."""
    if selection.changed is None:
        return ()
    files = changed_files(configuration.root, selection.changed)
    outputs: tuple[Path, ...] = () if configuration.store_directory is None else (configuration.store_directory,)
    return unchanged(operators, files, configuration.root, outputs=outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlannedCase:
    """A case, and whether it can take part."""

    case: Case
    """What to run."""

    excuse: str | None = None
    """Why it is skipped; None: it runs."""


def _planned(selection: Selection, operators: Sequence[OperatorDescription], bench: Workbench) -> list[_PlannedCase]:
    """Cases of all shards in order. An operator that cannot take part still has one, which says why."""
    planned: list[_PlannedCase] = []
    by_glob = not selection.patterns or any(is_glob(pattern) for pattern in selection.patterns)
    for operator in operators:
        unfit = mismatch(operator, selection.axes) if by_glob else None
        axes = selection.axes if unfit is None else Axes()
        limit = selection.limits.get(operator.name)
        mine = cases(operator, selection.stage, axes, selection.checks, bench.devices, budget=limit)[:limit]
        if mine and unfit is None:
            planned += [_PlannedCase(case=case) for case in mine]
            continue
        first = (mine or cases(operator, selection.stage, axes, selection.checks, operator.devices))[0]
        planned.append(_PlannedCase(case=first, excuse=unfit or f"no `{first.device}` device on this machine"))
    return planned


def _mine(selection: Selection, planned: list[_PlannedCase]) -> list[_PlannedCase]:
    if selection.shard is None:
        return planned
    mine = shard([item.case for item in planned], selection.shard.index, selection.shard.count)
    kept = {case.id for case in mine}
    return [item for item in planned if item.case.id in kept]


def _rations(selection: Selection, planned: Sequence[_PlannedCase]) -> Rations | None:
    """What each operator may take; None: all of its cases, as in stage `full`, or until it has failed often enough."""
    if selection.stage is Stage.FULL or selection.enough_failures is not None:
        return None
    total_s = None if selection.budget_s is None else CASES_SHARE * selection.budget_s * usable_cores()
    return Rations([item.case for item in planned if item.excuse is None], total_s)


def _in_order(planned: Sequence[_PlannedCase], found: Mapping[str, Judgement]) -> list[Judgement]:
    """Judgements in plan order; fewer than planned when the budget ran out."""
    return [found[item.case.id] for item in planned if item.case.id in found]


def _judge_cases(
    selection: Selection,
    planned: Sequence[_PlannedCase],
    operators: Sequence[OperatorDescription],
    bench: Workbench,
    world: World,
    attempt: Attempt,
    rations: Rations | None,
    found: dict[str, Judgement],
) -> None:
    """Judge the cases as they end, into `found`, so that what was judged is there when a signal comes."""
    contracts = {operator.name: operator.contract for operator in operators}
    failures: Counter[str] = Counter()
    world.progress.start(len(planned))
    try:
        for case, observation in _observed(selection, planned, bench, world, failures, attempt, rations):
            found[case.id] = judge(case, observation, contracts[case.operator])
            failures[case.operator] += found[case.id].verdict in FAILING_VERDICTS
            world.progress.step(found[case.id])
    finally:
        world.progress.stop()


def _observed(
    selection: Selection,
    planned: Sequence[_PlannedCase],
    bench: Workbench,
    world: World,
    failures: Mapping[str, int],
    attempt: Attempt,
    rations: Rations | None,
) -> Generator[tuple[Case, Observation], None, None]:
    """What happened in each case; `failures` counts the failing ones by operator as they are judged."""
    budget = attempt.budget_for_cases(selection.diagnosis_s)
    for item in planned:
        if item.excuse is not None:
            yield item.case, Observation(case_id=item.case.id, status=Status.SKIPPED, reason=item.excuse)
    earlier, rest = attempt.parted([item.case for item in planned if item.excuse is None])
    yield from earlier
    enough = selection.enough_failures
    for batch in batches(rest, enough) if rations is None else growing_batches(rest):
        wanted = [case for case in batch if enough is None or failures.get(case.operator, 0) < enough]
        world.progress.drop(len(batch) - len(wanted))
        if rations is not None:
            wanted, cut = rations.parted(wanted)
            yield from cut
        answers = bench.pool.run(wanted, selection.repeats, selection.profile, earlier=earlier, causes=False)
        for case, observation in answers:
            attempt.keep(observation)
            earlier.append((case, observation))
            if rations is not None:
                rations.pay(case, observation)
            yield case, observation
            if budget.is_spent():
                answers.close()
                yield from () if rations is None else rations.give_up(rest)
                return


def _unavailable(selection: Selection, bench: Workbench) -> tuple[Unavailable, ...]:
    """What belongs to a run of everything and cannot be had here."""
    return () if selection.patterns else bench.catalogue.unavailable


def _nothing_to_do(summary: Summary) -> Summary:
    """Every selected operator is untouched by the change, or other shards have all the cases: the gate passes."""
    return replace(summary, verdict=Verdict.PASS, exit_code=0)


def _sources(operators: Sequence[OperatorDescription], root: Path) -> tuple[OperatorSource, ...]:
    return tuple(
        OperatorSource(operator=operator.name, file=str(root / operator.source_file), line=operator.source_line or 1)
        for operator in operators
        if operator.source_file is not None
    )
