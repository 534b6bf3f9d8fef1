"""What goes wrong on the way to GitHub and back, by request.

Decides which request a fault meets and what it does to it: it never acts, it acts and its answer is lost, it answers
something else, or its answer comes damaged.

In a pattern of a path `*` is one segment and `**` any number of them: `/repos/*/*/issues/*/comments`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from github_server.answers import (
    Answer,
    primary_limit,
    secondary_limit,
    server_error,
    too_many,
)
from github_server.wire import Manner


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a fault does."""

    name: str
    acts: bool = True
    """The request does what it asks for."""

    answer: Callable[[float], Answer] | None = None
    """What is answered instead, by the moment in seconds since 1970; None: what would be."""

    change: Callable[[bytes], bytes] | None = None
    """What becomes of the body."""

    manner: Manner = Manner.WHOLE
    every_s: float = 0.0
    wait_s: float = 0.0
    """Before it acts."""

    late_s: float = 0.0
    """After it has acted, before it answers."""

    claimed: bool = True
    """It passes for an answer of GitHub's, so that the referee looks at it."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """An effect on the `first` to `first + count - 1`-th request that matches."""

    method: str
    pattern: str
    effect: Effect
    first: int = 1
    count: int = 1
    seen: int = 0
    """Requests that matched so far."""

    @property
    def hits(self) -> int:
        """How often it happened."""
        return max(0, min(self.seen - self.first + 1, self.count))

    def meets(self, method: str, path: str) -> bool:
        """Count a request; whether this fault is to happen to it."""
        if self.method not in ("*", method) or not path_pattern(self.pattern).fullmatch(path):
            return False
        self.seen += 1
        return self.first <= self.seen < self.first + self.count


@cache
def path_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of paths, compiled."""
    parts = re.split(r"(\*\*|\*)", pattern)
    rules = {"*": "[^/]+", "**": ".*"}
    return re.compile("".join(rules.get(part, re.escape(part)) for part in parts))


def outage(status: int = 502, *, acted: bool = False, page: bool = False) -> Effect:
    """A server error; `acted`: after doing what was asked; `page`: a page for people instead of JSON."""
    answer = server_error(status)
    if page:
        answer = replace(answer, headers={"Content-Type": "text/html"})
    return Effect(
        name=f"{status}{' after acting' if acted else ''}",
        acts=acted,
        answer=lambda _: answer,
        change=(lambda _: b"<html><title>Unicorn!</title></html>") if page else None,
        claimed=not page,
    )


def reset(*, acted: bool = False) -> Effect:
    """The connection breaks; `acted`: after doing what was asked."""
    return Effect(name=f"reset{' after acting' if acted else ''}", acts=acted, manner=Manner.RESET, claimed=False)


def dribble(every_s: float) -> Effect:
    """The right answer, one byte at a time."""
    return Effect(name="dribble", manner=Manner.DRIBBLE, every_s=every_s)


def endless(every_s: float = 0.001) -> Effect:
    """The right answer and spaces for ever, a kilobyte at a time."""
    return Effect(name="endless", manner=Manner.ENDLESS, every_s=every_s, claimed=False)


def truncated(keep: int | None = None) -> Effect:
    """The right answer, cut: its first `keep` bytes, or half."""
    return Effect(
        name="truncated",
        change=lambda body: body[: len(body) // 2 if keep is None else keep],
        manner=Manner.TRUNCATED,
        claimed=False,
    )


def garbled() -> Effect:
    """The right status, and no JSON."""
    return Effect(name="garbled", change=lambda body: b'{"id": ' + body[:9], claimed=False)


def retyped(field: str, value: object) -> Effect:
    """The right answer with one wrong field, in every entry of a list."""

    def change(body: bytes) -> bytes:
        whole = json.loads(body)
        for one in whole if isinstance(whole, list) else [whole]:
            one[field] = value
        return json.dumps(whole).encode()

    return Effect(name=f"retyped {field}", change=change, claimed=False)


def too_many_requests(retry_after_s: int | None = None) -> Effect:
    """429."""
    return Effect(name="429", acts=False, answer=lambda _: too_many(retry_after_s))


def secondary_rate_limit(retry_after_s: int | None = None) -> Effect:
    """403 for too much at once."""
    return Effect(name="secondary limit", acts=False, answer=lambda _: secondary_limit(retry_after_s))


def primary_rate_limit(reset_in_s: int) -> Effect:
    """403 for an hour's requests used up."""
    return Effect(name="primary limit", acts=False, answer=lambda now: primary_limit(int(now) + reset_in_s))


def answered(answer: Answer, *, acted: bool = False, claimed: bool = True) -> Effect:
    """Any answer."""
    return Effect(name=f"answered {answer.status}", acts=acted, answer=lambda _: answer, claimed=claimed)


def redirected(location: str, status: int = 302) -> Effect:
    """Somewhere else."""
    answer = Answer(status=status, headers={"Location": location}, empty=True)
    return Effect(name="redirected", acts=False, answer=lambda _: answer, claimed=False)


def stalled(seconds: float, then: Effect | None = None, *, acted: bool = False) -> Effect:
    """A pause, and then as usual or as `then` says; `acted`: the pause comes after doing what was asked.

    It is over when the server ends.
    """
    effect = then or Effect(name="stalled")
    return replace(effect, late_s=seconds) if acted else replace(effect, wait_s=seconds)
