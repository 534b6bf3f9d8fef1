"""The command line: the only importer of click, the only printer, the only one that exits.

Decides what a command is called and when its module is imported: `--help` imports none of them.
"""

from __future__ import annotations

import os
import sys
import traceback

import click

import opsdebug_ci
from opsdebug_ci.cli.commands import LazyGroup
from opsdebug_ci.errors import InternalError, OpsdebugError

ISSUES = "https://github.com/opsdebug-ci/opsdebug-ci/issues"
"""Where an internal error is reported."""

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT."""


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 gate passes, 1 gate fails, 2 wrong usage or configuration, 3 this machine cannot run it, "
    "4 incomplete, inconclusive or nothing judged, 70 internal error.",
)
@click.version_option(opsdebug_ci.__version__, prog_name="opsdebug")
def opsdebug() -> None:
    """Is a numerical operator right, is it fast, and why did it break?"""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(outcome(arguments))


def outcome(arguments: list[str] | None = None) -> int:
    """Exit code of one invocation; every error has been told on standard error."""
    try:
        return int(opsdebug.main(args=arguments, prog_name="opsdebug", standalone_mode=False) or 0)
    except OpsdebugError as error:
        click.echo(f"opsdebug: {error}  [{error.code}]", err=True)
        return error.exit_code
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away; nothing is wrong, and nothing more can be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:  # noqa: BLE001 - the top handler: whatever is left is our own fault
        click.echo(
            f"opsdebug: internal error, opsdebug-ci {opsdebug_ci.__version__}\n{traceback.format_exc()}", err=True
        )
        click.echo(f"next: report it with the lines above: {ISSUES}", err=True)
        return InternalError.exit_code
