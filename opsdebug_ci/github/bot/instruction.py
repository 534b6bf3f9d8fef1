"""What a person told the bot to do, in a comment or by a label.

Decides the one form there is: `/opsdebug accept OPERATOR [until=DAY] [REASON]` as the first line of a comment, from its
first character on, so that nothing quoted, indented, fenced or written further down is taken for it. Deliberately knows
neither who wrote it nor which operators there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from opsdebug_ci.github.plain_text import one_line
from opsdebug_ci.model.instruction import ACCEPT, COMMAND, UNTIL

LABEL = "opsdebug-accept"
"""Label that accepts every flagged operator; with `: NAME` behind it, that one."""

FORM = f"{COMMAND} {ACCEPT} OPERATOR [until=2026-12-31|until=30d] [reason]"
"""What a comment looks like."""

BODY_LIMIT = 64 * 2**10
"""Characters of a comment that are looked at: what GitHub names as the longest."""

NAME_LIMIT = 200
"""Longest operator name that is taken: as many characters as are shown of one."""

REASON_LIMIT = 2_000
"""Characters of a reason that are kept; whoever stores it may want fewer, and says so."""

UNTIL_LIMIT = 40
"""Characters of a day that are kept, for whoever says what is wrong with it."""

_LINE_END = re.compile("\r\n|\n|\r")
_QUOTED = re.compile(r"""(?P<fence>`+|["'])(?P<name>.*?)(?P=fence)(?=\s|$)""")
_NO_PROSE = (">", "```", "~~~", "    ", COMMAND)
"""How lines begin that are not the writer's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """An operator is as slow as it should be."""

    operator: str | None
    """Its name, without hidden characters; None: every operator that is flagged."""

    until: str | None = None
    """Day or number of days as it was written; None: for good."""

    reason: str = ""
    """Why, in one line; untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misunderstood:
    """Something was told to the bot, and it is not clear what."""

    problem: str
    """What is wrong, in a clause; untrusted text may be part of it."""


def read_instruction(body: str) -> Instruction | Misunderstood | None:
    """What a comment tells the bot; None: nothing, it is not written to it.

    Args:
        body: the whole comment, as it was written.
    """
    first, *later = _LINE_END.split(body[:BODY_LIMIT])
    command, *said = first.split(maxsplit=2)[:3] or [""]
    if command != COMMAND or not first.startswith(COMMAND):
        return None
    verb, rest = (*said, "", "")[:2]
    if verb != ACCEPT:
        found = f"`{one_line(verb, UNTIL_LIMIT)}`" if verb else "nothing"
        return Misunderstood(problem=f"{found} behind `{COMMAND}`; wanted `{ACCEPT}`")
    return _accepting(rest.strip(), later)


def label_instruction(name: str) -> Instruction | None:
    """What a label tells the bot; None: nothing.

    Args:
        name: of the label, of which GitHub ignores the case.
    """
    word, colon, operator = name.partition(":")
    if word.strip().casefold() != LABEL:
        return None
    named = one_line(operator, NAME_LIMIT + 1)
    if colon and not 0 < len(named) <= NAME_LIMIT:
        return None
    return Instruction(operator=named if colon else None)


def _accepting(rest: str, later: Iterable[str]) -> Instruction | Misunderstood:
    quoted = _QUOTED.match(rest)
    name, behind = (quoted["name"], rest[quoted.end() :]) if quoted else (*rest.split(maxsplit=1), "", "")[:2]
    operator = one_line(name, NAME_LIMIT + 1)
    if not operator or (not quoted and operator.startswith(UNTIL)):
        return Misunderstood(problem=f"no operator is named behind `{COMMAND} {ACCEPT}`")
    if len(operator) > NAME_LIMIT:
        return Misunderstood(problem=f"the operator's name has more than {NAME_LIMIT} characters")
    day, _, words = behind.strip().partition(" ")
    if not day.startswith(UNTIL):
        day, words = "", behind
    reason = one_line(words, REASON_LIMIT) or one_line(" ".join(_paragraph(later)), REASON_LIMIT)
    until = one_line(day.removeprefix(UNTIL), UNTIL_LIMIT) if day else None
    return Instruction(operator=operator, until=until, reason=reason)


def _paragraph(lines: Iterable[str]) -> Iterator[str]:
    """The first paragraph of the writer's own words."""
    begun = iter([*lines])
    first = next((line for line in begun if line.strip()), "")
    yield from takewhile(lambda line: line.strip() and not line.startswith(_NO_PROSE), (first, *begun))
