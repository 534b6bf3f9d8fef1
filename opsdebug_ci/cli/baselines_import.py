"""`opsdebug baselines import`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opsdebug_ci.cli.counting import counting
from opsdebug_ci.cli.options import config_option, json_option, store_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.cli.store_location import chosen_store, here
from opsdebug_ci.model.wire import to_json
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.figures import counted

if TYPE_CHECKING:
    from opsdebug_ci.pipeline.import_history import ImportOutcome

FORMATS = ("auto", "pytest-benchmark", "asv", "google-benchmark", "github-action-benchmark")
"""What `--format` accepts; spelled out so that `--help` imports nothing."""


@click.command("import", short_help="Add times that another tool recorded.")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--format", "wanted", type=click.Choice(FORMATS), default="auto", help="Which tool wrote FILE.")
@click.option("--commit", default="", metavar="HASH", help="Full hash of what was measured, where FILE names none.")
@store_option
@config_option
@json_option
def import_command(file: Path, wanted: str, commit: str, store: str | None, config: Path | None, as_json: bool) -> int:
    """Add times that another tool recorded to the store, so that history does not start at zero.

    FILE is a JSON of pytest-benchmark, Google Benchmark or asv, a directory of those (.benchmarks, results), or the
    data.js of github-action-benchmark. Importing it again adds only what is new. No gate rests on imported times.
    """
    from opsdebug_ci.pipeline.import_history import NEXT, import_history  # noqa: PLC0415 - pyarrow: not for --help
    from opsdebug_ci.pipeline.writing import check_may_write  # noqa: PLC0415 - as above

    around = world(quiet=True)
    check_may_write("baselines import", around.environ)
    with counting() as told:
        outcome = import_history(
            file, chosen_store(store, config), wanted=wanted, commit=commit, now=around.now(), told=told
        )
    if as_json:
        tell(json.dumps(to_json(outcome), allow_nan=False))
        return 0
    for line in outcome_lines(outcome):
        tell(line)
    tell(f"next: {here(NEXT, store, config)}")
    return 0


def outcome_lines(outcome: ImportOutcome) -> list[str]:
    """What an import came to, in words."""
    sources = ", ".join(map(plain, outcome.sources)) or "a file without times"
    added = f"{counted(outcome.times_added, 'time')} in {counted(outcome.runs_added, 'run')} imported from {sources}"
    there = [f"already there: {counted(outcome.runs_there, 'run')}"] if outcome.runs_there else []
    return [added, *there, *(f"left out: {count:,} {reason}" for reason, count in outcome.left_out.items())]
