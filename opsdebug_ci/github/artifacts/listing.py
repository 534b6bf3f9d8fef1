"""Which of a run's artifacts are read: for every planned shard the newest attempt, and nothing else.

Decides by names and by what GitHub says of a file, never by what is in it. What can be read in two ways is said and not
taken: another artifact, or an older attempt, would be a guess at what the job had to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opsdebug_ci.github.api.records import Artifact
from opsdebug_ci.github.artifacts.archive import ARCHIVE_LIMIT_BYTES
from opsdebug_ci.github.artifacts.naming import ArtifactName, parse
from opsdebug_ci.model.publication import ShardOutcome, ShardState

MOST_SHARDS = 256
"""Jobs that GitHub lets one matrix have."""

_AGREE = "`expected-shards` and the matrix must agree"
"""What to do where they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenShard:
    """An artifact of ours."""

    name: ArtifactName
    """What its name says: the only shard that it may be."""

    artifact: Artifact
    """Where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which artifacts are read, and what is to be said of the others."""

    shards: int
    """How many shards were planned; 0: nothing says so."""

    taken: tuple[ChosenShard, ...]
    """One of every shard that has one, in order."""

    others: tuple[ShardOutcome, ...]
    """The planned shards of which none is read, in order, each with its reason."""

    reasons: tuple[str, ...] = ()
    """Why it cannot be told which shards there are; empty: it can."""


def chosen(artifacts: Sequence[Artifact], *, suite: str, attempt: int, expected: int | None) -> Chosen:
    """Choose among the artifacts of one run.

    Args:
        artifacts: all that the run has.
        suite: which of several comments and checks is told; the artifacts of another are passed over.
        attempt: attempt of the run that is told; what later ones uploaded is passed over.
        expected: how many shards were planned, by whoever set up the workflow; None: by the largest of the names.
    """
    named = [ChosenShard(name=name, artifact=each) for each in artifacts if (name := parse(each.name)) is not None]
    mine = [each for each in named if each.name.suite == suite and each.name.attempt <= attempt]
    planned = expected if expected is not None else max((each.name.shards for each in mine), default=0)
    if not planned:
        return Chosen(shards=0, taken=(), others=(), reasons=("no job has uploaded what it found",))
    if planned > MOST_SHARDS:
        reason = f"there are said to be {planned:,} shards; a matrix has at most {MOST_SHARDS}"
        return Chosen(shards=0, taken=(), others=(), reasons=(reason,))
    found = [
        _of_shard(ArtifactName(suite=suite, attempt=1, shard=shard, shards=planned), mine)
        for shard in range(1, planned + 1)
    ]
    beyond = sorted((each.name for each in mine if each.name.shard > planned), key=lambda name: name.shard)
    return Chosen(
        shards=planned,
        taken=tuple(each for each in found if isinstance(each, ChosenShard)),
        others=tuple(each for each in found if isinstance(each, ShardOutcome)),
        reasons=(f"there is an artifact {beyond[0]}, and {_count(planned)} planned; {_AGREE}",) if beyond else (),
    )


def _count(planned: int) -> str:
    return "1 shard is" if planned == 1 else f"{planned} shards are"


def _of_shard(first: ArtifactName, mine: Iterable[ChosenShard]) -> ChosenShard | ShardOutcome:
    """What is read of a shard whose first attempt has that name."""
    shard, planned = first.shard, first.shards
    candidates = [each for each in mine if each.name.shard == shard]
    if not candidates:
        reason = (
            f"the run has no artifact {first}, nor one of a later attempt; "
            "its job ended early, or uploads something else"
        )
        return ShardOutcome(shard=shard, state=ShardState.MISSING, reason=reason)
    newest = max(each.name.attempt for each in candidates)
    latest = [each for each in candidates if each.name.attempt == newest]
    problem = _problem(latest, planned)
    if problem:
        return ShardOutcome(shard=shard, state=ShardState.REJECTED, reason=problem)
    return latest[0]


def _problem(latest: Sequence[ChosenShard], planned: int) -> str:
    """Why the newest attempt of a shard is not read; empty: it is."""
    name, artifact = latest[0].name, latest[0].artifact
    others = sorted((each.name for each in latest if each.name.shards != planned), key=lambda other: other.shards)
    if others:
        return f"its artifact {others[0]} is of another division; wanted one of {planned}: {_AGREE}"
    if len(latest) > 1:
        return f"{len(latest)} artifacts are named {name}"
    if artifact.expired:
        return f"its artifact {name} has expired"
    if not 0 < artifact.size_in_bytes <= ARCHIVE_LIMIT_BYTES:
        return f"its artifact has {artifact.size_in_bytes:,} bytes; at most {ARCHIVE_LIMIT_BYTES:,} are read"
    return ""
