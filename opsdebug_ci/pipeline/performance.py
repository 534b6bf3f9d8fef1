"""What a stage says of speed, once values are judged and its workers have ended.

(1) compare with the baseline commit, every night with older ones too. Every night as well (2) profile every operator,
(3) hold the times against the stored history, and compare for certain what it doubts. In the end (4) how what regressed
stood before. Verdicts on values stay.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from opsdebug_ci.errors import OpsdebugError
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.history import Trend
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import ComparisonRun
from opsdebug_ci.model.vocabulary import Gate, Verdict
from opsdebug_ci.pipeline.acceptance import Ancestry, needing_person
from opsdebug_ci.pipeline.alone import alone
from opsdebug_ci.pipeline.compare import threshold_of
from opsdebug_ci.pipeline.comparison_document import alarms_so_far
from opsdebug_ci.pipeline.history import Circumstances, HistoryOutcome, new_series, read_history
from opsdebug_ci.pipeline.profile import Deadline, ProfileSelection, measure, plan_profiles
from opsdebug_ci.pipeline.speed_comparison import certain, compared
from opsdebug_ci.pipeline.speed_question import SpeedQuestion
from opsdebug_ci.pipeline.trend import trends_of
from opsdebug_ci.pipeline.workbench import workbench
from opsdebug_ci.plan.commit_order import is_within, parents_of
from opsdebug_ci.regress.alarm_bound import one_sidedness
from opsdebug_ci.store.memory.alarms import directions
from opsdebug_ci.store.memory.history import accepted_commits

COMPARISON, PROFILE = "comparison", "profile"
"""Sections of the journal; each is kept as a whole, under its own name, once it is complete."""

PROFILE_SHARE = 0.7
"""Of what the comparison left of the time for speed, what profiles get; the rest is for what history doubts."""

LOOKS = 3
"""Operators that regressed whose profile is proposed next."""

Made = TypeVar("Made")
Part = TypeVar("Part", ComparisonRun, PerformanceDocument)


def ask_speed(question: SpeedQuestion) -> PerformanceDocument:
    """Everything this stage says of speed. What breaks on the way is a note: the verdict on values stands."""
    notes: list[str] = []
    run = _once(question, COMPARISON, ComparisonRun, lambda: compared(question, notes))
    profiled = _guarded("profiles", notes, lambda: _kept_profile(question)) if question.nightly else None
    document = profiled or PerformanceDocument()
    history = _guarded("history", notes, lambda: _history(question, run, document))
    if run is not None and history is not None:
        run = certain(question, run, history.doubts, notes)
    trends = _guarded("trends", notes, lambda: _trends(question, run))
    lopsided = _guarded("stored verdicts", notes, lambda: _lopsided(question))
    return replace(
        document,
        comparison=run,
        history=() if history is None else history.readings,
        comparable=None if history is None else history.comparable,
        alarms=None if run is None else alarms_so_far(run, question.location),
        notes=(*notes, *document.notes, *([] if lopsided is None else [lopsided])),
        trends=trends or (),
    )


def _guarded(what: str, notes: list[str], make: Callable[[], Made | None]) -> Made | None:
    """What `make` makes; None, and a note, where this machine or the store does not let it."""
    try:
        return make()
    except OpsdebugError as fault:
        notes.append(f"no {what}: {fault.message}")
        return None


def _trends(question: SpeedQuestion, run: ComparisonRun | None) -> tuple[Trend, ...]:
    return () if run is None else trends_of(run, question.location, question.bench.machine.key)


def _lopsided(question: SpeedQuestion) -> str | None:
    told = directions(question.location)
    return one_sidedness(told.regressed, told.faster)


def with_performance(document: RunDocument, performance: PerformanceDocument, question: SpeedQuestion) -> RunDocument:
    """The run with what it says of speed.

    An operator that regressed, and that nobody accepted, fails the gate. At night a comparison that could not be made,
    or cannot be believed, leaves it unsettled.
    """
    root, notes = question.configuration.root, list(performance.notes)
    accepted = _guarded("acceptances", notes, lambda: accepted_commits(question.location, question.began.at)) or {}
    performance = replace(performance, notes=tuple(notes))
    ancestry = Ancestry(within=partial(is_within, root), parents=partial(parents_of, root))
    regressed = needing_person(performance, accepted, question.event, ancestry)
    summary = document.summary
    gating = question.configuration.gate is not Gate.NEVER
    if regressed and gating:
        summary = replace(summary, verdict=Verdict.FAIL, exit_code=1)
    elif question.nightly and gating and not _settled(performance) and summary.exit_code == 0:
        summary = replace(summary, verdict=Verdict.INCONCLUSIVE, exit_code=4)
    looks = tuple(f"opsdebug profile {shlex.quote(name)}" for name in regressed[:LOOKS])
    return replace(
        document,
        performance=performance,
        regressions=regressed,
        summary=summary,
        next=(*looks, *document.next) if not document.summary.exit_code else (*document.next, *looks),
    )


def _settled(performance: PerformanceDocument) -> bool:
    """The comparison was made, whole, and can be believed. Single noisy operators do not unsettle a night."""
    run = performance.comparison
    return run is not None and run.complete and run.contaminated is None


def _kept_profile(question: SpeedQuestion) -> PerformanceDocument | None:
    return _once(question, PROFILE, PerformanceDocument, lambda: _profiled(question))


def _once(question: SpeedQuestion, section: str, kind: type[Part], make: Callable[[], Part | None]) -> Part | None:
    """A part that an earlier attempt has finished, or one that is made now."""
    journal = question.journal
    known = {} if journal is None else journal.taken(section, kind)
    if section in known:
        return known[section]
    made = make()
    whole = made is not None and (made.complete if isinstance(made, ComparisonRun) else not made.notes)
    if journal is not None:
        journal.lacks(section, 0 if whole else 1)
        if whole:
            journal.add(section, section, made)
    return made


def _history(
    question: SpeedQuestion, run: ComparisonRun | None, profiled: PerformanceDocument
) -> HistoryOutcome | None:
    if run is None or not question.nightly:
        return None
    revision = question.revision
    circumstances = Circumstances(
        machine=question.bench.machine,
        now=question.began.at,
        thresholds=lambda operator: threshold_of(question.configuration, operator),
        commit="" if revision.dirty else revision.commit,
        tree="" if revision.dirty else revision.tree,
        calibrations=question.calibrations,
        bounds={entry.case.id: entry.floor.bound for entry in profiled.profiles if entry.floor is not None},
    )
    return read_history(question.location, new_series(run), circumstances)


def _profiled(question: SpeedQuestion) -> PerformanceDocument:
    configuration, world = question.configuration, question.world
    left_s = question.budget.share("profiles", PROFILE_SHARE).remaining_s()
    with alone(world), workbench(configuration, world, workers=1, threads=1) as bench:
        planned = plan_profiles(ProfileSelection(patterns=question.selection.patterns), bench)
        found = measure(planned, bench, configuration, world, Deadline(world, None if math.isinf(left_s) else left_s))
    return PerformanceDocument(peaks=found.peaks, profiles=found.entries, sweeps=found.sweeps, notes=found.notes)
