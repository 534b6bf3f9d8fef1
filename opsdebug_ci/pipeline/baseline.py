"""What the gate of a stage compares with, and whether its record can be believed.

Decides at which recorded commits the failures are that count as known, and that a change cannot bring its own record:
where the run may not become a baseline, a store in the work tree counts only if no commit of the change touched it.
A record of the commit under test never counts, so that a run that is repeated has the baseline of the first one.
Deliberately not what gates.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Gate
from opsdebug_ci.pipeline.baseline_words import found_words, missing_words, none_words, unread_words
from opsdebug_ci.pipeline.verification import Baseline
from opsdebug_ci.plan import Configuration, committed_files, work_tree
from opsdebug_ci.plan.baseline_commit import Trigger, baseline_commit, first_parents, recorded_line
from opsdebug_ci.plan.commit_tree import is_shallow
from opsdebug_ci.store.memory.known import known_failures
from opsdebug_ci.store.memory.recorded import recorded
from opsdebug_ci.store.memory.recorded_failures import recorded_failures


def recorded_baseline(
    location: str | os.PathLike[str], root: Path, trigger: Trigger, revision: Revision, *, recording: bool
) -> Baseline:
    """What is recorded at the baseline commit or its ancestors, or at others with the same files.

    Args:
        location: the store.
        root: directory of the configuration.
        trigger: what is known of the event.
        revision: the code under test.
        recording: the run may become a baseline itself.
    """
    recording = recording and bool(revision.commit) and not revision.dirty
    base = baseline_commit(root, trigger)
    if base.commit is None:
        return Baseline(gate=Gate.NEW, how=missing_words(base.reason, recording=recording))
    line = first_parents(root, base.commit)
    under_test = "" if base.commit == revision.commit else revision.commit
    found = recorded_line(line, recorded(location, line, but=under_test))
    if not found:
        how = none_words(base.commit, line, trigger.default_branch, recording=recording, shallow=is_shallow(root))
        unread = unread_words(known_failures(location, [base.commit]).unread)  # a record may be in what is left out
        return Baseline(gate=Gate.NEW, how=_with(how, unread), doubt=unread)
    commits = [record.commit for record in found]
    known = known_failures(location, commits)
    known = replace(known, commit=found[0].commit)  # also where that one only skipped
    how, unread = found_words(base, line, found[0]), unread_words(known.unread)
    failures = recorded_failures(location, commits)
    return Baseline(gate=Gate.NEW, known=known, failures=failures, how=_with(how, unread), doubt=unread)


def _with(how: str, unread: str) -> str:
    return f"{how}; {unread}" if unread else how


def distrust(configuration: Configuration, base: str) -> str | None:
    """Why the store in the work tree is no witness for the change since `base`; None: it is, or it lies elsewhere."""
    top, directory = work_tree(configuration.root), configuration.store_directory
    if top is None or directory is None:
        return None
    # NOTE: a link is named, and so is what it leads to: a change may replace either.
    places = {directory.absolute(), directory.parent.resolve() / directory.name, directory.resolve()}
    if not any(place == top or top in place.parents for place in places):
        return None
    files = committed_files(configuration.root, base) if base else None
    if files is None:
        return f"nothing is taken as known: git cannot tell whether the change touches the store {configuration.store}"
    touched = sorted(str(path.relative_to(top)) for path in files if _concerns(path, places))
    if not touched:
        return None
    return f"nothing is taken as known: the change touches the store {configuration.store}, first {touched[0]}"


def _concerns(path: Path, places: Iterable[Path]) -> bool:
    """`path` is one of the places, in one, or above one, also where case does not tell names apart."""
    mine = _folded(path)
    return any(
        mine == place or place in mine.parents or mine in place.parents for place in (_folded(p) for p in places)
    )


def _folded(path: Path) -> Path:
    return Path(str(path).casefold())
