"""`opsdebug report`."""

from __future__ import annotations

from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, store_option, verbose_option
from opsdebug_ci.cli.output import tell
from opsdebug_ci.cli.store_location import chosen_store
from opsdebug_ci.report import decode, markdown, text

FORMATS = ("text", "markdown")
"""Formats a run can be rendered in."""


@click.command()
@click.argument("format_name", metavar="text|markdown", type=click.Choice(FORMATS))
@click.option("--run", "run_id", metavar="ID", help="Stored run; default: the newest one.")
@click.option("--file", type=click.Path(path_type=Path), metavar="PATH", help="A document written by --json instead.")
@store_option
@config_option
@verbose_option
def command(
    format_name: str,
    run_id: str | None,
    file: Path | None,
    store: str | None,
    config: Path | None,
    verbosity: int,
) -> int:
    """Render a stored run."""
    if file is not None:
        document = decode(_read(file))
    else:
        opened = chosen_store(store, config)
        document = opened.latest() if run_id is None else opened.load(run_id)
    rendered = text(document, verbosity) if format_name == "text" else markdown(document)
    tell(rendered, newline=not rendered.endswith("\n"))
    return 0


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise click.BadParameter(f"{file}: {error.strerror}", param_hint="--file") from error
