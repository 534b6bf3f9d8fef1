"""`opsdebug attribute`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from opsdebug_ci.cli.inquiry_options import again, inquiry_of, inquiry_options
from opsdebug_ci.cli.options import configuration, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.model.region import parse_region
from opsdebug_ci.pipeline.attribute import RegionInquiry, attribute
from opsdebug_ci.report import attribution_text, encode, spelled


@click.command(context_settings={"show_default": True})
@click.option(
    "--range",
    "--attribute_range",
    "region",
    metavar="REGION",
    help='One entry per axis: i, a..b with both ends, or *; e.g. "[16, 70, 100..110]". Default: all of the output.',
)
@click.option("--output", metavar="NAME", help="Output to read; default: the worst one.")
@inquiry_options
def command(
    region: str | None,
    output: str | None,
    operator: str | None,
    named: str | None,
    verifier: str,
    timeout: str | None,
    python: str | None,
    config: Path | None,
    as_json: bool,
    **axes: str | None,
) -> int:
    """What tells a region of an output from the rest of it, and bad elements from good ones.

    Looks into the first failing case of OPERATOR among those the options leave. Exit code 0 when something could be
    said, whatever it is: `run` gates.
    """
    wanted = RegionInquiry(
        inquiry=inquiry_of(operator, named, verifier, **axes),
        region=None if region is None else parse_region(region),
        output=output,
    )
    found = attribute(wanted, configuration(config, {"timeout": timeout, "python": python}), world())
    given = again(config, python, timeout)
    document = replace(found, next=tuple(spelled(line, given) for line in found.next))
    tell(encode(document).decode() if as_json else attribution_text(document), newline=as_json)
    return document.exit_code
