"""From judged cases to the public document.

Decides which internal values become public, and the commands to run next. Renders nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.description import Unavailable
from opsdebug_ci.model.document import (
    RUN_SCHEMA,
    ObservationDocument,
    OperatorSource,
    OutputDocument,
    RunDocument,
    TimingDocument,
)
from opsdebug_ci.model.judgement import Judgement, Summary
from opsdebug_ci.model.observation import Durations, OutputReading
from opsdebug_ci.model.run import RunRecord
from opsdebug_ci.model.vocabulary import Stage, Verdict

NEXT_COMMANDS = 5
"""Commands listed at the end of a run: one per group, the largest groups first."""

EXAMPLE_QUERY = 'opsdebug sql "select operator, count(*) from accuracy group by 1"'
"""Next step after a stage in which nothing failed."""


RUN_ALL = "opsdebug ci --stage smoke"
"""Next step where there was nothing to run: the same without `--changed`; and after operators picked by hand."""


def document(
    record: RunRecord,
    judgements: Sequence[Judgement],
    summary: Summary,
    *,
    fingerprints: Mapping[str, str],
    bundles: Mapping[str, str] | None = None,
    unchanged: tuple[str, ...] = (),
    unavailable: tuple[Unavailable, ...] = (),
    sources: tuple[OperatorSource, ...] = (),
    notes: tuple[str, ...] = (),
    baseline: str | None = None,
) -> RunDocument:
    """The document of a run.

    Args:
        record: facts of the invocation.
        judgements: every judged case, in plan order.
        summary: what they come to.
        fingerprints: case id -> fingerprint, of the cases that failed.
        bundles: case id -> sha256 of the bundle, of the cases that failed.
        unchanged: operators left out because nothing of theirs changed.
        unavailable: operators that cannot run on this machine.
        sources: where operators are defined.
        notes: what a reader must know beside the cases.
        baseline: commit compared with, when there was one.
    """
    return RunDocument(
        schema=RUN_SCHEMA,
        run=record,
        observations=tuple(_observation(judgement, fingerprints, bundles or {}) for judgement in judgements),
        summary=summary,
        next=(RUN_ALL,) if unchanged and not judgements else _next(record, judgements, summary),
        stage=None if record.stage is Stage.RUN else str(record.stage),
        baseline=baseline,
        unchanged=unchanged,
        unavailable=unavailable,
        sources=sources,
        notes=notes,
    )


def _observation(
    judgement: Judgement, fingerprints: Mapping[str, str], bundles: Mapping[str, str]
) -> ObservationDocument:
    observation = judgement.observation
    worst = observation.worst_output
    return ObservationDocument(
        case=case_document(judgement.case),
        verdict=judgement.verdict,
        reason=observation.reason,
        reference=judgement.reference,
        accuracy=None if worst is None else worst.accuracy,
        outputs=tuple(_output(output) for output in observation.outputs),
        findings=judgement.findings,
        timing=None if observation.durations is None else _timing(observation.durations),
        fingerprint=fingerprints.get(judgement.case.id),
        bundle=bundles.get(judgement.case.id),
    )


def case_document(case: Case) -> CaseDocument:
    """The public form of a case."""
    return CaseDocument(
        id=case.id,
        name=case.name,
        operator=case.operator,
        dtype=case.dtype,
        dims=dict(case.dims),
        layout=str(case.layout),
        inputs=str(case.inputs),
        seed=case.seed,
        device=case.device,
        direction=str(case.direction),
    )


def _output(output: OutputReading) -> OutputDocument:
    return OutputDocument(
        name=output.name,
        kind=str(output.kind),
        shape=output.actual.shape,
        dtype=output.actual.dtype,
        accuracy=output.accuracy,
        bad_region=output.bad_region,
    )


def _timing(durations: Durations) -> TimingDocument:
    return TimingDocument(
        total_ns=durations.total_ns, function_ns=durations.function_ns, reference_ns=durations.reference_ns
    )


def _next(record: RunRecord, judgements: Sequence[Judgement], summary: Summary) -> tuple[str, ...]:
    """Reruns of each group's representative, then of the first unsettled case; else the obvious next step."""
    by_id = {judgement.case.id: judgement for judgement in judgements}
    failing = [by_id[group.cases[0]] for group in summary.groups if group.cases and group.cases[0] in by_id]
    unsettled = [j for j in judgements if j.verdict in (Verdict.ERROR, Verdict.INCONCLUSIVE)][:1]
    commands = _distinct(j.findings[0].next for j in (*failing, *unsettled) if j.findings)
    if commands:
        return commands[:NEXT_COMMANDS]
    if not any(j.verdict is Verdict.PASS for j in judgements):
        return ("opsdebug doctor",)
    return (RUN_ALL,) if record.stage is Stage.RUN else (EXAMPLE_QUERY,)


def _distinct(commands: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(commands))
