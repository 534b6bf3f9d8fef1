"""A text of others in short, as part of a sentence of ours.

Decides where it is cut: after its first sentence, at a word, never within a name in backticks. What is left is inert.
"""

from __future__ import annotations

import re

from opsdebug_ci.report.escape import LOOKED_AT, md_prose, plain

_END = re.compile(r"[.!?](?=\s+[A-Z`]|$)|;? next: ")
"""Of a first sentence; what to do next is told further below."""

_LOOSE = " ,;:(-"
"""What no sentence ends with."""

CUT = "…"
"""Where something is left out."""


def brief(text: str, limit: int) -> str:
    """The first sentence of `text` without its full stop, as inert markdown.

    Args:
        text: anything.
        limit: characters kept, before escaping.
    """
    line = plain(text, LOOKED_AT * limit)
    end = _END.search(line)
    line = line if end is None else line[: end.start()]
    if len(line) > limit:
        start = line[: limit - 1]
        word = start.rpartition(" ")[0]
        line = (word if 2 * len(word) > limit else start).rstrip(_LOOSE) + CUT
    if line.endswith(CUT) and line.count("`") % 2:
        line = line.rpartition("`")[0].rstrip(_LOOSE) + CUT
    return md_prose(line, limit)
