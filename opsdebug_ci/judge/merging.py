"""The shards of a stage as one run, and what that comes to.

Decides it from the cases and the groups that are known, never from the summaries of the shards: (1) leave out what
cannot be part of the whole; (2) put the rest together; (3) say what is missing; (4) conclude, the worst first. What is
missing is never a pass, and neither is a run in which nothing was judged, unless nothing was to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from opsdebug_ci.judge.gate import EXIT_FAIL, EXIT_PASS, EXIT_UNSETTLED
from opsdebug_ci.judge.merged_groups import merged_groups
from opsdebug_ci.judge.merged_speed import merged_speed
from opsdebug_ci.model.document import ObservationDocument, PlanFacts, RunDocument
from opsdebug_ci.model.gating import case_key, gates, is_judged, possible_endings, unsettled
from opsdebug_ci.model.judgement import RecordedFailure, Summary
from opsdebug_ci.model.publication import Conclusion, ShardOutcome, ShardState
from opsdebug_ci.model.shard import ShardDocument
from opsdebug_ci.model.vocabulary import Gate, Verdict

NEXT_COMMANDS = 5
"""Commands kept of all shards."""

_STRICTEST = (Gate.ALL, Gate.NEW, Gate.NEVER)

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """All shards as one."""

    document: RunDocument | None
    """The run; None: no shard has one."""

    conclusion: Conclusion
    """What it comes to."""

    reasons: tuple[str, ...]
    """Why it is broken, incomplete or inconclusive, in sentences; untrusted text may be part of them."""


def merge(shards: Sequence[ShardDocument], outcomes: Sequence[ShardOutcome]) -> Merged:
    """Put shards together.

    Args:
        shards: those that were taken, in any order; one without a run says why.
        outcomes: every planned shard; of those that failed, their own words are the reason.
    """
    ordered = sorted(shards, key=lambda shard: shard.shard)
    broken = [*_failed(ordered, outcomes)]
    missing = [*_missing(outcomes)]
    runs, left_out = _fitting([(shard.shard, shard.run) for shard in ordered if shard.run is not None])
    document = _united(runs) if runs else None
    missing += left_out
    if document is not None:
        missing += _incomplete(document, runs, whole=not (broken or missing))
    elif not outcomes and not broken:
        missing.append("there is no shard")
    return _concluded(document, runs, broken, missing)


def _failed(shards: Iterable[ShardDocument], outcomes: Iterable[ShardOutcome]) -> Iterable[str]:
    told = {each.shard: each.reason for each in outcomes if each.state is ShardState.FAILED}
    own = {shard.shard: shard.error for shard in shards if shard.run is None}
    for number in sorted(told.keys() | own.keys()):
        yield f"shard {number} has no run: {own.get(number) or told.get(number) or 'it does not say why'}"


def _missing(outcomes: Iterable[ShardOutcome]) -> Iterable[str]:
    words = {ShardState.MISSING: "is missing", ShardState.REJECTED: "was not taken"}
    for each in outcomes:
        if each.state in words:
            yield f"shard {each.shard} {words[each.state]}" + (f": {each.reason}" if each.reason else "")


def _fitting(shards: Iterable[tuple[int, RunDocument]]) -> tuple[list[RunDocument], list[str]]:
    """Runs of one stage that have no case in common, and why the others are left out."""
    runs: list[RunDocument] = []
    reasons: list[str] = []
    owners: dict[tuple[str, str], int] = {}
    for number, run in shards:
        keys = [case_key(each, run.stage) for each in run.observations]
        twice = next((key for key in keys if key in owners), None)
        if runs and run.stage != runs[0].stage:
            reasons.append(f"shard {number} was not taken: it is of stage `{run.stage}`, the others of another")
        elif twice is not None:
            reasons.append(f"shard {number} was not taken: case {twice[0]} is in shard {owners[twice]} already")
        else:
            owners.update(dict.fromkeys(keys, number))
            runs.append(run)
    return runs, reasons


def _incomplete(document: RunDocument, runs: Sequence[RunDocument], *, whole: bool) -> Iterable[str]:
    """Why the runs that were taken are not all that was planned, beyond the shards that are known to be missing."""
    plans = [run.plan for run in runs if run.plan is not None]
    if len(plans) < len(runs):
        yield "a shard does not say what was planned"
    elif document.plan is None:
        yield f"the shards are of {len({plan.id for plan in plans})} different plans"
    elif whole and len(document.observations) < document.plan.cases:
        yield f"{len(document.observations):,} of {document.plan.cases:,} planned cases were judged"


def _united(runs: Sequence[RunDocument]) -> RunDocument:
    """One run of several; what there is but one of is the first one's."""
    if len(runs) == 1:
        return _summarised(runs[0], runs)
    first = runs[0]
    speed = [run.performance for run in runs if run.performance is not None]
    unchanged = frozenset(first.unchanged).intersection(*(run.unchanged for run in runs))
    united = replace(
        first,
        run=replace(first.run, duration_ns=max(run.run.duration_ns for run in runs)),
        observations=tuple(chain.from_iterable(run.observations for run in runs)),
        next=_next(runs),
        baseline_doubt=next((run.baseline_doubt for run in runs if run.baseline_doubt), ""),
        recorded=_agreed(runs),
        regressions=_once(run.regressions for run in runs),
        unavailable=_once(run.unavailable for run in runs),
        unchanged=tuple(name for name in first.unchanged if name in unchanged),
        notes=_once(run.notes for run in runs),
        sources=_once(run.sources for run in runs),
        performance=merged_speed(speed),
        plan=_plan([run.plan for run in runs]),
    )
    return _summarised(united, runs)


def _once(parts: Iterable[Iterable[Value]]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def _agreed(runs: Sequence[RunDocument]) -> tuple[RecordedFailure, ...]:
    """What every shard says is recorded: one that read less may be the one that could not read it."""
    common = frozenset.intersection(*(frozenset(run.recorded) for run in runs))
    return tuple(each for each in dict.fromkeys(runs[0].recorded) if each in common)


def _next(runs: Sequence[RunDocument]) -> tuple[str, ...]:
    """What each shard would do next, those that failed first, one of each in turn."""
    urgent = sorted(runs, key=lambda run: run.summary.exit_code != EXIT_FAIL)
    longest = max(len(run.next) for run in urgent)
    turns = (run.next[turn] for turn in range(longest) for run in urgent if turn < len(run.next))
    return tuple(dict.fromkeys(turns))[:NEXT_COMMANDS]


def _plan(plans: Sequence[PlanFacts | None]) -> PlanFacts | None:
    """The plan of all; None where they are not of one."""
    told = [plan for plan in plans if plan is not None]
    if len(told) < len(plans) or len({(plan.id, plan.cases, plan.gate) for plan in told}) > 1:
        return None
    return replace(told[0], mine=sum(plan.mine for plan in told))


def _summarised(document: RunDocument, runs: Sequence[RunDocument]) -> RunDocument:
    """The run with what its cases come to, whatever its shards say of themselves."""
    counted = Counter(each.verdict for each in document.observations)
    merged = merged_groups(runs)
    summary = Summary(
        verdict=Verdict.PASS,
        exit_code=EXIT_PASS,
        counts={str(verdict): counted[verdict] for verdict in Verdict},
        groups=merged.groups,
    )
    document = replace(document, observations=tuple(_renamed(document.observations, merged.names)))
    grouped = replace(document, summary=summary)
    gate, doubt = _gate(runs), _doubt(document, runs)
    if gates(grouped, gate) or _regressed(document, gate):
        summary = replace(summary, verdict=Verdict.FAIL, exit_code=EXIT_FAIL)
    elif doubt is not None:
        excused = gate is Gate.NEVER and is_judged(document)
        summary = replace(summary, verdict=doubt, exit_code=EXIT_PASS if excused else EXIT_UNSETTLED)
    return replace(document, summary=summary)


def _renamed(observations: Iterable[ObservationDocument], names: Mapping[str, str]) -> Iterable[ObservationDocument]:
    """Failures under the fingerprint of the group they are part of now."""
    for each in observations:
        name = None if each.fingerprint is None else names.get(each.fingerprint)
        yield each if name is None or name == each.fingerprint else replace(each, fingerprint=name)


def _gate(runs: Iterable[RunDocument]) -> Gate:
    """The strictest of the shards; `new` where none says which."""
    told = [run.plan.gate for run in runs if run.plan is not None]
    return min(told, key=_STRICTEST.index, default=Gate.NEW)


def _regressed(document: RunDocument, gate: Gate) -> bool:
    return bool(document.regressions) and gate is not Gate.NEVER


def _doubt(document: RunDocument, runs: Sequence[RunDocument]) -> Verdict | None:
    """What keeps the run from passing, beyond failures; None: nothing does."""
    if document.plan is None:
        return unsettled(document, None) or Verdict.INCONCLUSIVE
    if not document.plan.cases and all(run.summary.verdict is Verdict.PASS for run in runs):
        return None  # nothing was to be judged
    return unsettled(document, document.plan.cases) or (Verdict.INCONCLUSIVE if _restless(runs) else None)


def _restless(runs: Iterable[RunDocument]) -> bool:
    """A shard that has cases is not settled although they are: what it says of speed is why."""
    return any(
        run.observations
        and run.summary.verdict is Verdict.INCONCLUSIVE
        and (Verdict.PASS, EXIT_PASS) in possible_endings(run)
        for run in runs
    )


def _concluded(
    document: RunDocument | None, runs: Sequence[RunDocument], broken: Sequence[str], missing: Sequence[str]
) -> Merged:
    gate = _gate(runs)
    reasons: tuple[str, ...] = (*broken, *missing)
    if broken:
        conclusion = Conclusion.ERROR
    elif document is not None and gates(document, gate):
        conclusion = Conclusion.FAIL
    elif document is None or missing:
        conclusion = Conclusion.INCOMPLETE
    elif _regressed(document, gate):
        conclusion = Conclusion.REGRESSED
    elif document.summary.verdict is not Verdict.PASS:
        conclusion, reasons = Conclusion.INCONCLUSIVE, tuple(_doubts(document, runs))
    else:
        conclusion = Conclusion.PASS
    return Merged(document=document, conclusion=conclusion, reasons=reasons)


def _doubts(document: RunDocument, runs: Sequence[RunDocument]) -> Iterable[str]:
    """Why a run that is whole, and has no failure that gates, does not pass."""
    counts = document.summary.counts
    for verdict, words in ((Verdict.ERROR, "ended in an error"), (Verdict.INCONCLUSIVE, "could not be decided")):
        count = counts[str(verdict)]
        if count:
            yield f"{count:,} {'case' if count == 1 else 'cases'} {words}"
    if not is_judged(document):
        yield "nothing was judged"
    if _restless(runs):
        yield "what the run says of speed is incomplete, or cannot be believed"
