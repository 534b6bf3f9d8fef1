"""The shards of a run: which are there, which can be taken, and what is wrong with the others.

Decides that a shard is taken whole or not at all, and that one bad artifact costs no other. Deliberately decides
nothing about what shards come to together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, final

from opsdebug_ci.errors import ArtifactError, GithubAnswerError, GithubRefusedError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import Artifact
from opsdebug_ci.github.artifacts.archive import ARCHIVE_LIMIT_BYTES, read_member
from opsdebug_ci.github.artifacts.listing import ChosenShard, chosen
from opsdebug_ci.github.artifacts.shard_json import DOCUMENT_LIMIT_BYTES, check_claims, read_shard
from opsdebug_ci.model.publication import ShardOutcome, ShardState
from opsdebug_ci.model.shard import SHARD_FILE, ShardDocument
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.publication.subject import Subject

LAST_ATTEMPT = 10**6
"""Stands for every attempt, where artifacts lie on disk and no server says which attempt is told."""

TOTAL_LIMIT_BYTES = 256 * 2**20
"""Bytes of all documents together: a hundred thousand cases, in the memory of the smallest machine of GitHub's."""

_BUNDLES = re.compile(r"opsdebug-bundles[A-Za-z0-9._-]{0,80}")
_MOST_NAMED = 8
"""Artifacts with bundles that are named: more make a sentence nobody reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What was found."""

    shards: tuple[ShardDocument, ...]
    """Those taken and those that say they have no run, in order."""

    outcomes: tuple[ShardOutcome, ...]
    """Every planned shard, in order."""

    reasons: tuple[str, ...] = ()
    """Why it cannot be told which shards there are; empty: it can."""

    bundles: tuple[str, ...] = ()
    """Artifacts that are named like failure bundles; nothing of them was read."""

    @property
    def whole(self) -> bool:
        """Every planned shard was taken."""
        return not self.reasons and all(outcome.state is ShardState.TAKEN for outcome in self.outcomes)


class ArtifactPlace(Protocol):
    """Where artifacts are."""

    def artifacts(self) -> tuple[Artifact, ...]:
        """All that the run has."""

    def document(self, artifact: Artifact, limit: int) -> bytes:
        """The shard's document in one of them.

        Args:
            artifact: one of them.
            limit: bytes it may have.

        Raises:
            ArtifactError: it holds none, or more than that.
            GithubError: it cannot be fetched.
        """


@final
class ArtifactsOfRun:
    """Artifacts of a run of a workflow."""

    def __init__(self, api: Api, repository: str, run: int) -> None:
        self._api, self._home, self._run = api, f"/repos/{repository}/actions", run

    def artifacts(self) -> tuple[Artifact, ...]:
        """Page by page."""
        return self._api.pages(f"{self._home}/runs/{self._run}/artifacts", Artifact, within="artifacts")

    def document(self, artifact: Artifact, limit: int) -> bytes:
        """Out of its archive, in memory."""
        archive = self._api.download(f"{self._home}/artifacts/{artifact.id}/zip", ARCHIVE_LIMIT_BYTES)
        return read_member(archive, SHARD_FILE, limit)


@final
class ArtifactsOnDisk:
    """Artifacts that somebody has downloaded, each into a directory of its name."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def artifacts(self) -> tuple[Artifact, ...]:
        """One for each directory."""
        if not self._directory.is_dir():
            raise ArtifactError(
                f"`--from` is {str(self._directory)!r}; wanted a directory with one for each artifact",
                next_step="download the artifacts of the run into it",
            )
        names = sorted(path.name for path in self._directory.iterdir() if path.is_dir() and not path.is_symlink())
        return tuple(
            Artifact(id=number, name=name, size_in_bytes=1, expired=False) for number, name in enumerate(names)
        )

    def document(self, artifact: Artifact, limit: int) -> bytes:
        """The file in its directory."""
        path = self._directory / artifact.name / SHARD_FILE
        if path.is_symlink() or not path.is_file():
            raise ArtifactError(f"there is no file {SHARD_FILE} in it", next_step="look at the job that uploaded it")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise ArtifactError(f"its document has more than {limit:,} bytes", next_step="divide the stage into shards")
        return data


def gather(place: ArtifactPlace, request: PublishRequest, subject: Subject | None) -> Gathered:
    """Everything of `place` that counts.

    Args:
        place: where artifacts are.
        request: whose shards are wanted.
        subject: what they must be of; None: nobody but they themselves says so.

    Raises:
        GithubError: artifacts cannot be listed or fetched.
        ArtifactError: there is no such place.
    """
    artifacts = place.artifacts()
    attempt = LAST_ATTEMPT if subject is None else subject.attempt
    choice = chosen(artifacts, suite=request.suite, attempt=attempt, expected=request.expected)
    room, read = TOTAL_LIMIT_BYTES, []
    for one in choice.taken:
        outcome, shard, size = _read(place, one, choice.shards, request, subject, min(room, DOCUMENT_LIMIT_BYTES))
        read.append((outcome, shard))
        room -= size
    outcomes = [*choice.others, *(outcome for outcome, _ in read)]
    return Gathered(
        shards=tuple(shard for _, shard in read if shard is not None),
        outcomes=tuple(sorted(outcomes, key=lambda outcome: outcome.shard)),
        reasons=choice.reasons,
        bundles=_bundles(artifacts),
    )


def _read(
    place: ArtifactPlace, one: ChosenShard, shards: int, request: PublishRequest, subject: Subject | None, limit: int
) -> tuple[ShardOutcome, ShardDocument | None, int]:
    """What became of a shard; the shard, where it is taken or says that it has no run; and the bytes it had."""
    try:
        data = place.document(one.artifact, limit)
        shard = read_shard(data)
    except (ArtifactError, GithubAnswerError) as error:
        return _rejected(one, error.message), None, 0
    except GithubRefusedError as error:
        if error.status not in _GONE:
            raise
        return _rejected(one, "its artifact is not there any more"), None, 0
    wrong = _contradiction(shard, one, shards, request, subject)
    if wrong:
        return _rejected(one, wrong), None, 0
    state = ShardState.TAKEN if shard.run is not None else ShardState.FAILED
    outcome = ShardOutcome(shard=one.name.shard, state=state, attempt=one.name.attempt, reason=shard.error)
    return outcome, shard, len(data)


_GONE = (404, 410)


def _rejected(one: ChosenShard, why: str) -> ShardOutcome:
    return ShardOutcome(shard=one.name.shard, state=ShardState.REJECTED, reason=why)


def _contradiction(
    shard: ShardDocument, one: ChosenShard, shards: int, request: PublishRequest, subject: Subject | None
) -> str:
    """What the shard says that others, who are to be believed, say otherwise; empty: nothing."""
    if shard.stage != str(request.stage):
        return f"it is of stage {shard.stage}; wanted {request.stage}"
    return check_claims(
        shard,
        repository=shard.repository if subject is None else subject.repository,
        ci_run=shard.ci_run if subject is None else subject.ci_run,
        head_commit=shard.head_commit if subject is None else subject.head_commit,
        attempt=one.name.attempt,
        shard=one.name.shard,
        shards=shards,
        suite=request.suite,
    )


def _bundles(artifacts: Sequence[Artifact]) -> tuple[str, ...]:
    names = sorted({one.name for one in artifacts if _BUNDLES.fullmatch(one.name) and not one.expired})
    return tuple(names[:_MOST_NAMED])
