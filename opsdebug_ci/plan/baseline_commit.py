"""Which commit the code under test is compared with, and where a record of it is found.

Decides that only these pairs are valid: the merge base of a change with its target, against the change; the first
parent of a merge made for testing, against that merge; the parent on the default branch, against its child. What the
target branch held when the event was made is never paired with a merge made later: it may be older, and the
difference would hold other people's changes. Deliberately reads no event: facts of it come in as words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.git.command import answer
from opsdebug_ci.model.baseline import MERGE_GROUP_EVENT, PULL_REQUEST_EVENTS, Ancestor, Recorded
from opsdebug_ci.plan.commit_order import parents_of
from opsdebug_ci.plan.commit_tree import UNSHALLOW, is_shallow
from opsdebug_ci.plan.revision import ANCESTORS


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """What is known of the event that started this run; every field empty outside CI."""

    event: str = ""
    """Name of the event."""

    head_commit: str = ""
    """Newest commit of the pull request or merge group."""

    base_commit: str = ""
    """Tip of the target branch when the event was made; what a merge group is put onto; outside CI any name of what
    the person compares with."""

    base_branch: str = ""
    """Branch the change wants to go to."""

    default_branch: str = ""
    """The repository's default branch."""

    on_default_branch: bool = False
    """It is about a commit of the default branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineCommit:
    """The commit to compare with."""

    commit: str | None
    """Full hash; None: there is none, see `reason`."""

    how: str = ""
    """How it was chosen, to follow `compared with <hash>,`."""

    reason: str = ""
    """Why there is none, and what to do about it, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestRecord:
    """Where a record was found."""

    commit: str
    """The recorded commit."""

    distance: int
    """First-parent steps from the baseline commit to the one with the same files; 0: the baseline itself."""

    same_files: bool
    """It is another commit with the same files, as squashing and rebasing leave them."""


def baseline_commit(root: Path, trigger: Trigger) -> BaselineCommit:
    """The commit that the one checked out around `root` is compared with."""
    head = answer(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not head:
        return BaselineCommit(commit=None, reason="there is no git repository with a commit here")
    if trigger.event in PULL_REQUEST_EVENTS:
        return _of_pull_request(root, head, trigger)
    if trigger.event == MERGE_GROUP_EVENT:
        return _of_merge_group(root, head, trigger)
    return _of_branch(root, head, trigger)


def first_parents(root: Path, commit: str) -> tuple[Ancestor, ...]:
    """`commit` and its first-parent ancestors, ANCESTORS at most; empty where the clone does not know it."""
    listed = answer(root, "log", "--first-parent", f"--max-count={ANCESTORS + 1}", "--format=%H %T", commit, "--")
    pairs = (line.split() for line in (listed or "").splitlines())
    return tuple(Ancestor(commit=commit, tree=tree) for commit, tree in pairs)


def recorded_line(line: Sequence[Ancestor], recorded: Iterable[Recorded]) -> tuple[NearestRecord, ...]:
    """Every recorded commit of `line`, or with the files of one of its commits, nearest first and once each.

    Args:
        line: the baseline commit and its first-parent ancestors, nearest first.
        recorded: oldest record first; of several other commits with the same files the newest record comes first.
    """
    commits: set[str] = set()
    by_tree: dict[str, list[str]] = {}
    for run in recorded:
        commits.add(run.commit)
        if run.tree:
            by_tree.setdefault(run.tree, []).insert(0, run.commit)
    found: dict[str, NearestRecord] = {}
    for distance, ancestor in enumerate(line):
        itself = [ancestor.commit] if ancestor.commit in commits else []
        for commit in (*itself, *by_tree.get(ancestor.tree, ())):
            same_files = commit != ancestor.commit
            found.setdefault(commit, NearestRecord(commit=commit, distance=distance, same_files=same_files))
    return tuple(found.values())


def nearest_record(line: Sequence[Ancestor], recorded: Iterable[Recorded]) -> NearestRecord | None:
    """The nearest commit of `line` of which a run is recorded, or another commit with the same files."""
    return next(iter(recorded_line(line, recorded)), None)


def _of_pull_request(root: Path, head: str, trigger: Trigger) -> BaselineCommit:
    parents = parents_of(root, head)
    if len(parents) == 2 and trigger.head_commit and parents[1] == trigger.head_commit:
        how = f"the commit of {_branch(trigger)} that the pull request was merged with for this test"
        return _known(root, parents[0], how)
    target = _tip(root, trigger.base_branch) or trigger.base_commit
    base = _merge_base(root, head, target)
    if base == head == trigger.head_commit:  # merged since: the event still knows what it was to be merged into
        base = _merge_base(root, head, trigger.base_commit) or base
    if base == head:
        return BaselineCommit(commit=None, reason=f"{_branch(trigger)} already has the commit under test")
    if base:
        return BaselineCommit(commit=base, how=f"where the change left {_branch(trigger)}")
    return BaselineCommit(commit=None, reason=_no_merge_base(root, _branch(trigger)))


def _of_merge_group(root: Path, head: str, trigger: Trigger) -> BaselineCommit:
    line = [ancestor.commit for ancestor in first_parents(root, head)]
    if trigger.base_commit in line[1:]:
        return BaselineCommit(commit=trigger.base_commit, how=f"the commit of {_branch(trigger)} the group is put onto")
    return _parent(root, head, "the first parent of the merge group's commit")


def _of_branch(root: Path, head: str, trigger: Trigger) -> BaselineCommit:
    """Outside pull requests: where the branch left the default branch, or the parent when it is on it."""
    asked = _merge_base(root, head, trigger.base_commit) if not trigger.event else None
    if asked and asked != head:
        return BaselineCommit(commit=asked, how=f"where this branch left {trigger.base_commit}")
    name, tip = _default_branch(root, trigger)
    if tip is None and trigger.event and not trigger.on_default_branch:
        return BaselineCommit(commit=None, reason=f"this clone does not have {name}: {UNSHALLOW}")
    base = _merge_base(root, head, tip) if tip else None
    if base and base != head:
        return BaselineCommit(commit=base, how=f"where this branch left {name}")
    if tip and not base:
        return BaselineCommit(commit=None, reason=_no_merge_base(root, name))
    if not trigger.event and answer(root, "status", "--porcelain", "--untracked-files=no"):
        return BaselineCommit(commit=head, how="the commit that the uncommitted changes are made to")
    return _parent(root, head, "the parent of the commit under test")


def _parent(root: Path, head: str, how: str) -> BaselineCommit:
    parents = parents_of(root, head)
    if not parents:
        return BaselineCommit(commit=None, reason=f"{head[:12]} is the first commit: there is none before it")
    return _known(root, parents[0], how)


def _known(root: Path, commit: str, how: str) -> BaselineCommit:
    if answer(root, "cat-file", "-e", f"{commit}^{{commit}}") is None:
        return BaselineCommit(commit=None, reason=f"this clone ends before {commit[:12]}, {how}: {UNSHALLOW}")
    return BaselineCommit(commit=commit, how=how)


def _default_branch(root: Path, trigger: Trigger) -> tuple[str, str | None]:
    """Name and tip of the branch that changes go to, as far as this clone has it."""
    remote = answer(root, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD") or ""
    named = trigger.default_branch or remote.removeprefix("origin/")
    for name in dict.fromkeys(filter(None, (named, *(() if named else ("main", "master"))))):
        tip = _tip(root, name)
        if tip:
            return name, tip
    return named or "the default branch", None


def _tip(root: Path, branch: str) -> str | None:
    """Tip of a branch: as `origin` has it, else the local one. Its name is taken as a name, not as an expression."""
    places = ("refs/remotes/origin", "refs/heads") if branch else ()
    found = (answer(root, "show-ref", "--verify", "--hash", "--", f"{place}/{branch}") for place in places)
    return next(filter(None, found), None)


def _merge_base(root: Path, head: str, target: str | None) -> str | None:
    known = _commit(root, target) if target else None
    return answer(root, "merge-base", head, known) if known else None


def _commit(root: Path, name: str) -> str | None:
    return answer(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") or None


def _no_merge_base(root: Path, name: str) -> str:
    if is_shallow(root):
        return f"this shallow clone does not reach back to where the change left {name}: {UNSHALLOW}"
    return f"the commit under test and {name} have no common ancestor in this clone: `git fetch origin`"


def _branch(trigger: Trigger) -> str:
    return trigger.base_branch or "the target branch"
