"""A run on standard output: text, coloured on a terminal, or its JSON document."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from opsdebug_ci.cli.output import tell
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.vocabulary import Stage
from opsdebug_ci.pipeline.verification import TerminatedError, nothing_judged
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.report import encode, text

_COLOURS = {
    "pass": "green",
    "fail": "red",
    "crash": "red",
    "timeout": "red",
    "error": "yellow",
    "inconclusive": "yellow",
}
_VERDICT = re.compile(r"^([A-Z]+)(?=: )")


def show(document: RunDocument, *, as_json: bool, verbosity: int, recorded: str | None = None) -> int:
    """Print `document` and return its exit code."""
    if as_json:
        tell(encode(document).decode())
    else:
        tell(coloured(text(document, verbosity, recorded=recorded)), newline=False)
    return document.summary.exit_code


@contextmanager
def shown_when_terminated(
    stage: Stage, settings: Configuration, surroundings: World, *, as_json: bool
) -> Iterator[None]:
    """Print the document of what was judged, where JSON is wanted and a signal ends the run."""
    try:
        yield
    except SystemExit as ended:
        if as_json:
            judged = ended.document if isinstance(ended, TerminatedError) else None
            tell(encode(judged or nothing_judged(stage, settings, surroundings)).decode())
        raise


def coloured(report: str) -> str:
    """`report` with its verdict in colour, on a terminal."""
    if not sys.stdout.isatty():
        return report
    return _VERDICT.sub(lambda found: click.style(found[1], fg=_COLOURS.get(found[1].lower()), bold=True), report)
