"""Which commit is the baseline and how it was found, or why there is none, in a sentence.

Decides words only.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.baseline import Ancestor
from opsdebug_ci.plan.baseline_commit import BaselineCommit, NearestRecord
from opsdebug_ci.plan.commit_tree import UNSHALLOW
from opsdebug_ci.plan.revision import ANCESTORS

SHORT = 12
"""Digits of a hash that are shown; more than git itself shows of the largest repositories."""

SHOWN = 3
"""Files that are named; `opsdebug baselines verify` names them all."""

RECORDING = "no baseline yet: recording one"
"""Said by a run that becomes the first record."""


def found_words(base: BaselineCommit, line: Sequence[Ancestor], record: NearestRecord) -> str:
    """Where the nearest record is, seen from the baseline commit.

    Args:
        base: the baseline commit, which there is.
        line: it and its ancestors.
        record: what was found in that line.
    """
    wanted = base.how
    nearer = "there" if record.distance == 1 else "there or between"
    if record.distance:
        wanted = f"{_count(record.distance, 'commit')} before {line[0].commit[:SHORT]}, {base.how}"
    if record.same_files:
        wanted = f"another commit with the same files as {line[record.distance].commit[:SHORT]}, {wanted}"
    unrecorded = f"; nothing is recorded {nearer}" if record.distance else ""
    return f"baseline: {record.commit[:SHORT]}, {wanted}{unrecorded}"


def unread_words(paths: Sequence[str]) -> str:
    """That these files of the store could not be read: a failure recorded there counts as new. Empty: all could."""
    if not paths:
        return ""
    left_out = (
        f"{_count(len(paths), 'file')} of the store cannot be read and {'is' if len(paths) == 1 else 'are'} left out"
    )
    more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
    return f"{left_out}: {', '.join(paths[:SHOWN])}{more} (`opsdebug baselines verify` says why)"


def missing_words(reason: str, *, recording: bool) -> str:
    """There is no baseline commit, for this reason."""
    return f"{RECORDING} ({reason})" if recording else f"no baseline: {reason}"


def none_words(base: str, line: Sequence[Ancestor], default_branch: str, *, recording: bool, shallow: bool) -> str:
    """Nothing is recorded at the baseline commit `base`, which `line` begins with."""
    older = len(line) - 1
    cut = f" (this shallow clone ends there: {UNSHALLOW})" if shallow and older < ANCESTORS else ""
    if recording:
        return f"{RECORDING}{cut}"
    ancestors = f" or its {_count(older, 'ancestor')}" if older else ""
    then = f"the next push to {default_branch or 'the default branch'} records one"
    return f"no baseline yet: nothing is recorded at {base[:SHORT]}{ancestors}{cut}; {then}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
