"""Whether an account may say that a regression is as it should be.

Decides by what the server answers now: whoever may write to the repository may. Deliberately believes nothing that an
event says of it: the association of an author tells neither what they may do nor that they still may.
"""

from __future__ import annotations

import re

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import Permission

WRITERS = ("admin", "write")
"""Permissions with which a person may. Those who maintain have `write`, those who triage `read`."""

_PERSON = "User"
"""GitHub's kind of account of a person."""

_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""Names of people; those of apps end in `[bot]`. Nothing that could lead to another path."""

_NOT_FOUND = 404


def may_write(api: Api, repository: str, login: str, account: int | None = None) -> bool:
    """The person `login` may write to `repository`; never an app.

    Args:
        api: asked as itself.
        repository: `owner/name`.
        login: of whom.
        account: number of their account where it is known: a name that was given up may be somebody else's by now.

    Raises:
        GithubError: the server does not tell.
    """
    if not _LOGIN.fullmatch(login):
        return False
    try:
        answer = api.get(f"/repos/{repository}/collaborators/{login}/permission", Permission)
    except GithubRefusedError as refusal:
        if refusal.status != _NOT_FOUND:
            raise
        return False
    user = answer.user
    if answer.permission not in WRITERS or user is None:
        return False
    return user.type == _PERSON and user.login.casefold() == login.casefold() and account in (None, user.id)
