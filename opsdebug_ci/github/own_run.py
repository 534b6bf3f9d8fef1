"""The CI run this job is part of, by its own variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_NUMBER = re.compile(r"[1-9][0-9]{0,18}")
_ATTEMPT = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """Which run, and which attempt of it."""

    id: int
    """Its id; 0: this is no job of a CI run."""

    attempt: int
    """From 1; 1 where it is not known."""

    ref: str
    """`refs/heads/BRANCH` or the like; untrusted text, empty outside CI."""


def own_run(environ: Mapping[str, str]) -> OwnRun:
    """The run of this job."""
    return OwnRun(
        id=_number(_NUMBER, environ.get("GITHUB_RUN_ID", "")),
        attempt=_number(_ATTEMPT, environ.get("GITHUB_RUN_ATTEMPT", "")) or 1,
        ref=environ.get("GITHUB_REF", ""),
    )


def _number(pattern: re.Pattern[str], text: str) -> int:
    return int(text) if pattern.fullmatch(text) else 0
