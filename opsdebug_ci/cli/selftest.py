"""`opsdebug selftest`."""

from __future__ import annotations

from pathlib import Path

import click

from opsdebug_ci.cli.options import config_option, configuration, json_option, python_option, verbose_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.cli.rendering import coloured
from opsdebug_ci.pipeline.selftest import SelftestRequest, selftest
from opsdebug_ci.plan import parse_axes
from opsdebug_ci.report import encode, selftest_text


@click.command(context_settings={"show_default": True})
@click.option("--only", multiple=True, metavar="GLOB", help="Only these defects or operators; repeatable.")
@click.option("--seed", metavar="0,1,2", help="Seeds to run; default: 0,1,2.")
@python_option
@config_option
@json_option
@verbose_option
def command(
    only: tuple[str, ...], seed: str | None, python: str | None, config: Path | None, as_json: bool, verbosity: int
) -> int:
    """Planted wrong operators must be caught, right ones left alone.

    Exit code 1 when a planted defect is missed, or when the false-alarm rate may be above 1 % (upper end of its 95 %
    interval). Cause accuracy is shown. The configured operators are not run; the configured interpreter is used.
    """
    settings = configuration(config, {"python": python}, operators_required=False)
    request = SelftestRequest(patterns=only, axes=parse_axes(seed=seed))
    document = selftest(request, settings, world())
    if as_json:
        tell(encode(document).decode())
    else:
        tell(coloured(selftest_text(document, verbosity)), newline=False)
    return document.exit_code
