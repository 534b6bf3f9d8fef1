"""Where a publication is said: one check of the commit, one comment of the pull request.

Decides what becomes of a place that cannot be written: the rest is said all the same, and a person is told what is
missing. Whether operators are right does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import PurePosixPath
from typing import TypeVar, final

from opsdebug_ci.errors import GithubError
from opsdebug_ci.github.annotations import annotate
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.patience import Clock
from opsdebug_ci.github.api.records import PullRequest
from opsdebug_ci.github.bot.author import Author, author_named, whoami
from opsdebug_ci.github.bot.check import Check, check_name, open_check
from opsdebug_ci.github.bot.check_output import SUMMARY_LIMIT_BYTES, AnnotationLevel, CheckAnnotation
from opsdebug_ci.github.bot.claim import Claims
from opsdebug_ci.github.bot.commit_checks import CheckIdentity, origin_of
from opsdebug_ci.github.bot.convergence import Seen
from opsdebug_ci.github.bot.sticky_comment import CommentOutcome, anything, read_comments, write_comment
from opsdebug_ci.github.workflow_commands import Annotation, Level
from opsdebug_ci.model.publication import CommentPolicy, CommentState, Conclusion, Publication
from opsdebug_ci.pipeline.publication.held_signals import held_signals
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.publication.statement import remembered
from opsdebug_ci.pipeline.publication.subject import Subject
from opsdebug_ci.report.comment import check_summary, check_title, rungs, wanted

COMMENT_LIMIT = 65_000
"""Bytes of a whole comment; GitHub names 65,536 characters as its limit."""

STATE_ROOM = 12_000
"""Bytes of it that the marker and what the comment remembers may take."""

_REPOSITORY = PurePosixPath("/")
"""Paths in a shard are relative to it already."""

_LEVELS = {Level.ERROR: AnnotationLevel.FAILURE, Level.WARNING: AnnotationLevel.WARNING}

Made = TypeVar("Made")


@final
class Voice:
    """The two places of one subject."""

    def __init__(self, api: Api, subject: Subject, request: PublishRequest, clock: Clock) -> None:
        """
        Args:
            api: acts as the bot.
            subject: what is told of.
            request: what was asked.
            clock: passes the time between a write and a look.
        """
        self.api, self.subject, self.request, self.clock = api, subject, request, clock
        self.notes: list[str] = []
        """What could not be said where, and what to do about it."""
        self.unheard = False
        """The check was closed to us, so the log must carry what it would have shown beside the code."""
        self._superseded = False
        self._app = ""
        self._sound = anything if subject.pull is None else claims_on(api, subject, subject.pull).is_sound

    @contextmanager
    def check(self) -> Iterator[Check | None]:
        """The check of the commit, open while something is found out about it; None: it cannot be opened."""
        identity = CheckIdentity(
            suite=self.request.suite,
            stage=str(self.request.stage),
            run_number=self.subject.run_number,
            attempt=self.subject.attempt,
            origin=origin_of(self.subject.workflow, self.subject.event, self.subject.source),
        )
        with ExitStack() as closing:
            with held_signals():  # between the two lines nobody would close what is open
                opened = self._opened(identity)
                closing.enter_context(nullcontext() if opened is None else opened)
            if opened is None:
                self.unheard = True
                yield None
                return
            self._app = opened.app
            self._superseded = opened.superseded  # a later run had its say, perhaps by saying nothing
            yield opened
            with suppress(GithubError):  # `complete` has told of it
                closing.pop_all().close()

    def _opened(self, identity: CheckIdentity) -> Check | None:
        return self._tried(
            "the check",
            lambda: open_check(
                self.api,
                self.subject.repository,
                self.subject.head_commit,
                check_name(identity.stage, identity.suite),
                external_id=identity.external_id,
                details_url=self.subject.links.run_url,
            ),
        )

    def seen(self) -> tuple[Author, Seen] | None:
        """Who we are, and our comments on the pull request; None: there is none, or they cannot be read."""
        pull = self.subject.pull
        if pull is None or self.request.policy is CommentPolicy.OFF:
            return None
        return self._tried("the comment", lambda: self._look(pull))

    def _look(self, pull: PullRequest) -> tuple[Author, Seen]:
        author = author_named(self.request.author) if self.request.author else whoami(self.api, self._app)
        suite = self.request.suite
        return author, read_comments(self.api, self.subject.repository, pull.number, suite, author, self._sound)

    def comment(
        self, publication: Publication, before: CommentState | None, author: Author, seen: Seen
    ) -> CommentOutcome | None:
        """Bring the comment up to date; None: it cannot be written."""
        pull = self.subject.pull
        if pull is None:
            return None
        written_at = "" if seen.canonical is None else seen.canonical.updated_at
        outcome = self._tried(
            "the comment",
            lambda: write_comment(
                self.api,
                self.subject.repository,
                pull.number,
                self.request.suite,
                author,
                seen=seen,
                rungs=rungs(publication, limit_bytes=COMMENT_LIMIT - STATE_ROOM),
                state=remembered(publication, self.subject, before, written_at),
                may_create=wanted(publication, self.request.policy) and not self._unasked(publication),
                limit_bytes=COMMENT_LIMIT,
                sound=self._sound,
                clock=self.clock,
            ),
        )
        if outcome is not None:
            self.notes += outcome.notes
        return outcome

    def _unasked(self, publication: Publication) -> bool:
        """A later run had its say, or somebody stopped this one and knows that it is not whole."""
        stopped = self.subject.cancelled and publication.conclusion is Conclusion.INCOMPLETE
        return self._superseded or stopped

    def complete(self, check: Check, publication: Publication) -> None:
        """Close the check with what was found."""
        summary = check_summary(publication, SUMMARY_LIMIT_BYTES)
        told = self._tried(
            "the check",
            lambda: check.complete(
                publication.conclusion, check_title(publication), summary, check_annotations(publication)
            ),
        )
        self.unheard = told is None
        self.notes += told or ()

    def _tried(self, what: str, act: Callable[[], Made]) -> Made | None:
        try:
            return act()
        except GithubError as error:
            self.notes.append(f"{what} could not be written: {error.one_line}")
            return None


def claims_on(api: Api, subject: Subject, pull: PullRequest) -> Claims:
    """What may be claimed on `pull` before us, who have the data of `subject`."""
    return Claims(
        api=api,
        repository=subject.repository,
        pull=pull,
        ci_run=subject.ci_run,
        run_number=subject.run_number,
        attempt=subject.attempt,
    )


def remarks(publication: Publication) -> tuple[Annotation, ...]:
    """What stands beside the code."""
    return () if publication.document is None else annotate(publication.document, _REPOSITORY)


def check_annotations(publication: Publication) -> tuple[CheckAnnotation, ...]:
    """As the check shows it."""
    return tuple(
        CheckAnnotation(path=one.file, line=one.line, level=_LEVELS[one.level], title=one.title, message=one.message)
        for one in remarks(publication)
    )
