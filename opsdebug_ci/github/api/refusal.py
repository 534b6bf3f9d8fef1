"""What to tell a person whom GitHub refused.

Decides the words for each kind of refusal, and which line of a workflow's `permissions:` a request needs. Quotes of
GitHub's text are made one line, without hidden characters, without the token, and cut. Deliberately tries nothing
again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import final
from urllib.parse import quote

import msgspec

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.connection import Reply
from opsdebug_ci.github.plain_text import one_line

QUOTE_CHARACTERS = 300
"""Of GitHub's own text: its longest known messages have about 200."""

QUOTED_BYTES = 2**16
"""Of an answer that is looked at for such a text."""

HIDDEN = "***"
"""In place of a token, as the runner's log does."""

_PERMISSIONS = (
    (re.compile(r"/(issues|pulls)(/|$)"), "pull-requests"),  # comments of a pull request are comments of an issue
    (re.compile(r"/commits/[^/]+/pulls$"), "pull-requests"),
    (re.compile(r"/check-(runs|suites)(/|$)"), "checks"),
    (re.compile(r"/actions/"), "actions"),
    (re.compile(r"/(git|contents|commits|branches)(/|$)"), "contents"),
)
"""Part of a path behind the repository, and the permission it needs; the first that fits."""

_REPOSITORY = re.compile(r"/repos/[^/]+/[^/]+")

_FORK = (
    "the token of a workflow that a fork's pull request triggered is read-only whatever `permissions:` says: "
    "let a workflow on `workflow_run` publish"
)


_CLOSED = {
    "is locked": "unlock the conversation of the pull request, if the bot is to write there",
    "archived": "unarchive the repository, or end its workflows: nothing can be written to it",
}
"""Words of refusals that no permission changes, and what to do about each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Detail:
    """One entry of `errors`."""

    message: str = ""
    """Text; untrusted."""

    field: str = ""
    """What it is about."""

    code: str = ""
    """E.g. `missing_field`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """What GitHub says when it refuses."""

    message: str = ""
    """Text; untrusted."""

    errors: tuple[_Detail | str, ...] | str = field(default=())
    """Details; untrusted."""


@final
class Redaction:
    """Keeps a token out of texts."""

    def __init__(self, token: str) -> None:
        self._forms = sorted({token, quote(token, safe="")}, key=len, reverse=True)

    def __repr__(self) -> str:
        return f"Redaction({HIDDEN})"

    def one_line(self, text: str) -> str:
        """`text` for a message: one line, no token, no hidden characters, at most QUOTE_CHARACTERS."""
        shown = one_line(text, len(text))  # first, since a token may be split by what is hidden
        for form in self._forms:
            shown = shown.replace(form, HIDDEN)
        return one_line(shown, QUOTE_CHARACTERS)


def needed_permission(verb: str, path: str) -> str:
    """Line of `permissions:` that a request needs, e.g. `checks: write`; empty: none gives it."""
    behind = _REPOSITORY.sub("", path, count=1)
    name = next((name for pattern, name in _PERMISSIONS if pattern.search(behind)), "")
    return f"{name}: {'read' if verb == 'GET' else 'write'}" if name and behind != path else ""


def refusal(verb: str, path: str, reply: Reply, redaction: Redaction) -> GithubRefusedError:
    """The error for an answer that a person must do something about."""
    said = redaction.one_line(_text(reply.body[:QUOTED_BYTES]))
    message = f"{redaction.one_line(f'{verb} {path}')}: got HTTP {reply.status}" + (f" ({said})" if said else "")
    if 300 <= reply.status < 400:
        message += ", a redirection, which is not followed with the token"
    return GithubRefusedError(
        f"{message}; wanted it done", status=reply.status, next_step=_next_step(verb, path, reply.status, said)
    )


def _next_step(verb: str, path: str, status: int, said: str) -> str:
    permission = needed_permission(verb, path)
    if status == 401:
        return "pass a token that is valid: this one is wrong or has expired (the one of a job ends with the job)"
    if status == 403:
        closed = next((step for words, step in _CLOSED.items() if words in said), "")
        line = f"add `{permission}` to `permissions:` of the job; " if permission else ""
        return closed or f"{line}{_FORK}"
    if status in (404, 410):
        need = f", and the job needs `{permission}`" if permission else ""
        return f"look whether it is still there under that name{need}: GitHub hides what a token may not see"
    if status == 422:
        return "shorten or correct what was sent, as GitHub's text says"
    if 300 <= status < 400:
        return "look whether the repository was renamed, and whether GITHUB_API_URL is the address of the interface"
    return "read GitHub's text; if the request is wrong, report it as a fault of opsdebug-ci"


def _text(body: bytes) -> str:
    """GitHub's own words of an answer; of an answer in another form, its beginning."""
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")
    if isinstance(problem.errors, str):
        return f"{problem.message}: {problem.errors}"
    details = [detail if isinstance(detail, str) else _detail(detail) for detail in problem.errors]
    return ": ".join(part for part in (problem.message, "; ".join(filter(None, details))) if part)


def _detail(detail: _Detail) -> str:
    return detail.message or " ".join(part for part in (detail.field, detail.code) if part)
