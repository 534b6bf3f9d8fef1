"""The help of every command on one page, so that the documentation cannot disagree with the program.

`python -m opsdebug_ci.cli.help_page docs/help.txt` rewrites the page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from opsdebug_ci.cli import opsdebug
from opsdebug_ci.cli.commands import COMMANDS

WIDTH = 100
"""Columns of the page, whatever terminal writes it."""


def render() -> str:
    """The page."""
    with _context(opsdebug, "opsdebug", None) as root:
        pages = [opsdebug.get_help(root)]
        for name in COMMANDS:
            command = opsdebug.get_command(root, name)
            with _context(command, name, root) as context:
                pages.append(command.get_help(context))
    return "\n\n\n".join(pages) + "\n"


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return command.context_class(
        command, info_name=name, parent=parent, **{**command.context_settings, "terminal_width": WIDTH}
    )


def main(arguments: Sequence[str]) -> None:
    """Rewrite the page given as the only argument."""
    (page,) = arguments
    Path(page).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
