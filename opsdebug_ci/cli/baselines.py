"""`opsdebug baselines`: the store listed, shown, copied, packed, pruned, verified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opsdebug_ci.cli.baselines_accept import accept_command
from opsdebug_ci.cli.baselines_care import compact_command, prune_command, verify_command
from opsdebug_ci.cli.baselines_import import import_command
from opsdebug_ci.cli.counting import counting
from opsdebug_ci.cli.options import config_option, json_option, store_option, world
from opsdebug_ci.cli.output import log, tell
from opsdebug_ci.cli.store_location import INCOMPLETE, chosen_store, here
from opsdebug_ci.model.baselines import BaselinesDocument
from opsdebug_ci.report import encode
from opsdebug_ci.report.baselines import baselines_text, run_text, store_text
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.figures import counted

if TYPE_CHECKING:
    from opsdebug_ci.store.upkeep.transfer import Transfer

LISTED = 20
"""Runs that are listed where nobody asks for more."""


@click.group()
def command() -> int:
    """Look after the baseline store: what is in it, where it is, how large it may grow."""
    return 0


@command.command("ls", short_help="The newest runs.")
@click.option("--limit", type=click.IntRange(min=1), default=LISTED, metavar="N", help="At most so many runs.")
@store_option
@config_option
@json_option
def list_command(limit: int, store: str | None, config: Path | None, as_json: bool) -> int:
    """The newest runs."""
    from opsdebug_ci.pipeline.store_overview import list_runs  # noqa: PLC0415 - duckdb: not needed for --help

    with counting() as told:
        document = list_runs(chosen_store(store, config), limit=limit, told=told)
    return _told(_spelled(document, store, config), baselines_text, as_json=as_json)


@command.command("show", short_help="One run, or the store in numbers.")
@click.argument("run", required=False)
@store_option
@config_option
@json_option
def show_command(run: str | None, store: str | None, config: Path | None, as_json: bool) -> int:
    """One run, by its id or the beginning of it; without RUN the store itself, in numbers."""
    from opsdebug_ci.pipeline.store_overview import show_run, show_store  # noqa: PLC0415 - as above

    with counting() as told:
        opened = chosen_store(store, config)
        document = show_store(opened, told) if run is None else show_run(opened, run, told)
    return _told(_spelled(document, store, config), store_text if run is None else run_text, as_json=as_json)


@command.command("push", short_help="Send runs kept in directories to the store.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Store in a directory whose runs are sent; may be given several times.",
)
@store_option
@config_option
def push_command(sources: tuple[Path, ...], store: str | None, config: Path | None) -> int:
    """Send runs that were kept in directories to the store: those of other jobs, or that could not be stored then.

    What is there already is left alone. Runs that are not of the default branch, and acceptances, are never sent.
    """
    from opsdebug_ci.pipeline.store_care import push_runs  # noqa: PLC0415 - as above

    opened = chosen_store(store, config)
    with counting() as told:
        sent = push_runs(sources, opened, world(quiet=True), told)
    for source, one in zip(sources, sent, strict=True):
        what = f"{counted(one.runs, 'run')} and {counted(one.bundles, 'bundle')}"
        tell(f"{what} sent from {source} to {plain(opened.location)}{_beside(one)}")
        for fault in one.faults:
            log(f"{plain(fault.path)} {plain(fault.found)}")
    tell(f"next: {here('opsdebug baselines ls', store, config)}")
    return INCOMPLETE if any(one.faults for one in sent) else 0


@command.command("pull", short_help="Copy the store's rows to this machine.")
@store_option
@config_option
def pull_command(store: str | None, config: Path | None) -> int:
    """Copy the store's rows to this machine, and say where: any tool that reads Parquet reads them there."""
    from opsdebug_ci.pipeline.store_care import pull_store  # noqa: PLC0415 - as above

    opened = chosen_store(store, config)
    with counting() as told:
        pulled = pull_store(opened, told)
    if pulled.mirror.note:
        log(plain(pulled.mirror.note))
    new = f"; {counted(pulled.fetched, 'file')} copied now" if pulled.fetched else ""
    tell(f"{counted(pulled.runs, 'run')} of {plain(opened.location)} in {pulled.mirror.root}{new}")
    tell(f"next: {here('opsdebug sql', store, config)}")
    return INCOMPLETE if pulled.mirror.note else 0


for _made_elsewhere in (verify_command, compact_command, prune_command, accept_command, import_command):
    command.add_command(_made_elsewhere)


def _beside(sent: Transfer) -> str:
    """What was not sent, and why."""
    known = f"; {sent.known:,} {'was' if sent.known == 1 else 'were'} there already" if sent.known else ""
    left = f"; {counted(sent.unmerged, 'run')} not of the default branch left out" if sent.unmerged else ""
    absent = f"; {counted(sent.absent, 'bundle')} that they name not there" if sent.absent else ""
    return f"{known}{left}{absent}"


def _spelled(document: BaselinesDocument, store: str | None, config: Path | None) -> BaselinesDocument:
    return replace(document, next=tuple(here(line, store, config) for line in document.next))


def _told(document: BaselinesDocument, text: Callable[[BaselinesDocument], str], *, as_json: bool) -> int:
    """Print the document, and beside it what it lacks; the exit code says whether it lacks anything."""
    tell(encode(document).decode() if as_json else text(document), newline=True)
    for note in document.notes:
        log(plain(note))
    return 0 if document.complete else INCOMPLETE
