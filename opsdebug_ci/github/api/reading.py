"""Bytes of an answer to values of `records`.

Decides what counts as an answer that was damaged on its way (no JSON: it may be asked for again) and what as one that
breaks GitHub's promise (another shape: an error that names the field). Fields nobody reads are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from opsdebug_ci.errors import GithubAnswerError
from opsdebug_ci.github.api.connection import Loss, Lost, Reply

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Value]):
    """One page of a list."""

    entries: tuple[Value, ...]
    """In the server's order."""

    followed: bool
    """The server says that there is a next one."""


def read_value(body: bytes, kind: type[Value], what: str) -> Value | Lost:
    """One value; Lost: it is no JSON.

    Raises:
        GithubAnswerError: it is JSON of another shape.
    """
    try:
        msgspec.json.decode(body)  # first, since a wrong shape is noticed before the end of what is cut
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise GithubAnswerError(f"{what}: got an answer of another shape: {error}; wanted {kind.__name__}") from None
    except RecursionError:
        raise GithubAnswerError(f"{what}: got JSON nested beyond reason; wanted {kind.__name__}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Lost(kind=Loss.OPEN, reason="an answer that is no JSON")


def read_page(reply: Reply, kind: type[Value], what: str, within: str) -> Page[Value] | Lost:
    """One page: the answer, or the field `within` of it, is a list; Lost and errors as above."""
    entries = _entries(reply.body, kind, what, within)
    if isinstance(entries, Lost):
        return entries
    return Page(entries=entries, followed='rel="next"' in reply.headers.get("link", ""))


def _entries(body: bytes, kind: type[Value], what: str, within: str) -> tuple[Value, ...] | Lost:
    if not within:
        return read_value(body, tuple[kind, ...], what)  # type: ignore[valid-type] # a type made at run time
    fields = read_value(body, dict[str, msgspec.Raw], what)
    if isinstance(fields, Lost):
        return fields
    if within not in fields:
        raise GithubAnswerError(f"{what}: got an answer without the field `{within}`; wanted it to hold a list")
    return read_value(bytes(fields[within]), tuple[kind, ...], f"{what} ({within})")  # type: ignore[valid-type] # as above


def read_nothing(_: Reply) -> None:
    """Nothing is wanted."""
