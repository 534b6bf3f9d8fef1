"""What the bot has said on a pull request, for somebody who answers it.

Decides which of our comments counts for the newest commit, and since when a person could read it as it is. Deliberately
believes nothing of a comment that anybody else may have written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from opsdebug_ci.errors import GithubAnswerError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import Comment
from opsdebug_ci.github.bot.author import Author, wrote
from opsdebug_ci.github.bot.body import suite_of
from opsdebug_ci.github.bot.convergence import seen_among
from opsdebug_ci.model.publication import CommentState


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldComment:
    """The comment of one suite."""

    suite: str
    """Which of several comments."""

    state: CommentState
    """What it remembers."""

    since: datetime
    """Since when what a run found stands there as it does now."""


def told_comments(api: Api, repository: str, number: int, author: Author) -> tuple[ToldComment, ...]:
    """Our comments on pull request `number` that remember something, by suite.

    Raises:
        GithubError: the server does not tell.
    """
    by_suite: dict[str, list[Comment]] = {}
    for comment in api.pages(f"/repos/{repository}/issues/{number}/comments", Comment):
        suite = suite_of(comment.body)
        if suite is not None and wrote(comment, author):
            by_suite.setdefault(suite, []).append(comment)
    found = []
    for suite, comments in sorted(by_suite.items()):
        state = seen_among(comments).state
        if state is not None:
            found.append(ToldComment(suite=suite, state=state, since=_since(state, comments)))
    return tuple(found)


def _since(state: CommentState, comments: list[Comment]) -> datetime:
    """When the newest of them was changed, but for changes that only told what a person accepted."""
    changed = max(_changed(comment) for comment in comments)
    reported = instant_of(state.reported_at) if len(comments) == 1 else None
    return changed if reported is None else min(changed, reported)


def _changed(comment: Comment) -> datetime:
    changed = instant_of(comment.updated_at)
    if changed is None:
        raise GithubAnswerError(
            f"comment {comment.id} was changed at {comment.updated_at[:40]!r}; wanted an instant in ISO 8601",
            next_step="try again; if it stays so, the server is not GitHub's",
        )
    return changed


def instant_of(text: str) -> datetime | None:
    """An instant as GitHub writes it; None where it is none, or has no distance from UTC."""
    try:
        instant = datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 does not read the suffix `Z`
    except ValueError:
        return None
    return None if instant.tzinfo is None else instant
