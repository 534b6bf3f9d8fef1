"""Runs and their shards from a small notation: `cases("gelu:pass*3 softmax:fail")`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from judge_notation import ended, judged, output, process, raised, ran

from opsdebug_ci.failures import fingerprints, group
from opsdebug_ci.judge import summarise
from opsdebug_ci.model import (
    CiContext,
    Gate,
    Judgement,
    KnownFailures,
    Machine,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
)
from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.publication import ShardOutcome, ShardState
from opsdebug_ci.model.shard import SHARD_SCHEMA, ShardDocument
from opsdebug_ci.plan import shard as part
from opsdebug_ci.report import document

HEAD = "a1" * 20
"""Newest commit of the change."""

OBSERVED = {
    "pass": lambda: ran(output()),
    "fail": raised,
    "wrong": lambda: ran(output(rejected=1)),
    "crash": lambda: ended("crashed", process=process()),
    "timeout": lambda: ended("timed_out", process=process()),
    "error": lambda: ended("inputs_broken", reason="`inputs` returned None"),
    "inconclusive": lambda: ran(output(disputed=1)),
    "skipped": lambda: ended("skipped", reason="no C compiler here"),
}

RECORD = RunRecord(
    id="run-1",
    commit="c1" * 20,
    stage=Stage.SMOKE,
    started_at="2026-11-29T12:00:00Z",
    duration_ns=1_500_000_000,
    machine=Machine(
        key="k",
        system="Linux x86_64",
        cpu="cpu",
        cores=2,
        memory_bytes=2**33,
        devices=(),
        python="3.11.2",
        torch="2.13.0",
        versions={"numpy": "2.3.5"},
        threads=2,
    ),
    revision=Revision(commit="c1" * 20, tree="e1" * 20),
    ci=CiContext(),
    tool_version="0.1.0",
    config_hash="00",
)


def cases(text: str) -> list[Judgement]:
    """`operator:verdict*times`, separated by blanks; `wrong` is a `fail` without a named cause."""
    found: list[Judgement] = []
    for word in text.split():
        operator, _, rest = word.partition(":")
        verdict, _, times = rest.partition("*")
        for _ in range(int(times or 1)):
            found.append(judged(OBSERVED[verdict](), operator=operator, seed=len(found)))
    return found


def known(text: str) -> KnownFailures:
    """What a baseline knows at which these cases failed."""
    recorded = cases(text)
    names = [each.fingerprint for each in group(recorded)]
    return KnownFailures(
        commit="b1" * 20,
        fingerprints=frozenset(names),
        cases=frozenset(each.case.id for each in recorded),
        since=dict.fromkeys(names, "b1" * 20),
    )


def run_of(
    judgements: Sequence[Judgement],
    *,
    gate: Gate = Gate.NEW,
    baseline: KnownFailures | None = None,
    whole: Sequence[Judgement] | None = None,
    planned: int | None = None,
    stage: Stage = Stage.SMOKE,
    **facts: object,
) -> RunDocument:
    """A run of `judgements`, of the `whole` that was planned; of `planned` cases where some were not run."""
    every = judgements if whole is None else whole
    mine = len(judgements) if planned is None else planned
    names = fingerprints(judgements)
    summary = summarise(judgements, group(judgements), gate, baseline, planned=mine, membership=names)
    plan = PlanFacts(id="9" * 64, cases=max(len(every), mine), mine=mine, gate=gate)
    told = document(replace(RECORD, stage=stage), judgements, summary, fingerprints=names, **facts)
    return replace(told, plan=plan)


def shard_of(run: RunDocument | None, number: int = 1, of: int = 1, **facts: object) -> ShardDocument:
    """What a job leaves."""
    said = ShardDocument(
        schema=SHARD_SCHEMA,
        suite="default",
        stage="smoke" if run is None else str(run.stage),
        shard=number,
        shards=of,
        attempt=1,
        repository="o/r",
        ci_run=77,
        head_commit=HEAD,
        exit_code=2 if run is None else run.summary.exit_code,
        run=run,
        error="the configuration is missing" if run is None else "",
    )
    return replace(said, **facts)


def divided(
    judgements: Sequence[Judgement],
    number: int,
    *,
    gate: Gate = Gate.NEW,
    baseline: KnownFailures | None = None,
    stage: Stage = Stage.SMOKE,
) -> list[ShardDocument]:
    """The shards of a run, dealt as `--shard` deals."""
    shards = []
    for index in range(1, number + 1):
        mine = {case.id for case in part([each.case for each in judgements], index, number)}
        dealt = [each for each in judgements if each.case.id in mine]
        run = run_of(dealt, gate=gate, baseline=baseline, whole=judgements, stage=stage)
        shards.append(shard_of(run, index, number))
    return shards


def outcomes(text: str) -> list[ShardOutcome]:
    """`taken missing rejected failed`, shard by shard."""
    return [
        ShardOutcome(shard=number, state=ShardState(word), reason="" if word == "taken" else "so it is")
        for number, word in enumerate(text.split(), 1)
    ]
