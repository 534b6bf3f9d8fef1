"""The one comment of a suite on a pull request, whoever else writes one at the same time.

GitHub has no way to write only what nobody changed meanwhile. So a writer looks, does the next step, and looks again,
until there is nothing left to do (`convergence` decides the steps). Decides what is sent, in which order, and how often
it is begun anew. Deliberately knows nothing of what the comment says.

That ends with one comment and the newest data whatever the order, unless a writer takes longer between a look and its
next request than others wait before they look again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from opsdebug_ci.errors import GithubAmbiguousError, GithubRefusedError, GithubUnreachableError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.patience import Clock
from opsdebug_ci.github.api.records import Comment
from opsdebug_ci.github.bot.author import Author, author_of, wrote
from opsdebug_ci.github.bot.body import compose, decode_state, forgetful, is_ours, visible_hash
from opsdebug_ci.github.bot.convergence import NO_RUNG, CommentAction, Seen, Step, Text, next_step, seen_among
from opsdebug_ci.model.publication import CommentState

LIMIT_BYTES = 65_000
"""Of a comment, in UTF-8: GitHub names 65,536 characters as its limit."""

ROUNDS = 5
"""Steps at most: create, be told of another one, bring that up to date, see it overwritten once, write it again."""

SETTLING_S = (0.5, 1.5)
"""Seconds between a step and looking again: what GitHub's lists may lag behind, and not the same for two writers that
began together."""

DELETIONS = 10
"""Comments of ours removed at a time; what is left is left to the next publication."""

_GONE = (404, 410)
_UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOutcome:
    """What was done."""

    url: str
    """Page of the comment; empty: there is none."""

    action: CommentAction
    """What became of it."""

    body_rung: int
    """Which of the rungs is shown, from 0; NO_RUNG: none of them."""

    notes: tuple[str, ...] = ()
    """What a person may want to know, in sentences."""


Sound = Callable[[CommentState], bool]
"""Whether a comment can remember this."""


def anything(_: CommentState) -> bool:
    """Everything can be remembered."""
    return True


def read_comments(api: Api, repository: str, number: int, suite: str, author: Author, sound: Sound = anything) -> Seen:
    """Our comments of `suite` on pull request `number`, among all of its comments; what is not `sound` is not read."""
    every = api.pages(f"/repos/{repository}/issues/{number}/comments", Comment)
    ours = [comment for comment in every if wrote(comment, author) and is_ours(comment.body, suite)]
    return seen_among([_believed(comment, sound) for comment in ours])


def _believed(comment: Comment, sound: Sound) -> Comment:
    state = decode_state(comment.body)
    return comment if state is None or sound(state) else replace(comment, body=forgetful(comment.body))


def write_comment(
    api: Api,
    repository: str,
    number: int,
    suite: str,
    author: Author,
    *,
    seen: Seen,
    rungs: Sequence[str],
    state: CommentState,
    may_create: bool,
    limit_bytes: int = LIMIT_BYTES,
    sound: Sound = anything,
    clock: Clock,
) -> CommentOutcome:
    """Make our comment say `rungs`, unless it says something newer.

    Args:
        api: acts as `author`.
        repository: `owner/name`.
        number: of the pull request.
        suite: which of several comments.
        author: whose comments are ours.
        seen: what `read_comments` found.
        rungs: visible texts, the fullest first; the last is taken whatever its size.
        state: what to remember; the hash of the text is filled in here.
        may_create: without it, only a comment that is there is changed.
        limit_bytes: of the whole comment.
        sound: as `read_comments` was asked.
        clock: passes the time.

    Raises:
        GithubRefusedError: it may not be written; the caller says it elsewhere.
        GithubUnreachableError: nobody knows whether it was.
    """
    place = _Place(api=api, repository=repository, number=number, suite=suite, author=author, sound=sound, clock=clock)
    writer = _Writer(place, _offer(suite, rungs, state, limit_bytes), state, may_create)
    if writer.step(seen).texts and seen.canonical is not None:
        seen = place.look()  # what the caller saw may be old by now, and something newer would be overwritten
    return writer.converge(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the comment is."""

    api: Api
    """Acts as `author`."""

    repository: str
    """`owner/name`."""

    number: int
    """Of the pull request."""

    suite: str
    """Which of several comments."""

    author: Author
    """Whose comments are ours."""

    sound: Sound
    """Which memories are read."""

    clock: Clock
    """Passes the time."""

    def look(self) -> Seen:
        """Our comments now."""
        return read_comments(self.api, self.repository, self.number, self.suite, self.author, self.sound)

    def look_again(self) -> Seen:
        """Our comments, once other writers and GitHub's lists had time to catch up."""
        least, most = SETTLING_S
        self.clock.sleep(least + (most - least) * self.clock.jitter())
        return self.look()

    def create(self, body: str) -> Comment:
        """Post a comment, once."""
        return self.api.post(f"/repos/{self.repository}/issues/{self.number}/comments", Comment, {"body": body})

    def rewrite(self, comment: Comment, body: str) -> Comment:
        """Replace the text of a comment of ours."""
        return self.api.patch(self._path(comment), Comment, {"body": body})

    def remove(self, duplicates: Sequence[Comment]) -> tuple[str, ...]:
        """Remove comments of ours, and say which could not be."""
        return tuple(note for comment in duplicates[:DELETIONS] if (note := self._removed(comment)))

    def _removed(self, comment: Comment) -> str:
        """Empty; else why it is still there."""
        try:
            self.api.delete(self._path(comment))
        except GithubRefusedError as refusal:
            return f"a second comment of ours could not be removed: {refusal.message}"
        return ""

    def _path(self, comment: Comment) -> str:
        return f"/repos/{self.repository}/issues/comments/{comment.id}"


class _Writer:
    """One writer on its way to there being nothing left to do."""

    def __init__(self, place: _Place, offer: Sequence[Text], state: CommentState, may_create: bool) -> None:
        self._place, self._offer, self._state, self._may_create = place, offer, state, may_create
        self._did: CommentAction | None = None
        self._last: Comment | None = None
        self._rung = NO_RUNG
        self._doubt: GithubAmbiguousError | None = None

    def step(self, seen: Seen) -> Step:
        """What it does next."""
        wrote_already = self._did is not None
        return next_step(seen, self._offer, self._state, may_create=self._may_create, written=wrote_already)

    def converge(self, seen: Seen) -> CommentOutcome:
        """Write and look, until a look asks for no more."""
        for _ in range(ROUNDS):
            step = self.step(seen)
            if not step.texts:
                return self._outcome(step, seen, self._place.remove(seen.duplicates))
            if seen.canonical is None:
                self._create(step)
            else:
                self._rewrite(step, seen.canonical)
            seen = self._place.look_again()
            if seen.canonical is None and self._last is not None:
                seen = seen_among([self._last])  # GitHub's list is behind what it answered
        return self._given_up()

    def _create(self, step: Step) -> None:
        """Post, or leave open whether that was done: the next look tells."""
        try:
            self._last = self._first_taken(step, self._place.create)
            if self._last.user is not None:  # the server knows best who we are, and so which older ones are ours
                self._place = replace(self._place, author=author_of(self._last.user))
        except GithubAmbiguousError as doubt:
            self._doubt = doubt
        self._did = CommentAction.CREATED

    def _rewrite(self, step: Step, canonical: Comment) -> None:
        """Patch the oldest. The others are removed once a look has shown that it holds the newest data."""
        try:
            self._last = self._first_taken(step, lambda body: self._place.rewrite(canonical, body))
        except GithubRefusedError as refusal:
            if refusal.status not in _GONE:
                raise
            self._last = None
            return
        self._did = self._did or CommentAction.UPDATED

    def _first_taken(self, step: Step, send: Callable[[str], Comment]) -> Comment:
        """The fullest text that GitHub takes: its true limit is not known."""
        *fuller, last = step.texts
        for text in fuller:
            comment = _unless_unprocessable(send, text.body)
            if comment is not None:
                self._rung = text.rung
                return comment
        self._rung = last.rung
        return send(last.body)

    def _outcome(self, step: Step, seen: Seen, notes: tuple[str, ...]) -> CommentOutcome:
        url = "" if seen.canonical is None else seen.canonical.html_url
        did = self._did if step.action is CommentAction.UNCHANGED else None
        return CommentOutcome(url=url, action=did or step.action, body_rung=step.rung, notes=notes)

    def _given_up(self) -> CommentOutcome:
        """There is still something to do: others write without end, or no answer was certain."""
        if self._last is not None:
            note = f"others wrote the comment at the same time; after {ROUNDS} rounds it may not show the newest run"
            action = self._did or CommentAction.UPDATED
            return CommentOutcome(url=self._last.html_url, action=action, body_rung=self._rung, notes=(note,))
        if self._doubt is not None:
            raise self._doubt
        raise GithubUnreachableError(
            f"the comment on pull request {self._place.number} went away {ROUNDS} times while it was written",
            next_step="see what else removes comments there, then run this job again",
        )


def _unless_unprocessable(send: Callable[[str], Comment], body: str) -> Comment | None:
    """What was written; None: GitHub does not take that text."""
    try:
        return send(body)
    except GithubRefusedError as refusal:
        if refusal.status != _UNPROCESSABLE:
            raise
        return None


def _offer(suite: str, rungs: Sequence[str], state: CommentState, limit_bytes: int) -> tuple[Text, ...]:
    """The rungs that fit, as whole comments."""
    states = [replace(state, body=visible_hash(rung)) for rung in rungs]
    bodies = [compose(suite, known, rung) for known, rung in zip(states, rungs, strict=True)]
    *fuller, last = (Text(rung=n, body=body) for n, body in enumerate(bodies))
    return (*(text for text in fuller if len(text.body.encode("utf-8", "replace")) <= limit_bytes), last)
