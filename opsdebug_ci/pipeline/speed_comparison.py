"""What the code under test is compared with: its baseline commit, every night older ones too, and what history doubts.

Decides arms and the time each comparison gets. An arm that cannot be made ready is told and left out; it never ends the
stage, whose verdict on values stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from opsdebug_ci.errors import OpsdebugError
from opsdebug_ci.model.speed import SEVERITY, Comparing, ComparisonRun
from opsdebug_ci.pipeline.arms import ArmSpec, prepare_arm
from opsdebug_ci.pipeline.compare import compare_arms
from opsdebug_ci.pipeline.comparison_plan import Demand
from opsdebug_ci.pipeline.history import Doubt
from opsdebug_ci.pipeline.speed_question import SpeedQuestion
from opsdebug_ci.pipeline.trigger import trigger_of
from opsdebug_ci.plan import changed_files, select_names, unchanged
from opsdebug_ci.plan.baseline_commit import BaselineCommit, baseline_commit
from opsdebug_ci.plan.ladder import rungs

COMPARISON_SHARE = 0.5
"""Of the time for speed, what the comparison gets every night; the rest is for what history doubts and for profiles."""

DOUBT_SHARE = 0.5
"""Of what is left in the end, what comparing each doubt gets."""

AGAIN = "head again"
"""Name of the arm that stands for a base where there is none: the code under test in other processes."""


def compared(question: SpeedQuestion, notes: list[str]) -> ComparisonRun | None:
    """The code under test against its baseline and the ladder; against itself where there is neither."""
    baseline = baseline_commit(question.configuration.root, trigger_of(question.event, question.selection.changed))
    try:
        untouched = _untouched(question, baseline)
        if _selected(question) <= untouched:
            notes.append("speed is not compared: nothing that an operator depends on differs from the baseline")
            return None
        head = prepare_arm("head", None, None, question.configuration, question.world)
        bases = list(_bases(question, baseline, notes))
        if not bases:
            bases = [(replace(head, name=AGAIN, facts=replace(head.facts, name=AGAIN)), Comparing.CONTROL)]
        demand = _demand(question, question.selection.patterns, untouched, controls=bases[0][0].name != AGAIN)
        budget = question.budget
        mine = budget.share("comparison", COMPARISON_SHARE) if question.nightly else budget.begun_anew()
        run = compare_arms(bases, head, demand, question.means(mine))
        lost = baseline.commit is not None and all(why is not Comparing.CHANGE for _, why in bases)
        return replace(run, complete=False) if lost else run  # there is a base, and it could not be made ready
    except OpsdebugError as fault:
        notes.append(f"speed is not compared: {fault.message}")
        return None


def certain(question: SpeedQuestion, run: ComparisonRun, doubts: Sequence[Doubt], notes: list[str]) -> ComparisonRun:
    """The comparison with what history doubts compared as well: commits of the old level with the code under test."""
    for doubt in doubts:
        if any(arm.commit == doubt.commit for arm in run.arms):
            continue
        more = _doubt_compared(question, doubt, f"level before {doubt.commit[:12]}", notes)
        run = run if more is None else merged(run, more)
    return run


def _bases(question: SpeedQuestion, baseline: BaselineCommit, notes: list[str]) -> Iterator[tuple[ArmSpec, Comparing]]:
    """The baseline and, every night, older commits; each that cannot be had is told."""
    known = set()
    if baseline.commit is None:
        notes.append(f"no baseline commit: {baseline.reason}")
    else:
        notes.append(f"base is {baseline.commit[:12]}, {baseline.how}")
        known.add(baseline.commit)
        arm = _arm(question, "base", baseline.commit, notes)
        yield from [] if arm is None else [(arm, Comparing.CHANGE)]
    if not question.nightly:
        return
    for rung in rungs(question.configuration.root, question.began.at):
        if rung.commit is None or rung.commit in known:
            continue
        known.add(rung.commit)
        arm = _arm(question, rung.name, rung.commit, notes)
        yield from [] if arm is None else [(arm, Comparing.LADDER)]


def _arm(question: SpeedQuestion, name: str, commit: str, notes: list[str]) -> ArmSpec | None:
    try:
        return prepare_arm(name, commit, None, question.configuration, question.world)
    except OpsdebugError as fault:
        notes.append(f"`{name}` is not compared with: {fault.message}")
        return None


def _doubt_compared(question: SpeedQuestion, doubt: Doubt, name: str, notes: list[str]) -> ComparisonRun | None:
    try:
        head = prepare_arm("head", None, None, question.configuration, question.world)
        base = prepare_arm(name, doubt.commit, None, question.configuration, question.world)
        demand = _demand(question, doubt.operators, frozenset(), controls=False)
        budget = question.budget.share("what history doubts", DOUBT_SHARE)
        return compare_arms([(base, Comparing.LADDER)], head, demand, question.means(budget))
    except OpsdebugError as fault:
        notes.append(f"history doubts {', '.join(doubt.operators)}, which could not be compared: {fault.message}")
        return None


def merged(run: ComparisonRun, more: ComparisonRun) -> ComparisonRun:
    """Two comparisons of one head as one. Either is believed, or not, by its own controls."""
    comparisons = (*run.comparisons, *more.comparisons)
    return replace(
        run,
        arms=(*more.arms[:-1], *run.arms) if run.arms else more.arms,
        comparisons=tuple(sorted(comparisons, key=lambda one: SEVERITY.index(one.verdict))),
        processes=run.processes + more.processes,
        duration_s=round(run.duration_s + more.duration_s, 1),
        complete=run.complete and more.complete,
        notes=tuple(dict.fromkeys((*run.notes, *more.notes))),
    )


def _demand(question: SpeedQuestion, patterns: Sequence[str], untouched: frozenset[str], *, controls: bool) -> Demand:
    seed = int.from_bytes(question.world.entropy(4), "big")
    return Demand(
        patterns=tuple(patterns), axes=question.selection.axes, untouched=untouched, controls=controls, seed=seed
    )


def _selected(question: SpeedQuestion) -> frozenset[str]:
    return select_names([one.name for one in question.bench.catalogue.operators], question.selection.patterns)


def _untouched(question: SpeedQuestion, baseline: BaselineCommit) -> frozenset[str]:
    """On a pull request, operators that the change cannot have touched; every night all are compared."""
    if question.nightly or baseline.commit is None:
        return frozenset()
    root, store = question.configuration.root, question.configuration.store_directory
    files = changed_files(root, baseline.commit)
    outputs = () if store is None else (store,)
    return frozenset(unchanged(question.bench.catalogue.operators, files, root, outputs=outputs))
