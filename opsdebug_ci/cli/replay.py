"""`opsdebug replay`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from opsdebug_ci.cli.inquiry_options import again
from opsdebug_ci.cli.options import config_option, configuration, json_option, python_option, store_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.pipeline.replay import DEFAULT_TRIES, ReplayRequest, replay
from opsdebug_ci.report import encode, spelled
from opsdebug_ci.report.replay import replay_text


@click.command(context_settings={"show_default": True})
@click.argument("bundles", nargs=-1, metavar="[BUNDLE|HASH]...")
@click.option("--all", "every", is_flag=True, help="Every bundle of this checkout and of the store.")
@click.option("--times", type=click.IntRange(1, 10_000), default=DEFAULT_TRIES, help="Tries of each bundle.")
@click.option("--shrink", is_flag=True, help="Look for a smaller case of every failure that reproduces.")
@click.option("--timeout", metavar="SECONDS", help="Longest a try may take; default: 60.")
@python_option
@store_option
@config_option
@json_option
def command(
    bundles: tuple[str, ...],
    every: bool,
    times: int,
    shrink: bool,
    timeout: str | None,
    python: str | None,
    store: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Recorded failures again, on the same bytes: a bundle, or the beginning of the sha256 of a stored one.

    Inputs are those of the bundle bit for bit, or it is refused. The operator is the one of that name in this checkout.
    Exit codes: 1 reproduced, 0 not reproduced, 2 refused, 3 impossible on this machine, 4 failing in another way, gone
    or not judged.
    """
    settings = configuration(config, {"timeout": timeout, "python": python, "store": store})
    found = replay(ReplayRequest(names=bundles, every=every, tries=times, shrink=shrink), settings, world())
    given = again(config, python, timeout) | ({} if store is None else {"--store": store})
    document = replace(found, next=tuple(spelled(line, given) for line in found.next))
    tell(encode(document).decode() if as_json else replay_text(document), newline=as_json)
    return document.exit_code
