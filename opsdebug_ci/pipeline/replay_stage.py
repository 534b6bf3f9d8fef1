"""`opsdebug ci --stage replay`: every stored failure again, so that history does not repeat.

(1) find the bundles, one of each failure on the same bytes, those of the oldest cause first; (2) leave out those of
other operators and shards; (3) make the tries, in parallel; (4) gate: a failure that shows and that nobody has accepted
fails the run, whenever it was recorded; (5) document. A bundle that was not tried is in the document with its reason,
or in its notes where it was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from opsdebug_ci.errors import UsageError
from opsdebug_ci.execution.lane import HUNT_SHARE
from opsdebug_ci.failures import fingerprint, fingerprints, group
from opsdebug_ci.failures.flakiness import tries_to_see
from opsdebug_ci.judge import judge, summarise
from opsdebug_ci.model import FAILING_VERDICTS, Gate, Group, Judgement, KnownFailures, Observation, Status, Summary
from opsdebug_ci.model.bundle import BundleManifest
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.run import CiContext, Revision
from opsdebug_ci.model.vocabulary import Stage, Verdict
from opsdebug_ci.pipeline.budget import SECOND_NS
from opsdebug_ci.pipeline.planned import plan_facts
from opsdebug_ci.pipeline.record import run_record, start
from opsdebug_ci.pipeline.replay_places import Entry, every_bundle, has_places, look_into
from opsdebug_ci.pipeline.replay_tries import Attempt, described, make_attempts, obstacle
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, Shard, select_names
from opsdebug_ci.report import document
from opsdebug_ci.report.replay import SHORT

UNCOUNTED = 5
"""Tries of a failure whose rate was never counted: one worker's. One that shows in six of ten runs is then seen."""

MOST_TRIES = 90
"""Tries of one bundle at most: a failure that shows in one of twenty runs is then seen."""

_LAST = datetime.max.replace(tzinfo=timezone.utc)
"""Stands for a failure that no run has recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the store says of failures."""

    accepted: frozenset[str] = frozenset()
    """Fingerprints a person has accepted."""

    first_seen: Mapping[str, datetime] = field(default_factory=dict)
    """Fingerprint -> when it was first recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replayed:
    """A bundle that could be read, judged."""

    entry: Entry
    """Which."""

    judgement: Judgement
    """What stands for its tries, or why there were none."""

    fingerprint: str | None
    """Of the failure that showed: the recorded one where it did; None: none showed."""


def replay_all(
    selection: Selection,
    bench: Workbench,
    configuration: Configuration,
    world: World,
    *,
    memory: Memory,
    revision: Revision,
    ci: CiContext,
) -> RunDocument:
    """Replay every bundle of the selection and document what happened. Stores nothing, prints nothing.

    Raises:
        UsageError: the selection asks for an operator that is not there and has no bundle.
    """
    began = start(world)
    entries = [look_into(found) for found in every_bundle(configuration, world.environ)]
    distinct = without_repeats(_of_operators(entries, selection.patterns, bench))
    wanted = in_order(of_shard(distinct, selection.shard), memory)
    replayed = _replayed(wanted, bench, configuration, world, _until(selection, world, began.ns))
    judgements = [item.judgement for item in replayed]
    summary = _summary(replayed, configuration.gate, memory.accepted, planned=len(wanted))
    if not wanted and has_places(configuration, world.environ):
        summary = replace(summary, verdict=Verdict.PASS, exit_code=0)
    record = run_record(Stage.REPLAY, bench.machine, configuration, world, began=began, revision=revision, ci=ci)
    notes = tuple(_notes(wanted, replayed, memory))
    bundles = sorted(entry.sha256 for entry in distinct)
    plan = plan_facts(selection, configuration.gate, revision, bundles, mine=len(wanted))
    told = document(record, judgements, summary, fingerprints={}, notes=notes)
    observations = tuple(
        replace(observation, bundle=item.entry.sha256, fingerprint=item.fingerprint)
        for observation, item in zip(told.observations, replayed, strict=True)
    )
    return replace(told, observations=observations, plan=plan)


def check_selection(selection: Selection) -> None:
    """Raises UsageError when only changed operators are asked for: history is replayed whatever has changed."""
    if selection.changed is not None:
        raise UsageError(
            "`--changed` is given with `--stage replay`; wanted all bundles, whatever has changed",
            next_step="leave out `--changed`, or pick operators with `--operators`",
        )


def _of_operators(entries: Iterable[Entry], patterns: Sequence[str], bench: Workbench) -> list[Entry]:
    """Bundles of the named operators; refused ones tell nothing of theirs, and belong to all."""
    every = list(entries)
    recorded = [entry.manifest.case.operator for entry in every if entry.manifest is not None]
    present = [operator.name for operator in bench.catalogue.operators]
    names = select_names(list(dict.fromkeys((*present, *recorded))), patterns)
    return [entry for entry in every if entry.manifest is None or entry.manifest.case.operator in names]


def without_repeats(entries: Iterable[Entry]) -> list[Entry]:
    """One bundle of every failure on the same bytes, whatever commit and machine it was recorded at.

    Of several the one that was counted, for it says how many tries it takes; else the first by hash.
    """
    kept: dict[tuple[str, str, str], Entry] = {}
    for entry in sorted(entries, key=lambda entry: (not _is_counted(entry), entry.sha256)):
        manifest = entry.manifest
        if manifest is None:
            kept.setdefault((entry.sha256, "", ""), entry)
        else:
            digest = "" if manifest.inputs is None else manifest.inputs.digest
            kept.setdefault((manifest.case.id, manifest.fingerprint, digest), entry)
    return list(kept.values())


def _is_counted(entry: Entry) -> bool:
    return entry.manifest is not None and entry.manifest.rate is not None


def of_shard(entries: Sequence[Entry], shard: Shard | None) -> list[Entry]:
    """One part of the bundles, dealt in the order of their hashes."""
    ordered = sorted(entries, key=lambda entry: entry.sha256)
    return ordered if shard is None else ordered[shard.index - 1 :: shard.count]


def in_order(entries: Iterable[Entry], memory: Memory) -> list[Entry]:
    """One bundle of every cause, the oldest cause first, then a second one of each, and so on; by hash where equal.

    What no run has recorded comes last in each turn. A budget so ends after every cause rather than in the first.
    """

    def age(entry: Entry) -> tuple[datetime, str]:
        recorded = None if entry.manifest is None else memory.first_seen.get(entry.manifest.fingerprint)
        return recorded or _LAST, entry.sha256

    turns: dict[str, int] = {}
    turn: dict[str, int] = {}
    aged = sorted(entries, key=age)
    for entry in aged:
        cause = entry.sha256 if entry.manifest is None else entry.manifest.fingerprint
        turn[entry.sha256] = turns[cause] = turns.get(cause, -1) + 1
    return sorted(aged, key=lambda entry: turn[entry.sha256])


def _until(selection: Selection, world: World, started_ns: int) -> Callable[[], bool]:
    """Whether the budget is not spent yet."""
    budget_s = selection.budget_s
    if budget_s is None:
        return lambda: True
    return lambda: world.monotonic_ns() - started_ns <= budget_s * SECOND_NS


def _replayed(
    entries: Sequence[Entry],
    bench: Workbench,
    configuration: Configuration,
    world: World,
    in_time: Callable[[], bool],
) -> list[_Replayed]:
    """What became of every bundle that could be read, in order; fewer where the budget was spent."""
    attempts: dict[str, Attempt] = {}
    excused: dict[str, Judgement] = {}
    for entry in entries:
        if entry.manifest is None:
            continue
        hindered, description = obstacle(entry.manifest, bench), described(entry.manifest, bench)
        if hindered is not None or description is None:
            excused[entry.sha256] = _without_try(entry.manifest, Status.SKIPPED, hindered.reason if hindered else "")
            continue
        attempts[entry.sha256] = Attempt(
            entry, description, tries=tries_of(entry.manifest), until_reproduced=True, in_time=in_time
        )
    make_attempts(tuple(attempts.values()), bench, world, configuration.timeout_s * HUNT_SHARE)
    found = (
        _tried(entry, attempts[entry.sha256])
        if entry.sha256 in attempts
        else _Replayed(entry=entry, judgement=excused[entry.sha256], fingerprint=None)
        for entry in entries
        if entry.manifest is not None
    )
    return [item for item in found if item is not None]


def tries_of(manifest: BundleManifest) -> int:
    """Tries in which the failure shows if it is still there, at the rate it was counted with; 99 times in 100."""
    rate = manifest.rate
    if rate is None or not rate.failed or not rate.tries:
        return UNCOUNTED
    return min(MOST_TRIES, tries_to_see(min(1.0, rate.failed / rate.tries)))


def _tried(entry: Entry, attempt: Attempt) -> _Replayed | None:
    """What stands for the tries of one bundle; None: there was no time for any."""
    if attempt.refusal is not None:
        refused = _without_try(attempt.manifest, Status.INPUTS_BROKEN, attempt.refusal)
        return _Replayed(entry=entry, judgement=refused, fingerprint=None)
    judgement = attempt.telling
    if judgement is None:
        return None
    known = judgement.verdict in FAILING_VERDICTS and attempt.reproduces(judgement)
    shown = attempt.manifest.fingerprint if known else fingerprint(judgement)
    return _Replayed(entry=entry, judgement=judgement, fingerprint=shown)


def _without_try(manifest: BundleManifest, status: Status, reason: str) -> Judgement:
    """The judgement of a case that was not run."""
    return judge(manifest.case, Observation(case_id=manifest.case.id, status=status, reason=reason), Contract())


def _summary(replayed: Sequence[_Replayed], gate: Gate, accepted: frozenset[str], *, planned: int) -> Summary:
    """Gates like `all`, but for accepted failures."""
    judgements = [item.judgement for item in replayed]
    failing = [item for item in replayed if item.judgement.verdict in FAILING_VERDICTS]
    groups = tuple(_with_bundle(found, replayed) for found in group(judgements))
    if gate is not Gate.NEVER:
        gate = Gate.NEW if all(_is_accepted(item, accepted) for item in failing) else Gate.ALL
    membership = fingerprints(judgements)
    new = {item.judgement.case.id for item in failing if not _is_accepted(item, accepted)}
    gating = {membership[case] for case in new if case in membership}
    known = KnownFailures(
        fingerprints=frozenset(
            name for found in groups if found.fingerprint not in gating for name in (found.fingerprint, *found.members)
        ),
        cases=frozenset(item.judgement.case.id for item in failing) - new,
    )
    return summarise(judgements, groups, gate, known, planned=planned, membership=membership)


def _is_accepted(item: _Replayed, accepted: frozenset[str]) -> bool:
    """Whether a person accepted the failure, under the name it was recorded with or the one it has today."""
    return item.fingerprint in accepted or fingerprint(item.judgement) in accepted


def _with_bundle(found: Group, replayed: Sequence[_Replayed]) -> Group:
    """A group with the bundle of its representative."""
    first = next((item for item in replayed if item.judgement.case.id == found.cases[0]), None)
    if first is None:
        return found
    return replace(found, bundle=first.entry.sha256, replay=f"opsdebug replay {first.entry.sha256[:SHORT]}")


def _notes(entries: Sequence[Entry], replayed: Sequence[_Replayed], memory: Memory) -> Iterable[str]:
    """What the cases alone do not say."""
    if not entries:
        yield "no bundle is stored for this selection: there is nothing to replay"
    for entry in entries:
        if entry.manifest is None:
            yield f"bundle {entry.sha256[:SHORT]} in {entry.found.place} is refused: {entry.refusal}"
    for item in replayed:
        if item.judgement.verdict in FAILING_VERDICTS and _is_accepted(item, memory.accepted):
            name = f"{item.fingerprint} of `{item.judgement.case.operator}`"
            yield f"failure {name} (bundle {item.entry.sha256[:SHORT]}) is accepted and does not gate"
    missing = sum(entry.manifest is not None for entry in entries) - len(replayed)
    if missing:
        yield f"the budget was spent before {missing:,} of {len(entries):,} bundles were tried"
