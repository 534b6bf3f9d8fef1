"""What an artifact is called, so that the report job finds it: suite, attempt and shard.

Decides the one spelling of each name; a name that is spelled in another way is somebody else's. A job that is run again
uploads under another attempt, so no artifact ever has to be replaced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opsdebug_ci.model.shard import DEFAULT_SUITE

PREFIX = "opsdebug-v1"
"""Program, and version of the names."""

_NAME = re.compile(
    PREFIX + r"(?:-(?P<suite>[A-Za-z0-9._-]{1,64}))?"
    r"-a(?P<attempt>[1-9][0-9]{0,5})-s(?P<shard>[1-9][0-9]{0,3})of(?P<shards>[1-9][0-9]{0,3})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactName:
    """What a name says."""

    suite: str
    """Which of several comments and checks of a commit."""

    attempt: int
    """Attempt of the CI run, from 1."""

    shard: int
    """Which part, from 1."""

    shards: int
    """How many parts there are."""

    def __str__(self) -> str:
        return artifact_name(self.suite, self.attempt, self.shard, self.shards)


def artifact_name(suite: str, attempt: int, shard: int, shards: int) -> str:
    """`opsdebug-v1-a1-s2of3`, or `opsdebug-v1-SUITE-a1-s2of3` for a suite that is not the only one."""
    middle = "" if suite == DEFAULT_SUITE else f"-{suite}"
    return f"{PREFIX}{middle}-a{attempt}-s{shard}of{shards}"


def parse(name: str) -> ArtifactName | None:
    """What `name` says; None: it is not one that `artifact_name` gives."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    told = ArtifactName(
        suite=match["suite"] or DEFAULT_SUITE,
        attempt=int(match["attempt"]),
        shard=int(match["shard"]),
        shards=int(match["shards"]),
    )
    return told if str(told) == name and told.shard <= told.shards else None
