"""How a comment tells the bot that a regression is accepted: what the bot reads, and what it tells people to write.

Decides the spelling of an operator's name in such a comment. Deliberately reads none.
"""

from __future__ import annotations

import re

COMMAND = "/opsdebug"
"""First word of a comment to the bot."""

ACCEPT = "accept"
"""The only thing that it can be told."""

UNTIL = "until="
"""Before the last day on which it counts."""

_TICKS = re.compile("`+")


def instruction_for(name: str) -> str:
    """A comment that accepts an operator, to be copied as it is.

    Args:
        name: of the operator; one line without hidden characters.
    """
    return f"{COMMAND} {ACCEPT} {spelled(name)}"


def spelled(name: str) -> str:
    """`name` as a comment has it: bare where it is one word, else fenced by more backticks than it holds."""
    if name and " " not in name and name[0] not in "`\"'" and not name.startswith(UNTIL):
        return name
    fence = "`" * (max((len(run) for run in _TICKS.findall(name)), default=0) + 1)
    pad = " " if name.startswith("`") or name.endswith("`") else ""
    return f"{fence}{pad}{name}{pad}{fence}"
