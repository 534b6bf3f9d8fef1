"""Options that several commands share, and what they turn into."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import click

from opsdebug_ci.cli.progress import progress
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, load_configuration

Command = TypeVar("Command", bound=Callable[..., Any])

config_option = click.option(
    "--config", type=click.Path(path_type=Path), metavar="PATH", help="Configuration file; default: the nearest one."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")
verbose_option = click.option(
    "-v", "--verbose", "verbosity", count=True, show_default=False, help="More detail; -vv shows every case."
)
python_option = click.option("--python", metavar="PATH", help="Interpreter the operators run in; default: this one.")
store_option = click.option("--store", metavar="PLACE", help="Baseline store; default: the configured one, baselines/.")


def world(*, quiet: bool = False) -> World:
    """This process's surroundings."""
    return World(
        directory=Path.cwd(),
        environ=dict(os.environ),
        now=lambda: datetime.now(timezone.utc),
        entropy=secrets.token_bytes,
        monotonic_ns=time.monotonic_ns,
        progress=progress(quiet=quiet),
    )


def configuration(
    config: Path | None, overrides: Mapping[str, object], *, operators_required: bool = True
) -> Configuration:
    """The effective configuration for this directory."""
    return load_configuration(Path.cwd(), explicit=config, overrides=overrides, operators_required=operators_required)
