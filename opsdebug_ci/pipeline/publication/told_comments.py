"""What the bot has said on a pull request, for somebody who answers it.

Decides which of our comments counts for the newest commit, and since when a person could read it as it is. Deliberately
believes nothing of a comment that anybody else may have written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

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
    changed = max(instant_of(comment.updated_at) for comment in comments)
    if not state.reported_at or len(comments) > 1:
        return changed
    try:
        return min(changed, instant_of(state.reported_at))
    except ValueError:
        return changed


def instant_of(text: str) -> datetime:
    """An instant as GitHub writes it. Raises ValueError where it is none, or has no distance from UTC."""
    instant = datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 does not read the suffix `Z`
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no distance from UTC")
    return instant
