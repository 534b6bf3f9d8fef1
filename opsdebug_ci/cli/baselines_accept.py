"""`opsdebug baselines accept`."""

from __future__ import annotations

import json
import shlex
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opsdebug_ci.cli.options import config_option, configuration, json_option, store_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.cli.store_location import here
from opsdebug_ci.model.wire import to_json
from opsdebug_ci.report.escape import plain

if TYPE_CHECKING:
    from opsdebug_ci.pipeline.accept import AcceptOutcome

_ADVICE = ("next: ", "to take it back: ")
"""What stands before a command."""


@click.command("accept", short_help="Accept a failure, or how fast it is.")
@click.argument("target", default="", metavar="OPERATOR|FINGERPRINT")
@click.option("--cause", metavar="CAUSE", help="The only open failure with this cause; of OPERATOR, if given.")
@click.option("--reason", default="", metavar="TEXT", help="Why; must be given.")
@click.option("--until", metavar="DAY", help="Last day (UTC) it counts: 2026-12-31, or 30d; default: for good.")
@click.option("--by", metavar="NAME", help="Who; default: the name git knows, in CI else whoever started the job.")
@click.option("--commit", metavar="REF", help="Commit it is accepted at; default: the one checked out.")
@click.option("--withdraw", is_flag=True, help="Take back what was accepted of it.")
@store_option
@config_option
@json_option
def accept_command(
    target: str,
    cause: str | None,
    reason: str,
    until: str | None,
    by: str | None,
    commit: str | None,
    withdraw: bool,
    store: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Say that a failure, or how slow an operator has become, is as it should be.

    OPERATOR means how fast it is now; a FINGERPRINT, or its beginning, one of its failures. Only people, and jobs of
    the default branch, can accept. Nothing is ever changed: a later acceptance is added, or a withdrawal.
    """
    from opsdebug_ci.pipeline.accept import Wish, accept  # noqa: PLC0415 - duckdb: not for --help

    wish = Wish(target=target, cause=cause, reason=reason, until=until, by=by, commit=commit, withdraw=withdraw)
    outcome = accept(wish, configuration(config, {"store": store}, operators_required=False), world(quiet=True))
    lines = [_spelled(line, store, config) for line in outcome_lines(outcome)]
    tell(json.dumps(to_json(outcome), allow_nan=False) if as_json else "\n".join(lines))
    return 0


def outcome_lines(outcome: AcceptOutcome) -> list[str]:
    """What was stored, in words, and how it is taken back."""
    made, subject, before = outcome.acceptance, outcome.subject, outcome.before
    what = plain(subject.words) + (
        f" of {plain(subject.operator)}: {plain(subject.statement)}" * bool(made.fingerprint)
    )
    at = f" at {made.commit[:12]}" if made.commit else ""
    told = [
        f"{'withdrawn' if made.withdraws else 'accepted'}: {what}",
        f"by {made.accepted_by}{at}: {made.reason}",
        f"in store {plain(outcome.location)}"
        if made.withdraws
        else f"until {_last_day(made.end)}, in store {plain(outcome.location)}",
    ]
    if made.withdraws:
        return [*told, 'next: opsdebug sql "from accepted(now())"']
    if before is not None and made.end is not None and (before.end is None or before.end > made.end):
        told.append(f"note: what was accepted of it before counts until {_last_day(before.end)} all the same")
    name = made.fingerprint or made.operator or ""
    return [*told, f'to take it back: opsdebug baselines accept {shlex.quote(plain(name))} --withdraw --reason "..."']


def _spelled(line: str, store: str | None, config: Path | None) -> str:
    """A line with the command it may end in as it must be given here."""
    says, command, rest = line.partition("opsdebug ")
    return f"{says}{here(command + rest, store, config)}" if says in _ADVICE else line


def _last_day(end: datetime | None) -> str:
    """Until when something counts that lapses at `end`: a midnight belongs to the day it ends."""
    if end is None:
        return "it is withdrawn"
    instant = end.astimezone(timezone.utc)
    day = (instant - timedelta(microseconds=1)).date()
    if instant.date() != day:
        return f"{day} (UTC), the last day it counts"
    return f"{instant:%Y-%m-%d %H:%M} (UTC)"
