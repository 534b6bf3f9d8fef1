"""What a writer of our comment does next, given the comments it sees.

Decides which comment it is (the oldest of ours), whose data stays in it (the newest run's), and what is written. Pure:
two writers that see the same do the same, so that they end with one comment and the newest data, whoever is first.
Deliberately knows neither GitHub nor the visible text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opsdebug_ci.github.api.records import Comment
from opsdebug_ci.github.bot.body import decode_state
from opsdebug_ci.model.publication import CommentState
from opsdebug_ci.model.vocabulary import Word

NO_RUNG = -1
"""Where none of our texts is shown."""


class CommentAction(Word):
    """What becomes of the comment."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    KEPT_NEWER = "kept_newer"
    NOT_WANTED = "not_wanted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Our comments of a suite, as they were when somebody looked."""

    canonical: Comment | None
    """The oldest; None: there is none."""

    duplicates: tuple[Comment, ...] = ()
    """The others, oldest first."""

    state: CommentState | None = None
    """The newest that any of them remembers; None: none remembers anything that can be believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A whole comment, ready to be written."""

    rung: int
    """Which of the visible texts it shows, from 0, the fullest first; NO_RUNG: somebody else's."""

    body: str
    """It."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is to be done."""

    action: CommentAction
    """What has become of the comment once it is done."""

    texts: tuple[Text, ...] = ()
    """To be written, the first that GitHub takes; empty: nothing is."""

    rung: int = NO_RUNG
    """Which of our texts is there already; NO_RUNG: another text, which stays."""


def seen_among(ours: Sequence[Comment]) -> Seen:
    """Our comments in order."""
    first, *others = sorted(ours, key=lambda comment: comment.id) or (None,)
    if first is None:
        return Seen(canonical=None)
    newest = _newest(first, others)
    return Seen(canonical=first, duplicates=tuple(others), state=decode_state(newest.body))


def next_step(seen: Seen, offer: Sequence[Text], state: CommentState, *, may_create: bool, written: bool) -> Step:
    """What a writer with that data does.

    Args:
        seen: our comments now.
        offer: what it would write, the fullest first.
        state: what its data is of.
        may_create: a comment is wanted where there is none.
        written: it has written already. Then data as new as its own stays, whoever wrote it: two reporters of one run
            must not go on correcting each other.
    """
    canonical = seen.canonical
    if canonical is None:
        return Step(action=CommentAction.CREATED, texts=tuple(offer)) if may_create else _NOTHING_WANTED
    if seen.state is not None and is_newer(seen.state, state):
        newest = _newest(canonical, seen.duplicates)
        kept = Text(rung=NO_RUNG, body=newest.body)
        return Step(action=CommentAction.KEPT_NEWER, texts=() if newest is canonical else (kept,))
    there = next((text.rung for text in offer if _normal(canonical.body) == _normal(text.body)), None)
    if there is not None:
        return Step(action=CommentAction.UNCHANGED, rung=there)
    shown = decode_state(canonical.body)
    if written and shown is not None and not is_newer(state, shown):
        return Step(action=CommentAction.UNCHANGED)
    return Step(action=CommentAction.UPDATED, texts=tuple(offer))


_NOTHING_WANTED = Step(action=CommentAction.NOT_WANTED)


def is_newer(state: CommentState, than: CommentState) -> bool:
    """`state` is of a later run or attempt. Run numbers count within one workflow; ids of runs grow everywhere."""
    if (state.workflow, state.stage) == (than.workflow, than.stage):
        return (state.run_number, state.attempt) > (than.run_number, than.attempt)
    return (state.ci_run, state.attempt) > (than.ci_run, than.attempt)


def _newest(first: Comment, others: Sequence[Comment]) -> Comment:
    """The one of the newest run, the oldest comment of several; one that remembers nothing is older than any."""
    newest, known = first, decode_state(first.body)
    for comment in others:
        state = decode_state(comment.body)
        if state is not None and (known is None or is_newer(state, known)):
            newest, known = comment, state
    return newest


def _normal(body: str) -> str:
    return body.replace("\r\n", "\n").strip()
