"""The text of our comment: a marker by which it is found again, what it remembers, and what people see.

Decides how a comment's memory is written down within a bound, and what is believed when it is read back: anybody who
may edit the comment may have written it. Deliberately knows nothing of the visible text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import msgspec

from opsdebug_ci.model.publication import AcceptedRegression, CommentState, FailureKey, ReportedHead
from opsdebug_ci.model.vocabulary import Stage

STATE_VERSION = 1
"""Of what is remembered; another one is not read."""

STATE_LIMIT_BYTES = 8 * 2**10
"""Of the hidden line: an eighth of what a comment may hold, so that it never crowds out what people read."""

_UNPACKED_LIMIT_BYTES = 2**20
"""Of what is read back. What we write is far below; zlib packs zeros a thousandfold."""

_STAGES = tuple(str(stage) for stage in Stage)
_LARGEST = 2**53
"""Of ids and run numbers: what JSON holds exactly everywhere. A larger one would make every later run an older one."""

_NAME_LIMIT = 300
"""Characters of an operator's name that is remembered in full; a longer one is remembered by its digest."""

_REASON_LIMIT = 200
"""Characters of a reason that are remembered: as many as are shown."""

_INSTANT_LIMIT = 40
"""Characters of an instant: with microseconds and its distance from UTC it has 32."""

_LISTED = (200, 100, 50, 20, 5, 0)
"""Failures of one commit that are remembered in full: the first that fits."""

MOST_REMEMBERED = 2_000
"""Failures of both commits, in full or by digest, for which there can be room at all: so many digests in order hold
61,000 bits, 10,000 characters of the line."""

_MARKER = re.compile(r"<!-- opsdebug-ci:v1 id=([A-Za-z0-9._-]{1,64}) -->")
_STATE = re.compile(r"<!-- opsdebug-ci:state ([A-Za-z0-9_-]{1,8192}={0,2}) -->")


def marker_line(suite: str) -> str:
    """The hidden first line by which the comment is found again."""
    return f"<!-- opsdebug-ci:v1 id={re.sub('[^A-Za-z0-9._-]', '-', suite)[:64] or 'default'} -->"


def suite_of(body: str) -> str | None:
    """Whose marker is the first line, whole; None: it has none."""
    found = _MARKER.fullmatch(_lines(body)[0])
    return None if found is None else found[1]


def is_ours(body: str, suite: str) -> bool:
    """The marker is the first line, whole: a reply that quotes it has something in front of it."""
    return _lines(body)[0] == marker_line(suite)


def compose(suite: str, state: CommentState, visible: str) -> str:
    """The whole comment."""
    return f"{marker_line(suite)}\n{encode_state(state)}\n\n{visible.strip()}\n"


def visible_hash(text: str) -> str:
    """sha256 of a visible text; white space around it does not count."""
    return hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()


def encode_state(state: CommentState) -> str:
    """`state` as one hidden line of at most `STATE_LIMIT_BYTES`.

    What finds no room is left out so that nothing wrong can follow from it: a failure that is left out of the list
    keeps its digest, so it is never called new later; where digests have no room either, `whole` says so.
    """
    lines = (_line(smaller) for smaller in ever_smaller(state))
    return next(line for line in lines if len(line) <= STATE_LIMIT_BYTES)


def decode_state(body: str) -> CommentState | None:
    """What `body` remembers; None: nothing, or nothing that can be believed."""
    lines = _lines(body)
    found = _STATE.fullmatch(lines[1]) if len(lines) > 1 else None
    if found is None:
        return None
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.urlsafe_b64decode(found[1]), _UNPACKED_LIMIT_BYTES)
        if not unpacker.eof or unpacker.unused_data:
            return None
        state = msgspec.json.decode(data, type=CommentState)
    except (binascii.Error, zlib.error, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return state if _is_sound(state) else None


def forgetful(body: str) -> str:
    """`body` without what it remembers."""
    first, *others = _lines(body)
    return "\n".join([first, *(line for line in others if not _STATE.fullmatch(line))])


def _lines(body: str) -> list[str]:
    """The first two lines and the rest. Whoever edits a comment in a browser turns its line ends into CR LF."""
    return [line.removesuffix("\r") for line in body.split("\n", 2)]


def _line(state: CommentState) -> str:
    packed = zlib.compress(msgspec.json.encode(state), 9)
    return f"<!-- opsdebug-ci:state {base64.urlsafe_b64encode(packed).decode('ascii')} -->"


def _is_sound(state: CommentState) -> bool:
    numbers = (state.ci_run, state.run_number, state.attempt)
    ends = (accepted.until for accepted in state.accepted)
    return (
        state.version == STATE_VERSION
        and state.stage in _STAGES
        and all(0 <= number <= _LARGEST for number in numbers)
        and len(state.reported_at) <= _INSTANT_LIMIT  # what is none is as good as nothing, and has to find room again
        and all(end is None or _is_instant(end) for end in ends)
    )


def _is_instant(text: str) -> bool:
    """As we write one: ISO 8601, with its distance from UTC, and no more digits than it needs."""
    try:
        return len(text) <= _INSTANT_LIMIT and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def ever_smaller(state: CommentState) -> Iterator[CommentState]:
    """`state`, remembering less and less; the last is below 2,000 bytes whatever was asked for."""
    known = replace(state, accepted=tuple(_short(accepted) for accepted in state.accepted))
    failures = sum(len(head.failures) + len(head.unlisted) for head in (known.head, known.previous) if head is not None)
    for most in _LISTED if failures <= MOST_REMEMBERED else ():
        for kept in (known, _without_known(known)):
            yield replace(kept, head=_listing(kept.head, most), previous=_maybe_listing(kept.previous, most))
    forgetful = replace(known, head=_forgetting(known.head), previous=None)
    yield forgetful
    yield replace(forgetful, accepted=tuple(replace(accepted, reason="") for accepted in known.accepted))
    yield replace(forgetful, accepted=(), workflow="")


def _without_known(state: CommentState) -> CommentState:
    """`state` without what was known at the baseline: that is missed only where the baseline cannot be read."""
    previous = None if state.previous is None else replace(state.previous, known=None)
    return replace(state, head=replace(state.head, known=None), previous=previous)


def _short(accepted: AcceptedRegression) -> AcceptedRegression:
    return replace(accepted, reason=accepted.reason[:_REASON_LIMIT])


def _maybe_listing(head: ReportedHead | None, most: int) -> ReportedHead | None:
    return None if head is None else _listing(head, most)


def _listing(head: ReportedHead, most: int) -> ReportedHead:
    """`head` with at most so many failures in full, the others by digest."""
    listed = tuple(failure for failure in head.failures if _fits(failure))[:most]
    kept = frozenset(listed)
    left_out = tuple(failure.digest for failure in head.failures if failure not in kept)
    return replace(head, failures=listed, unlisted=tuple(sorted({*head.unlisted, *left_out})))


def _fits(failure: FailureKey) -> bool:
    return max(len(failure.operator), len(failure.fingerprint), len(failure.cause)) <= _NAME_LIMIT


def _forgetting(head: ReportedHead) -> ReportedHead:
    """`head` without anything that grows. Nothing can be called new against it."""
    return replace(head, failures=(), regressed=(), unlisted=(), whole=False, known=None)
