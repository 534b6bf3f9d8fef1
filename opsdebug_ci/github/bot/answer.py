"""How the bot answers a person: by a sign when what they said was done, by one reply when it was not.

Decides that no request is answered twice, however often its event is delivered. Deliberately not what is said: texts
come in ready to be shown. An answer that cannot be given is a sentence for the log, never a fault: what was asked for
is done.
"""

from __future__ import annotations

import hashlib

from opsdebug_ci.errors import GithubAmbiguousError, GithubError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import Comment, Reaction
from opsdebug_ci.github.bot.author import Author, wrote

DONE = "+1"
"""The sign for what was done."""


def reply_line(request: str) -> str:
    """The hidden first line of the reply to a request, by which it is found again.

    Args:
        request: what tells it from others: the number of the comment, or any text.
    """
    name = request if request.isdecimal() else hashlib.sha256(request.encode("utf-8", "replace")).hexdigest()[:20]
    return f"<!-- opsdebug-ci:reply id={name} -->"


def show_done(api: Api, repository: str, comment: int) -> str | None:
    """Put the sign under a comment; it being there already is as good. Returns why not, None when it is there."""
    try:
        api.post(f"/repos/{repository}/issues/comments/{comment}/reactions", Reaction, {"content": DONE})
    except GithubError as fault:
        return f"no sign was put under the comment: {fault.message}"
    return None


def reply(api: Api, repository: str, number: int, request: str, text: str, author: Author) -> str | None:
    """Answer a request in words, unless it was answered already. Returns why not, None when the answer is there.

    Args:
        api: acts as `author`.
        repository: `owner/name`.
        number: of the pull request.
        request: what tells it from others.
        text: markdown, in which nothing of anybody else's is alive.
        author: whose replies are ours.
    """
    line = reply_line(request)
    try:
        if _is_there(api, repository, number, line, author):
            return None
        api.post(f"/repos/{repository}/issues/{number}/comments", Comment, {"body": f"{line}\n{text}\n"})
    except GithubAmbiguousError as doubt:
        return _settled(api, repository, number, line, author, doubt)
    except GithubError as fault:
        return f"no reply was written: {fault.message}"
    return None


def _settled(
    api: Api, repository: str, number: int, line: str, author: Author, doubt: GithubAmbiguousError
) -> str | None:
    """Look whether the reply is there after all. It is not sent again: two would be worse than none."""
    try:
        there = _is_there(api, repository, number, line, author)
    except GithubError as fault:
        return f"a reply may not have been written: {fault.message}"
    return None if there else f"a reply may not have been written: {doubt.message}"


def _is_there(api: Api, repository: str, number: int, line: str, author: Author) -> bool:
    every = api.pages(f"/repos/{repository}/issues/{number}/comments", Comment)
    return any(wrote(one, author) and one.body.splitlines()[:1] == [line] for one in every)
