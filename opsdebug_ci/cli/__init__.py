"""The command line: the only importer of click, the only printer, the only one that exits.

Decides what a command is called, when its module is imported (`--help` imports none of them), and how an invocation
ends: by a result, an error, a signal, or a fault of our own.
"""

from __future__ import annotations

import platform
import shlex
import signal
import sys
import traceback
from types import FrameType

import click

import opsdebug_ci
from opsdebug_ci.cli.commands import LazyGroup
from opsdebug_ci.cli.output import log
from opsdebug_ci.errors import InternalError, OpsdebugError

ISSUES = "https://github.com/opsdebug-ci/opsdebug-ci/issues"
"""Where an internal error is reported."""

SIGNALLED = 128
"""Exit code after a signal: this plus its number, as shells have it."""

ENDING_SIGNALS = ("SIGTERM", "SIGHUP")
"""Signals that end a program unless it asks otherwise; Ctrl-C is Python's own `KeyboardInterrupt`."""


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
    for ending in signal.Signals:
        if ending.name in ENDING_SIGNALS and signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, _end)
    sys.exit(outcome(arguments))


def _end(number: int, frame: FrameType | None) -> None:
    """Leave by the usual way out, which ends the workers and removes what was temporary."""
    del frame
    signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt that
    raise SystemExit(SIGNALLED + number)


def outcome(arguments: list[str] | None = None) -> int:
    """Exit code of one invocation; every error has been told on standard error."""
    try:
        return int(opsdebug.main(args=arguments, prog_name="opsdebug", standalone_mode=False) or 0)
    except OpsdebugError as error:
        return _internal(arguments) if error.exit_code == InternalError.exit_code else _told(error)
    except click.exceptions.Abort:
        return SIGNALLED + signal.SIGINT
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception:  # noqa: BLE001 - the top handler: whatever is left is our own fault
        return _internal(arguments)


def _told(error: OpsdebugError) -> int:
    log(f"opsdebug [{error.code}]: {error}")
    return error.exit_code


def _internal(arguments: list[str] | None) -> int:
    """Tell the exception at hand as a fault of ours."""
    typed = shlex.join(sys.argv[1:] if arguments is None else arguments)
    log(traceback.format_exc().rstrip())
    log(f"opsdebug [{InternalError.code}]: internal error in `opsdebug {typed}`")
    log(f"  opsdebug-ci {opsdebug_ci.__version__}, Python {platform.python_version()}, {platform.platform()}")
    log(f"  next: report it with the lines above: {ISSUES}")
    return InternalError.exit_code
