"""Text somebody else wrote, made inert before it reaches a terminal or a pull request.

Decides what a string may do: be read. Operator names, exception messages and branch names come from whoever opened
the pull request; none of them may mention people, link, close issues, break a table or hide.
"""

from __future__ import annotations

import re

from opsdebug_ci.model.visible_text import visible

TEXT_LIMIT = 200
"""Characters of an untrusted string that are shown, before escaping."""

LOOKED_AT = 16
"""Characters that are looked at for each that may be kept: hidden ones take no room, and a text may have a million."""

_ANSI = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
_APART = "\u200b"
"""A zero-width space: a reader does not see it, and GitHub's search for mentions, issues and addresses stops there.
`plain` has removed any from the text itself."""

_MARKUP = {ord(character): f"&#{ord(character)};" for character in f"`|*[]\\~{_APART}"}
_ENTITIES = {**_MARKUP, ord("<"): "&lt;", ord(">"): "&gt;", ord("&"): "&amp;", ord("$"): "<span>&#36;</span>"}
"""Characters that mean something in markdown or HTML, as entities: inert in both. GitHub looks for mathematics in what
they stand for, so a dollar sign stands apart as well, which is what GitHub's documentation asks for."""

_EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""Underscores not between letters or digits: only those can open or close emphasis (CommonMark 0.31, 6.2)."""

_BREAKS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<=[@#])",  # mentions and issues, also in another repository
        r"(?<=(?<![^\W_])gh)(?=-\d)",  # GH-12 is an issue too
        r"(?<=:)(?=[:/])",  # addresses; workflow commands
        r"(?<=(?<![^\W_])www)(?=\.)",  # addresses begin behind an underscore too, which is no end of a word to `\b`
        r"(?<=(?<![^\W_])mailto)(?=:)|(?<=(?<![^\W_])xmpp)(?=:)",
        r"(?<=:)(?=[\w+-]+(?::|$))",  # :tada:, whose second colon may be ours
    )
)
"""Where a zero-width space stops GitHub from making a link, or a picture of a name."""

_BEGINNING = re.compile(r"^(?=[-+=:]|\d+(?:[.)](?: |$)|$))")
"""Of a list item, of which our own full stop may be a part, a heading's underline, the line below the head of a table
(`:-:`)."""

_COMMIT = re.compile(r"\b(?=\d*[a-f])[0-9a-f]{7,64}\b", re.IGNORECASE)
"""What GitHub takes for a commit and links. As code it is not linked, and can be copied as it is. Digits alone are far
more often a number."""


def plain(text: str, limit: int | None = None) -> str:
    """One line of visible characters: no controls, escapes, bidirectional or zero-width ones; cut at `limit`."""
    looked_at = text if limit is None else text[: LOOKED_AT * limit]
    unescaped = _ANSI.sub("", looked_at)
    spaced = " ".join(unescaped.split())
    line = " ".join(visible(spaced).split())
    if limit is None or (len(line) <= limit and looked_at == text):
        return line
    return line[: limit - 1] + "…"


def md_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """`text` as inert markdown, for a paragraph, a list item or a table cell: it renders as itself and does nothing.

    Args:
        text: anything.
        limit: characters kept, before escaping.
    """
    return _inert(_BEGINNING.sub(_APART, plain(text, limit)))


def md_prose(text: str, limit: int = TEXT_LIMIT) -> str:
    """As `md_text`, for a sentence of ours with names of others in backticks: what stands in them becomes code.

    Not for a cell of a table, where even code may not hold a bar.
    """
    parts = plain(text, limit).split("`")
    if len(parts) % 2 == 0 or any(not part or part != part.strip() for part in parts[1::2]):
        return md_text(text, limit)
    first, *rest = (md_code(part) if number % 2 else _inert(part) for number, part in enumerate(parts))
    prose = _BEGINNING.sub(f"&#{ord(_APART)};", first)
    for part in rest:
        touching = prose.endswith("`") and part.startswith("`")
        prose += f"&#{ord(_APART)};{part}" if touching else part
    return prose


def _inert(line: str) -> str:
    for place in _BREAKS:
        line = place.sub(_APART, line)
    return _COMMIT.sub(r"`\g<0>`", _EMPHASIS.sub("&#95;", line.translate(_ENTITIES)))


def md_code(text: str, limit: int = 1000) -> str:
    """`text` as a code span, which is literal: fenced by more backticks than it holds (CommonMark 0.31, 6.1)."""
    line = plain(text, limit)
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else ""
