"""The ladder: older commits that the code under test is compared with, so that slow drift shows.

Five losses of 3 % hide one by one below a threshold of 10 % and are 16 % against the release before them. Decides which
commits; every rung that there is none for says why. Ages are of commit times, which is when a commit came to its
branch, not when it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from opsdebug_ci.git.command import answer
from opsdebug_ci.plan.commit_tree import UNSHALLOW, is_shallow

DAY_S = 24 * 3600
"""Seconds of a day."""

AGES = (("a day ago", 1), ("a week ago", 7))
"""Rungs by their age in days."""

RELEASE = "last release"
"""Name of the rung that a tag marks."""

RELEASE_TAG = re.compile(r"[^0-9.]*(\d+)\.(\d+)(?:\.(\d+))?")
"""v1.2.3, 1.2, kernels-v1.2.3; no release candidates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One older commit."""

    name: str
    """What it is called, e.g. `a week ago`."""

    commit: str | None
    """Full hash; None: there is none."""

    how: str
    """How it was chosen, or why there is none, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dated:
    """A commit of the line and when it came to it."""

    commit: str
    """Full hash."""

    committed_s: int
    """Commit time, seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tag:
    """A tag that the commit under test contains."""

    name: str
    """Name."""

    annotated: bool
    """It is an object of its own, as releases are."""

    commit: str
    """What it marks."""

    committed_s: int
    """Commit time of that."""


def rungs(root: Path, now: datetime) -> tuple[Rung, ...]:
    """The rungs below the commit checked out around `root`: each commit once, never that one itself."""
    line = _line(root)
    if not line:
        none = "there is no git repository with a commit here"
        return tuple(Rung(name=name, commit=None, how=none) for name in (*(name for name, _ in AGES), RELEASE))
    cut = f"this shallow clone does not reach back so far: {UNSHALLOW}" if is_shallow(root) else ""
    found = [_by_age(name, days, line, now, cut) for name, days in AGES]
    found.append(_by_tag(_tags(root), line[0].commit, cut))
    return _without_repeats(found)


def _by_age(name: str, days: int, line: Sequence[_Dated], now: datetime, cut: str) -> Rung:
    latest_s = now.timestamp() - days * DAY_S
    older = next((at for at in line if at.committed_s <= latest_s), None)
    age = f"{days * 24} hours" if days == 1 else f"{days} days"
    if older is None:
        return Rung(name=name, commit=None, how=cut or f"no commit of this branch is {age} old")
    if older == line[0]:
        return Rung(name=name, commit=None, how=f"nothing was committed in the last {age}")
    return Rung(name=name, commit=older.commit, how=f"the newest commit of this branch that is {age} old")


def _by_tag(tags: Sequence[_Tag], head: str, cut: str) -> Rung:
    older = [tag for tag in tags if tag.commit != head]
    releases = [tag for tag in older if RELEASE_TAG.fullmatch(tag.name)]
    newest = max(releases or [tag for tag in older if tag.annotated], key=_release_order, default=None)
    if newest is None:
        return Rung(
            name=RELEASE, commit=None, how=cut or "no earlier commit has a tag like v1.2.3, or an annotated one"
        )
    return Rung(name=RELEASE, commit=newest.commit, how=f"tag {newest.name}")


def _release_order(tag: _Tag) -> tuple[int, tuple[int, ...]]:
    """By the age of what is marked, then by number."""
    numbers = RELEASE_TAG.fullmatch(tag.name)
    return tag.committed_s, tuple(int(part or 0) for part in numbers.groups()) if numbers else ()


def _without_repeats(found: Sequence[Rung]) -> tuple[Rung, ...]:
    names: dict[str, str] = {}
    for rung in found:
        if rung.commit is not None:
            names.setdefault(rung.commit, rung.name)
    return tuple(
        rung
        if rung.commit is None or names[rung.commit] == rung.name
        else Rung(name=rung.name, commit=None, how=f"the same commit as `{names[rung.commit]}`: {rung.how}")
        for rung in found
    )


def _line(root: Path) -> tuple[_Dated, ...]:
    listed = answer(root, "log", "--first-parent", "--format=%H %ct", "HEAD", "--")
    pairs = (line.split() for line in (listed or "").splitlines())
    return tuple(_Dated(commit=commit, committed_s=int(at)) for commit, at in pairs)


_TAG_FORMAT = (
    "%(refname:strip=2)%00%(objecttype)%00%(*objectname)%00%(objectname)%00%(*committerdate:unix)%(committerdate:unix)"
)


def _tags(root: Path) -> tuple[_Tag, ...]:
    listed = answer(root, "for-each-ref", "--merged=HEAD", f"--format={_TAG_FORMAT}", "refs/tags")
    fields = (line.split("\0") for line in (listed or "").splitlines())
    return tuple(
        _Tag(name=name, annotated=kind == "tag", commit=peeled or plain, committed_s=int(at))
        for name, kind, peeled, plain, at in fields
        if at.isdigit()
    )
