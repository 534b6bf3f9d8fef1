"""Who we are on GitHub, and whether a comment is ours.

Decides by login and kind of account, both: anybody may copy a text of ours. Deliberately looks at no text.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import Comment, User

JOB_LOGIN = "github-actions[bot]"
"""Who writes with the token of a job."""

_APP, _PERSON = "Bot", "User"
"""GitHub's kinds of accounts that comment."""

_NO_ACCOUNT = (401, 403)
"""How GitHub answers an app that asks for its account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """An account that comments."""

    login: str
    """Name; GitHub ignores its case."""

    is_app: bool
    """It is an app's, not a person's."""


def whoami(api: Api, app: str = "") -> Author:
    """The account that `api` acts as. The token of an app may not ask.

    Args:
        api: asked as itself.
        app: the app's short name, where an answer to something it did has told; empty: not known, and then it is taken
            for that of a job, which acts as `JOB_LOGIN`.
    """
    try:
        user = api.get("/user", User)
    except GithubRefusedError as refusal:
        if refusal.status not in _NO_ACCOUNT:
            raise
        return author_named(f"{app}[bot]" if app else JOB_LOGIN)
    return author_of(user)


def author_of(user: User) -> Author:
    """The account that an answer names."""
    return Author(login=user.login, is_app=user.type == _APP)


def author_named(login: str) -> Author:
    """The account of that name. Only names of apps end with `[bot]`: a person's name cannot hold a bracket."""
    return Author(login=login, is_app=login.endswith("[bot]"))


def wrote(comment: Comment, author: Author) -> bool:
    """`author` is who wrote `comment`."""
    user = comment.user
    kind = _APP if author.is_app else _PERSON
    return user is not None and (user.login.casefold(), user.type) == (author.login.casefold(), kind)
