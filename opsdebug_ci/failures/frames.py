"""Stacks of exceptions and crashes, reduced to what stays the same from build to build.

Decides which frames are the user's, and how alike two stacks are. Function and file name only: no line, address, path,
nor the hashes that compilers put into names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from opsdebug_ci.model import ExceptionFacts, ProcessFacts

KEPT = 3
"""Frames of a stack that identify it: ClusterFuzz's MAX_CRASH_STATE_FRAMES."""

COMMON = 2
"""Frames in common, in order, by which two stacks are alike: ClusterFuzz's crash comparer."""

RATIO = 0.8
"""Mean similarity of the frames' texts above which two stacks are alike: ClusterFuzz's crash comparer."""

_FRAME = re.compile(r"(?P<file>.+):(?:\d+|\?+) (?P<function>.+)")
_INSTALLED = re.compile(r"[/\\](?:site-packages|dist-packages|python3\.\d+)[/\\]|^<")
_OWN = re.compile(r"[/\\]opsdebug_ci[/\\](?!catalogue[/\\])")
_UNSTABLE = re.compile(r"0x[0-9a-f]+|(?=[0-9a-z]*\d)[0-9a-z]{16,}|(?<![a-z])[0-9a-f]{8,}(?![a-z])", re.IGNORECASE)


def exception_frames(facts: ExceptionFacts) -> tuple[str, ...]:
    """The user's frames of an exception, innermost first; all frames where none is the user's."""
    found = _read(facts.frames)
    return _kept([frame for frame in found if _users(frame[0])] or found)


def crash_frames(facts: ProcessFacts) -> tuple[str, ...]:
    """The user's frames of a crash as `faulthandler` printed them, innermost first; empty where it printed nothing."""
    return _kept([frame for frame in _read(facts.frames) if _users(frame[0])])


def alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two stacks are likely one: two frames in common, in order, or nearly the same text throughout.

    Unlike in ClusterFuzz the innermost frame must be common: it is the step that failed, and two steps of one operator
    have all their callers in common.
    """
    if not first or not second or first[0] != second[0]:
        return False
    return longest_common(first, second) >= COMMON or _mean_ratio(first, second) > RATIO


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for mine in first:
        previous = row
        row = [0]
        for position, other in enumerate(second):
            row.append(previous[position] + 1 if mine == other else max(previous[position + 1], row[position]))
    return row[-1]


def _mean_ratio(first: Sequence[str], second: Sequence[str]) -> float:
    """Mean similarity of frames at the same depth; frames without a counterpart count as unlike."""
    pairs = zip(first, second, strict=False)
    total = sum(SequenceMatcher(None, mine, other, autojunk=False).ratio() for mine, other in pairs)
    return total / max(len(first), len(second))


def _read(frames: Sequence[str]) -> list[tuple[str, str]]:
    """File and function of every frame, innermost first."""
    return [(found["file"], found["function"]) for frame in reversed(frames) if (found := _FRAME.fullmatch(frame))]


def _users(file: str) -> bool:
    return not _INSTALLED.search(file) and not _OWN.search(file)


def _kept(frames: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{_stable(function)} {_stable(_base(file))}" for file, function in frames[:KEPT])


def _base(file: str) -> str:
    return re.split(r"[/\\]", file)[-1]


def _stable(name: str) -> str:
    return _UNSTABLE.sub("*", name)
