"""Options of the commands that look into one case of one operator, and what they turn into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from opsdebug_ci.cli.options import config_option, json_option, python_option
from opsdebug_ci.cli.run import CHECKS
from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.vocabulary import Verifier
from opsdebug_ci.pipeline.inquiry import Inquiry
from opsdebug_ci.plan import parse_axes

Command = TypeVar("Command", bound=Callable[..., Any])


def inquiry_options(command: Command) -> Command:
    """Options of the commands that look into one case: which operator, which of its cases, how."""
    for option in reversed(_INQUIRY):
        command = option(command)
    return command


_INQUIRY = (
    click.argument("operator", required=False),
    click.option("--operator", "--operator_name", "named", metavar="NAME", help="As OPERATOR."),
    click.option(
        "--verifier",
        "--verifier_mode",
        "verifier",
        type=click.Choice([str(member) for member in Verifier]),
        default=str(Verifier.ALL),
        help="References to consult.",
    ),
    click.option("--dims", metavar="B=1,S=128", help="Sizes; dims not named keep the operator's."),
    click.option("--dtype", metavar="NAMES", help="Dtypes among whose cases to choose."),
    click.option("--seed", metavar="0,1,2", help="Seeds among whose cases to choose."),
    click.option("--inputs", metavar="FAMILIES", help="Input families among whose cases to choose."),
    click.option("--layout", metavar="NAMES", help="Layouts among whose cases to choose."),
    click.option("--timeout", metavar="SECONDS", help="Longest the case may take; default: 60."),
    python_option,
    config_option,
    json_option,
)


def inquiry_of(operator: str | None, named: str | None, verifier: str, **axes: str | None) -> Inquiry:
    """What these options ask about. Raises UsageError unless they name one operator."""
    names = [name for name in (operator, named) if name is not None]
    if len(names) != 1:
        raise UsageError(
            f"{len(names) or 'no'} operators are named; wanted one", next_step="write its name behind the command"
        )
    return Inquiry(operator=names[0], axes=parse_axes(**axes), checks=CHECKS[Verifier(verifier)])


def again(config: Path | None, python: str | None, timeout: str | None) -> dict[str, str]:
    """Options a next command must be given again."""
    given = {"--config": None if config is None else str(config), "--python": python, "--timeout": timeout}
    return {name: value for name, value in given.items() if value is not None}
