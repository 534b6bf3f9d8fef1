"""`opsdebug baselines accept`: a person says that a failure, or how fast an operator is, is as it should be.

(1) whether this job may say so; (2) who, why and until when; (3) what is meant, by what is recorded; (4) at which
commit; (5) the acceptance is stored.

Decides what a name stands for, and that nothing is accepted that was not meant: a failure is accepted under the one
fingerprint that was named, not under those that groups have merged with it. What an acceptance is good for is decided
by those who ask for it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path

from opsdebug_ci.errors import UsageError
from opsdebug_ci.git.command import answer
from opsdebug_ci.git.person import person
from opsdebug_ci.github import actor
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.model.failure_list import CauseState, FailureCause
from opsdebug_ci.pipeline.accepted_subject import Subject, subject_of
from opsdebug_ci.pipeline.failures import list_failures
from opsdebug_ci.pipeline.records import configured_store, read_records
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.pipeline.writing import check_may_write
from opsdebug_ci.plan import Configuration
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.figures import counted
from opsdebug_ci.store.identity import ENTROPY_BYTES, new_run_id
from opsdebug_ci.store.memory.history import acceptances_in_force, has_times, recorded_operators

MOST_CHARACTERS = 1000
"""Longest reason: it is a sentence or two and a link, and is shown on one line."""

SKEW = timedelta(days=1)
"""How far a clock may be ahead of ours: a wrong time zone."""

MOST_OF_A_NAME = 200
"""Longest name of a person with an address."""

_DAYS = re.compile(r"([1-9][0-9]{0,3})d")
_HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the person typed."""

    target: str = ""
    """Operator, or the beginning of a fingerprint; may be empty beside a cause."""

    cause: str | None = None
    """Named cause of the failure that is meant; None: the target says it."""

    reason: str
    """Why."""

    until: str | None = None
    """`2026-12-31`, the last day (UTC) on which it counts, or `30d`, the day 30 days from now; None: for good."""

    by: str | None = None
    """Who; None: the name git knows, else who started the CI job."""

    commit: str | None = None
    """Commit at which it is accepted; None: the one checked out."""

    withdraw: bool = False
    """What was accepted of it is so no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptOutcome:
    """What was stored."""

    acceptance: Acceptance
    """The acceptance, or withdrawal."""

    subject: Subject
    """What it concerns."""

    location: str
    """Store it is in."""

    before: Acceptance | None
    """What counted of the same until now; None: nothing."""


def accept(wish: Wish, configuration: Configuration, world: World) -> AcceptOutcome:
    """Store an acceptance, or the withdrawal of those of the same before it.

    Raises:
        UsageError: this job may not, nothing or several things are meant, or the wish lacks something.
        StoreError: the store can neither be read nor written.
    """
    check_may_write("baselines accept", world.environ)
    now = world.now()
    who, reason, until = _who(wish.by, configuration, world), reason_of(wish.reason), _until(wish, now)
    store = configured_store(configuration, world.environ)
    root = read_records(store, needed=True).root
    causes = list_failures(configuration, now, environ=world.environ).causes
    subject = subject_of(wish.target, wish.cause, causes, recorded_operators(root), accepted=wish.withdraw)
    if subject.fingerprint is None and not wish.withdraw:
        _check_timed(subject.operator, root, causes)
    counting = acceptances_in_force(root, now)
    if wish.withdraw:  # also what counts from a moment that other clocks have reached and ours has not
        counting += acceptances_in_force(root, now + SKEW)
    before = next((one for one in counting if subject.is_of(one)), None)
    if wish.withdraw and before is None:
        raise UsageError(
            f"nothing is accepted of {subject.words}; wanted something to withdraw",
            next_step='opsdebug sql "from accepted(now())"',
        )
    # NOTE: the clock of whoever accepted it may be ahead of ours; what ends or renews it is younger all the same.
    now = now if before is None else max(now, datetime.fromisoformat(before.accepted_at) + timedelta(microseconds=1))
    acceptance = Acceptance(
        id=new_run_id(now, world.entropy(ENTROPY_BYTES)),
        fingerprint=subject.fingerprint,
        operator=subject.operator,
        commit=_commit(wish.commit, configuration),
        accepted_by=who,
        accepted_at=now.isoformat(),
        reason=reason,
        until=now.isoformat() if wish.withdraw else None if until is None else until.isoformat(),
    )
    store.accept(acceptance)
    return AcceptOutcome(acceptance=acceptance, subject=subject, location=store.location, before=before)


def _check_timed(operator: str, root: Path, causes: Sequence[FailureCause]) -> None:
    """Refuse how fast an operator is where nobody knows it and what is open of it are failures: those are meant."""
    failing = sum(cause.operator == operator and cause.state is CauseState.OPEN for cause in causes)
    if failing and not has_times(root, operator):
        raise UsageError(
            f"no times of `{plain(operator, 80)}` are stored, so that nothing says how fast it is; wanted its "
            f"{counted(failing, 'open failure')}: accept one by its fingerprint, or by --cause",
            next_step=f"opsdebug failures --operator {shlex.quote(plain(operator, 80))}",
        )


def _who(by: str | None, configuration: Configuration, world: World) -> str:
    named = person(configuration.root, world.environ) if by is None else by
    started = actor(world.environ)
    name = plain(f"{named} (job of {started})" if named and started else named or started)
    if not name:
        raise UsageError("nobody is named; wanted who accepts it", next_step='add `--by "NAME <ADDRESS>"`')
    return _within(name, "--by", MOST_OF_A_NAME)


def reason_of(text: str, option: str = "--reason") -> str:
    """Why, in one line, as it is stored; `option` is what it is called.

    Raises:
        UsageError: it is empty, or too long.
    """
    reason = plain(text)
    if not reason:
        raise UsageError(
            f"`{option}` is `{text[:80]!r}`; wanted why it is accepted, for whoever reads it in two years",
            next_step='add `--reason "..."`',
        )
    return _within(reason, option, MOST_CHARACTERS)


def _within(text: str, option: str, most: int) -> str:
    if len(text) > most:
        raise UsageError(
            f"`{option}` has {len(text):,} characters; wanted at most {most:,}",
            next_step="shorten it; put the rest where it can be linked to",
        )
    return text


def _until(wish: Wish, now: datetime) -> datetime | None:
    """When it lapses; a withdrawal does at once."""
    if wish.until is None:
        return now if wish.withdraw else None
    if wish.withdraw:
        raise UsageError("`--until` beside `--withdraw`; wanted one of them", next_step="leave one out")
    return lapse_of(wish.until, now)


def lapse_of(until: str, now: datetime, option: str = "--until ") -> datetime:
    """When an acceptance lapses that is made now.

    Args:
        until: the last day on which it counts, or a number of days.
        now: when it is made.
        option: how `until` is written, up to its value.

    Raises:
        UsageError: it is no day, or one that is over.
    """
    name = option.strip(" =")
    try:
        end = _end(until.strip(), now)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"`{name}` is `{plain(until, 80)}`; wanted a day, e.g. 2026-12-31, or a number of days, e.g. 30d",
            next_step=f"write `{option}30d`, or leave it out: it then counts until it is withdrawn",
        ) from error
    if end <= now:
        raise UsageError(
            f"`{name}` is {plain(until, 80)}, and that is over; wanted today or later",
            next_step="use `baselines accept --withdraw` to end what was accepted",
        )
    return end


def _end(text: str, now: datetime) -> datetime:
    """The midnight, in UTC, that ends the last day."""
    days = _DAYS.fullmatch(text)
    today = now.astimezone(timezone.utc).date()
    last = today + timedelta(days=int(days[1])) if days else date.fromisoformat(text)
    return datetime.combine(last + timedelta(days=1), time(), timezone.utc)


def _commit(given: str | None, configuration: Configuration) -> str:
    """The full hash; empty where nothing is checked out and none is given."""
    name = "HEAD" if given is None else given
    asked = bool(name) and not name.startswith("-") and "\0" not in name
    found = answer(configuration.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if asked else None
    if found:
        return found
    if given is None:
        return ""
    if _HASH.fullmatch(given):  # a shallow clone need not know it
        return given
    raise UsageError(
        f"`--commit` is `{plain(given, 80)}`, which this clone does not know; wanted a commit, or a full hash",
        next_step="fetch it, or write its 40 digits",
    )
