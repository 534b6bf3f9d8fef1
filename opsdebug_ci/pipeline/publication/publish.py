"""`opsdebug publish`: what the jobs of a run found, as one check and one comment.

(1) which run, and whether anything is said of it; (2) the pull request; (3) the check, in progress; (4) the shards;
(5) what is said, against what the comment remembers; (6) the comment; (7) the check, closed.

Decides the order, so that a check is never left open and nothing is written before it is known what to say. Nothing of
the code under test runs here, and nothing it wrote is believed beyond what it says of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.address import repository_of, server_of
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.patience import Clock
from opsdebug_ci.github.bot.sticky_comment import CommentOutcome
from opsdebug_ci.model.publication import AcceptedRegression, CommentPolicy, CommentState, Conclusion, Publication
from opsdebug_ci.model.published import PUBLISHED_SCHEMA, PublishedDocument, Remark
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Gate
from opsdebug_ci.pipeline.publication.earlier_attempts import with_doubt
from opsdebug_ci.pipeline.publication.gathering import ArtifactPlace, ArtifactsOfRun, ArtifactsOnDisk, gather
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.publication.statement import statement
from opsdebug_ci.pipeline.publication.subject import Subject, subject_of_run, subject_on_disk, with_bundles
from opsdebug_ci.pipeline.publication.trusted_run import run_id, silence, trusted_run
from opsdebug_ci.pipeline.publication.voice import Voice, remarks
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.report.comment import check_summary, tells_of_acceptance
from opsdebug_ci.report.escape import md_text

EXIT_CODES = {
    Conclusion.PASS: 0,
    Conclusion.ACCEPTED: 0,
    Conclusion.FAIL: 1,
    Conclusion.REGRESSED: 1,
    Conclusion.INCOMPLETE: 4,
    Conclusion.INCONCLUSIVE: 4,
    Conclusion.ERROR: 3,
}
"""Exit code for what is said, as a stage itself would end; where it was said does not matter."""

SUMMARY_LIMIT = 900_000
"""Bytes of the job summary: GitHub discards one above 1 MiB, and the step may write other things too."""

NOT_WRITTEN, REFUSED, NO_COMMENT = "dry run", "refused", "none"
"""What became of the comment where none is written: nothing is, it could not be, there is nobody to write to."""


GONE = "comment and check stay as they are, and what is accepted counts from the next run on: artifacts are gone of run"
"""Why nothing is said again, before the run's id: artifacts are removed after some months."""

NOTE_LIMIT = 1_000
"""Characters of a note in the job summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was said, and where."""

    publication: Publication | None
    """None: there was nothing to say."""

    subject: Subject | None
    """What it is of."""

    comment: CommentOutcome | None = None
    """What became of the comment; None: there is none, or it could not be written."""

    check_url: str = ""
    """Page of the check."""

    unheard: bool = False
    """The check does not carry the remarks."""

    notes: tuple[str, ...] = ()
    """What a person must know."""


def publish(
    request: PublishRequest,
    api: Api | None,
    clock: Clock,
    world: World,
    *,
    accepted: Sequence[AcceptedRegression] = (),
) -> PublishedDocument:
    """Tell what a run found.

    Args:
        request: what is asked.
        api: acts as the bot; None: nothing can be written, and artifacts are read from disk.
        clock: passes the time between a write and a look.
        world: effects.
        accepted: regressions that a person has accepted just now.

    Raises:
        UsageError: no run is named, or not the one this is for.
        GithubError: the server does not say what the run is, or does not give its artifacts.
        ArtifactError: the directory holds no artifacts.
    """
    if request.source is not None and (api is None or request.dry_run):
        told = _from_disk(request, request.source, world)
    elif api is None:
        raise UsageError(
            "no token is there; wanted one to read the run and to write with",
            next_step="give the action's step `token: ${{ github.token }}`, by hand set OPSDEBUG_TOKEN; or look at "
            "artifacts on disk with `--from DIR --dry-run`",
        )
    else:
        told = _of_run(request, api, clock, world, accepted)
    return _document(told, request)


def _from_disk(request: PublishRequest, source: Path, world: World) -> Told:
    gathered = gather(ArtifactsOnDisk(source), request, None)
    subject = subject_on_disk(gathered.shards)
    publication = statement(gathered, subject, request, before=None, now=world.now())
    return Told(publication=publication, subject=subject)


def _of_run(
    request: PublishRequest, api: Api, clock: Clock, world: World, accepted: Sequence[AcceptedRegression]
) -> Told:
    repository = repository_of(world.environ)
    run = trusted_run(api, repository, run_id(request, world.environ), request, world.environ)
    silent = silence(run)
    if silent is not None:
        return Told(publication=None, subject=None, notes=(silent,))
    subject = subject_of_run(api, run, repository, server_of(world.environ))
    source = _source(request, api, repository, run.id)
    if request.dry_run:
        gathered = gather(source, request, subject)
        subject = with_doubt(api, subject, gathered)
        publication = statement(gathered, subject, request, before=None, accepted=accepted, now=world.now())
        return Told(publication=publication, subject=subject, notes=subject.notes)
    kept = gather(source, request, subject) if request.whole_or_nothing else None
    if kept is not None and not kept.whole:
        return Told(publication=None, subject=None, notes=(f"{GONE} {run.id}",))
    voice = Voice(api, subject, request, clock)
    with voice.check() as check:
        gathered = kept or gather(source, request, subject)
        voice.subject = subject = with_bundles(with_doubt(api, subject, gathered), gathered.bundles)
        seen = voice.seen()
        before = None if seen is None else vouched(seen[1].state, "" if check is None else check.before)
        publication = statement(gathered, subject, request, before=before, accepted=accepted, now=world.now())
        comment = None
        if seen is not None:
            comment = voice.comment(publication, before, *seen)
        if check is not None:
            voice.complete(check, publication)
    return Told(
        publication=publication,
        subject=subject,
        comment=comment,
        check_url="" if check is None else check.url,
        unheard=voice.unheard,
        notes=(*subject.notes, *voice.notes),
    )


def _source(request: PublishRequest, api: Api, repository: str, run: int) -> ArtifactPlace:
    return ArtifactsOfRun(api, repository, run) if request.source is None else ArtifactsOnDisk(request.source)


def vouched(state: CommentState | None, title: str) -> CommentState | None:
    """What a comment remembers, its acceptances only where the check of the commit told of some: whatever posts under
    our name may write such a comment, and only who may write checks such a check.

    Args:
        state: of the comment.
        title: of the check as it was before; empty: there was none.
    """
    return state if state is None or tells_of_acceptance(title) else replace(state, accepted=())


def _document(told: Told, request: PublishRequest) -> PublishedDocument:
    publication, subject, comment = told.publication, told.subject, told.comment
    if publication is None or subject is None:
        return nothing_said(told.notes)
    document = publication.document
    counts = {} if document is None else document.summary.counts
    accepted = {one.operator for one in publication.accepted}
    return PublishedDocument(
        schema=PUBLISHED_SCHEMA,
        conclusion=str(publication.conclusion),
        exit_code=0 if request.gate is Gate.NEVER else EXIT_CODES[publication.conclusion],
        head_commit=subject.head_commit,
        pull_request=None if subject.pull is None else subject.pull.number,
        comment=_became(told, request),
        comment_url="" if comment is None else comment.url,
        check_url=told.check_url,
        failures=sum(counts.get(str(verdict), 0) for verdict in FAILING_VERDICTS),
        regressions=0 if document is None else len([name for name in document.regressions if name not in accepted]),
        summary=check_summary(publication, SUMMARY_LIMIT),
        remarks=_remarks(publication) if told.unheard else (),
        notes=told.notes,
    )


def nothing_said(notes: tuple[str, ...]) -> PublishedDocument:
    """There was nothing to say, as `notes` explain."""
    return PublishedDocument(
        schema=PUBLISHED_SCHEMA,
        conclusion="",
        exit_code=0,
        head_commit="",
        pull_request=None,
        comment=NO_COMMENT,
        comment_url="",
        check_url="",
        failures=0,
        regressions=0,
        summary="".join(f"{md_text(note, NOTE_LIMIT)}\n\n" for note in notes),
        notes=notes,
    )


def _became(told: Told, request: PublishRequest) -> str:
    """What became of the comment, in a word or two."""
    if request.dry_run:
        return NOT_WRITTEN
    if told.comment is not None:
        return str(told.comment.action)
    asked = told.subject is not None and told.subject.pull is not None and request.policy is not CommentPolicy.OFF
    return REFUSED if asked else NO_COMMENT


def _remarks(publication: Publication) -> tuple[Remark, ...]:
    return tuple(
        Remark(level=one.level.value, title=one.title, message=one.message, file=one.file, line=one.line)
        for one in remarks(publication)
    )
