"""`opsdebug baselines verify`, `compact` and `prune`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opsdebug_ci.cli.counting import counting
from opsdebug_ci.cli.options import config_option, store_option, world
from opsdebug_ci.cli.output import log, tell
from opsdebug_ci.cli.store_location import INCOMPLETE, chosen_store
from opsdebug_ci.errors import UsageError
from opsdebug_ci.plan.quantity import MEMORY_EXPECTED, memory_bytes
from opsdebug_ci.report.baselines import run_facts
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.figures import counted

if TYPE_CHECKING:
    from opsdebug_ci.model.baselines import StoredRunRow
    from opsdebug_ci.store.files.heads import FileFault
    from opsdebug_ci.store.upkeep.retention import Retention

SHOWN = 10
"""Runs and bundles that `--dry-run` lists."""

_UNITS = {"d": 1, "w": 7}
"""Days per unit of an age."""


def _age(context: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | None:  # noqa: ARG001 - click's interface
    """An age in days or weeks."""
    if value is None:
        return None
    text = value.strip().lower()
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "d")
    if not number.isdecimal() or not 0 < int(number) * _UNITS[unit] < timedelta.max.days:
        raise UsageError(
            f"`--older-than` is `{value}`; wanted a number of days or weeks", next_step="write e.g. 400d or 52w"
        )
    return timedelta(days=int(number) * _UNITS[unit])


def _size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:  # noqa: ARG001 - as above
    """An amount of memory, in bytes."""
    found = memory_bytes(value)
    if value is not None and found is None:
        raise UsageError(f"`--max-size` is `{value}`; wanted {MEMORY_EXPECTED}", next_step="write e.g. 1GiB")
    return found


@click.command("verify", short_help="Hold every file against its record.")
@store_option
@config_option
def verify_command(store: str | None, config: Path | None) -> int:
    """Read every file of the store and hold it against what its run recorded. Exit code 1 when something is damaged."""
    from opsdebug_ci.store.upkeep.verification import verify  # noqa: PLC0415 - pyarrow: not needed for --help

    opened = chosen_store(store, config)
    with counting() as told:
        found = verify(opened.backend, today=world(quiet=True).now().date(), told=told)
    tell(plain_lines(found.text))
    return found.exit_code


@click.command("compact", short_help="Make few files of many, month by month.")
@click.option(
    "--fewest",
    type=click.IntRange(min=2),
    default=10,
    metavar="N",
    help="Runs of one month with files of their own, below which they stay so.",
)
@store_option
@config_option
def compact_command(fewest: int, store: str | None, config: Path | None) -> int:
    """Make few files of many, month by month. Readers and writers go on meanwhile; no row is ever hidden."""
    from opsdebug_ci.pipeline.store_care import compact_store  # noqa: PLC0415 - as above
    from opsdebug_ci.store.upkeep.compaction import CompactionRules  # noqa: PLC0415 - as above

    opened = chosen_store(store, config)
    with counting() as told:
        done = compact_store(opened, CompactionRules(fewest=fewest), world(quiet=True), told)
    tell(
        f"{counted(done.runs, 'run')} packed in {counted(done.packs, 'pack')}: "
        f"{counted(done.files_before, 'file')} before, {done.files_after:,} now"
        if done.packs
        else f"nothing to pack: no month has {fewest} runs with files of their own; {counted(done.files_after, 'file')}"
    )
    return _left(done.faults)


@click.command("prune", short_help="Remove old runs and their bundles.")
@click.option("--older-than", callback=_age, metavar="AGE", help="Remove runs of this age, e.g. 400d or 52w.")
@click.option("--keep-runs", type=click.IntRange(min=1), metavar="N", help="Keep at most the N newest runs.")
@click.option("--max-size", callback=_size, metavar="SIZE", help="Keep at most so much, e.g. 1GiB, bundles included.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@store_option
@config_option
def prune_command(
    older_than: timedelta | None,
    keep_runs: int | None,
    max_size: int | None,
    dry_run: bool,
    store: str | None,
    config: Path | None,
) -> int:
    """Remove old runs and their bundles for good.

    The newest run of every stage and machine stays, and so does what an open cause needs: its bundles, and the run that
    saw it last.
    """
    from opsdebug_ci.pipeline.store_care import prune_store, runs_of, what_may_go  # noqa: PLC0415 - as above
    from opsdebug_ci.store.upkeep.retention import Limits  # noqa: PLC0415 - as above

    opened, here = chosen_store(store, config), world(quiet=True)
    limits = Limits(older_than=older_than, keep_runs=keep_runs, most_bytes=max_size)
    with counting() as told:
        going = what_may_go(opened, limits, here, told)
        if dry_run:
            tell(_would_go(going, runs_of(opened, going.runs)))
            return _left(going.faults)
        done = prune_store(opened, going, here, told)
    tell(f"{counted(done.runs, 'run')} and {counted(done.bundles, 'bundle')} removed{_needed(going)}")
    return _left(done.faults)


def _left(faults: Sequence[FileFault]) -> int:
    """Name what is left as it is; the exit code that says whether anything is."""
    for fault in faults:
        log(f"left as it is: {plain(fault.path)} {plain(fault.found)}")
    return INCOMPLETE if faults else 0


def plain_lines(text: str) -> str:
    """Text of several lines, each without what a terminal would act on."""
    return "\n".join(map(plain, text.splitlines()))


def _would_go(going: Retention, runs: Mapping[str, StoredRunRow]) -> str:
    listed = [
        *(f"run {run_facts(runs[run]) if run in runs else run}" for run in going.runs),
        *(f"bundle {sha256[:12]}" for sha256 in going.bundles),
    ]
    more = [f"and {len(listed) - SHOWN:,} more"] if len(listed) > SHOWN else []
    head = f"{counted(len(going.runs), 'run')} and {counted(len(going.bundles), 'bundle')} would go{_needed(going)}"
    return "\n".join([head, *(f"  {line}" for line in (*listed[:SHOWN], *more))])


def _needed(going: Retention) -> str:
    if not going.needed:
        return ""
    what, stay = counted(len(going.needed), "run"), "stays" if len(going.needed) == 1 else "stay"
    return f"; {what} beyond the limit {stay}: the newest of a stage and machine, or the last that saw an open cause"
