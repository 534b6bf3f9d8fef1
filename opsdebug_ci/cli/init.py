"""`opsdebug init`."""

from __future__ import annotations

from pathlib import Path

import click

from opsdebug_ci.cli.output import tell
from opsdebug_ci.pipeline.init import initialise


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--force", is_flag=True, help="Replace files that exist.")
def command(directory: Path, force: bool) -> int:
    """Write a workflow, a configuration and a first operator into DIRECTORY; replaces nothing unasked."""
    for path in initialise(directory, force=force):
        tell(f"wrote {path}")
    tell("next: opsdebug ci --stage smoke")
    return 0
