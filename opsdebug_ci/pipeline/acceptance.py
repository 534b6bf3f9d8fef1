"""Which regressions still need a person: those that nobody has accepted.

Decides how far an acceptance reaches. It accepts how fast an operator is at a commit, so it covers what that commit
holds: a change that is part of it, and every comparison with one of its ancestors. What was lost since shows against
newer commits and in the history. Deliberately by ancestry and not by dates, which whoever makes a commit chooses.

A pull request is tested as a merge with its base, and becomes another merge when it is taken. What such a merge brings
onto its first parent is the change that is its second parent, so that commit is looked up in its place. A merge is only
taken for one where the event vouches for it: anybody can make a commit that has an accepted one for its second parent
and any files at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opsdebug_ci.github import Event
from opsdebug_ci.model.baseline import MERGE_GROUP_EVENT, PULL_REQUEST_EVENTS
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import ArmFacts, Comparing, Comparison, ComparisonRun, SpeedVerdict

Within = Callable[[str, str], bool]
"""Whether the code of the first commit is part of the second's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestry:
    """How commits lie to each other."""

    within: Within
    """Tells of two."""

    parents: Callable[[str], Sequence[str]]
    """Parents of one, as it names them; none where it is not known."""


def needing_person(
    performance: PerformanceDocument, accepted: Mapping[str, Sequence[str]], event: Event, ancestry: Ancestry
) -> tuple[str, ...]:
    """Operators that regressed and that nobody accepted, each once, the worst first.

    Args:
        performance: what the run says of speed.
        accepted: operator -> commits at which a person accepted how fast it is.
        event: what started this run.
        ancestry: tells how commits lie to each other.
    """
    run = performance.comparison
    if run is None:
        return ()
    regressed = [one for one in run.comparisons if one.verdict is SpeedVerdict.REGRESSED]
    return tuple(
        dict.fromkeys(one.case.operator for one in regressed if not _covered(one, run, accepted, event, ancestry))
    )


def _covered(
    one: Comparison, run: ComparisonRun, accepted: Mapping[str, Sequence[str]], event: Event, ancestry: Ancestry
) -> bool:
    """The loss was there when the operator was accepted: the change is part of that commit, or the older one is."""
    arms = {arm.name: arm for arm in reversed(run.arms)}
    head, base = run.arms[-1], arms.get(one.base)
    told = base if one.why is Comparing.LADDER else head
    if told is None or told.dirty or not told.commit:
        return False
    looked_up = [told.commit]
    if told is head and base is not None and (brought := _brought(head, base, event, ancestry)):
        looked_up.append(brought)
    return any(ancestry.within(commit, at) for commit in looked_up for at in accepted.get(one.case.operator, ()) if at)


def _brought(head: ArmFacts, base: ArmFacts, event: Event, ancestry: Ancestry) -> str | None:
    """The change that the commit under test merges into the commit it is compared with; None: it is no such merge."""
    parents = ancestry.parents(head.commit)
    if len(parents) != 2 or parents[0] != base.commit or base.dirty:
        return None
    if event.name in PULL_REQUEST_EVENTS:
        return parents[1] if parents[1] == event.head_commit and _is_onto(parents[0], event, ancestry) else None
    merged = event.name == MERGE_GROUP_EVENT or (bool(event.name) and event.recording)
    return parents[1] if merged else None


def _is_onto(commit: str, event: Event, ancestry: Ancestry) -> bool:
    """`commit` is the tip of the base branch when the event was made, or newer; a job that waited has a newer one."""
    return bool(event.base_commit) and ancestry.within(event.base_commit, commit)
