"""`opsdebug trace`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from opsdebug_ci.cli.inquiry_options import again, inquiry_of, inquiry_options
from opsdebug_ci.cli.options import configuration, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.model.vocabulary import CheckpointMode
from opsdebug_ci.pipeline.page_inquiry import watch_pages
from opsdebug_ci.pipeline.trace import StepInquiry, trace
from opsdebug_ci.report import encode, pages_text, spelled, trace_text


@click.command(context_settings={"show_default": True})
@click.option(
    "--checkpoint-mode",
    "--checkpoint_mode",
    "mode",
    type=click.Choice([str(member) for member in CheckpointMode]),
    default=str(CheckpointMode.ALL),
    help="all: values step by step; health: NaN, infinities and enormous values; none: outputs only.",
)
@click.option("--step-limit", type=click.IntRange(min=1), metavar="N", help="Stop after so many steps.")
@click.option("--bisect", is_flag=True, help="Find the call that spoils each wrong output by launching it again.")
@click.option(
    "--guard",
    type=click.Choice(["pages"]),
    help="pages: instead of steps, the lines that touch memory beyond the operator's tensors (on the CPU).",
)
@inquiry_options
def command(
    mode: str,
    step_limit: int | None,
    bisect: bool,
    guard: str | None,
    operator: str | None,
    named: str | None,
    verifier: str,
    timeout: str | None,
    python: str | None,
    config: Path | None,
    as_json: bool,
    **axes: str | None,
) -> int:
    """Every step of an operator against the same steps of its references, in higher precision.

    Steps are the checkpoints both mark; without any, the ATen calls both begin with. Looks into the first failing case
    of OPERATOR among those the options leave. Exit code 0 when something could be said: `run` gates.
    """
    inquiry = inquiry_of(operator, named, verifier, **axes)
    settings = configuration(config, {"timeout": timeout, "python": python})
    if guard is None:
        steps = StepInquiry(inquiry=inquiry, mode=CheckpointMode(mode), step_limit=step_limit, bisect=bisect)
        found, text = trace(steps, settings, world()), trace_text
    else:
        found, text = watch_pages(inquiry, settings, world()), pages_text
    given = again(config, python, timeout)
    document = replace(found, next=tuple(spelled(line, given) for line in found.next))
    tell(encode(document).decode() if as_json else text(document), newline=as_json)
    return document.exit_code
