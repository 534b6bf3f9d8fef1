"""How long to wait before a request is sent again, and when to stop.

Decides the waits: those GitHub asks for, else growing ones, and one budget for all of a client's waits and failed tries
together, so that a job ends. Deliberately knows no request: whether one may be sent again is for the client to say.
A wait that the budget does not cover is not begun; a job never sleeps until its limit is reset in half an hour.
"""

from __future__ import annotations

import email.utils
import random
import re
import time
from typing import Protocol, final

from opsdebug_ci.github.api.connection import Reply

BUDGET_S = 300.0
"""For all waits and failed tries of a client: holds two waits for a limit that names no time (one minute, then two),
and a dozen growing ones; a job that waits longer costs more than what it has to say."""

FIRST_WAIT_S = 1.0
"""Before the second try; each further one doubles it."""

LONGEST_WAIT_S = 32.0
"""Where doubling ends, so that the budget holds a dozen tries."""

UNNAMED_LIMIT_S = 60.0
"""GitHub asks for at least one minute, then growing waits, where a secondary limit names no time."""

_LIMIT_TEXT = re.compile(rb"rate.?limit|abuse detection", re.IGNORECASE)
"""In messages and addresses of documentation of both kinds of limit, old and new."""

_PERMISSION_TEXT = b"not accessible by"
"""What a missing permission says, also in the answer that used up the hour's last request."""


class Clock(Protocol):
    """Time and chance."""

    def monotonic_s(self) -> float:
        """Seconds since some moment; never goes back."""

    def now_s(self) -> float:
        """Seconds since 1970, UTC."""

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""

    def jitter(self) -> float:
        """Any number, at least 0 and below 1."""


@final
class SystemClock:
    """The computer's."""

    def monotonic_s(self) -> float:
        """As the system counts."""
        return time.monotonic()

    def now_s(self) -> float:
        """As the system knows it."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let the thread wait."""
        time.sleep(seconds)

    def jitter(self) -> float:
        """Another number in every process, so that those who were refused together do not come back together."""
        return random.random()  # noqa: S311 - spreads load, guards nothing


@final
class Patience:
    """What is left of a client's budget."""

    def __init__(self, clock: Clock, budget_s: float) -> None:
        self._clock = clock
        self.budget_s = budget_s
        self.spent_s = 0.0
        self._unnamed = 0

    def charge(self, seconds: float) -> None:
        """Count time that a failed try took."""
        self.spent_s += max(0.0, seconds)

    def wait(self, seconds: float) -> bool:
        """Wait and be charged for it; False, at once: the budget does not cover it."""
        if self.spent_s + seconds > self.budget_s:
            return False
        self.spent_s += seconds
        self._clock.sleep(seconds)
        return True

    def growing_s(self, attempt: int) -> float:
        """Wait after the failed try `attempt`, counted from 0: doubling, of which half is left to chance."""
        full = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempt, 10))  # 2**10 is beyond the longest wait
        return full * (0.5 + 0.5 * self._clock.jitter())

    def limit_s(self, reply: Reply, attempt: int) -> float:
        """Wait that a limit asks for.

        In the order of GitHub's documentation: `Retry-After`, then the reset of a used-up hour, then a minute and
        longer each time. Never shorter than what was asked for, nor than a growing wait.

        Args:
            reply: for which `is_limit` holds.
            attempt: which failed try it is the answer to, from 0.
        """
        asked = self._asked_s(reply)
        if asked is None:
            asked = UNNAMED_LIMIT_S * 2.0 ** min(self._unnamed, 10)
            self._unnamed += 1  # of the account, not of one request
        return max(asked + self._clock.jitter() * FIRST_WAIT_S, self.growing_s(attempt))

    def _asked_s(self, reply: Reply) -> float | None:
        after = _seconds(reply.headers.get("retry-after", ""))
        if after is None:
            moment_s = _moment_s(reply.headers.get("retry-after", ""))
            after = None if moment_s is None else max(0.0, moment_s - self._clock.now_s())
        if after is None and reply.headers.get("x-ratelimit-remaining") == "0":
            reset = _seconds(reply.headers.get("x-ratelimit-reset", ""))
            after = None if reset is None else max(0.0, reset - self._clock.now_s())
        return after


def is_limit(reply: Reply) -> bool:
    """Whether the answer says: too many requests. A 403 says so by its headers or its text, and has to be told from the
    403 of a missing permission."""
    if reply.status == 429:
        return True
    if reply.status != 403 or _PERMISSION_TEXT in reply.body:
        return False
    return (
        "retry-after" in reply.headers
        or reply.headers.get("x-ratelimit-remaining") == "0"
        or _LIMIT_TEXT.search(reply.body) is not None
    )


def _seconds(text: str) -> float | None:
    """A plain number of seconds; None: anything else. Twelve digits hold every moment of the next millennia."""
    return float(text) if re.fullmatch(r"[0-9]{1,12}", text.strip()) else None


def _moment_s(text: str) -> float | None:
    """Seconds since 1970 of a moment as HTTP writes it; None: anything else, one that no calendar holds included."""
    try:
        moment = email.utils.parsedate_tz(text)
        return None if moment is None else float(email.utils.mktime_tz(moment))
    except (ValueError, OverflowError):
        return None
