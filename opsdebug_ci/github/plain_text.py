"""Untrusted text made harmless for a log or a file.

Decides that what cannot be seen never leaves the program, but for tabs and ends of lines. Deliberately escapes nothing;
each format escapes for itself afterwards.
"""

from __future__ import annotations

from opsdebug_ci.model.visible_text import visible

CUT_MARK = "…"
"""Ends a text that was cut."""

_KEPT = "\t\n\r"
"""White space that lines are made of."""


def plain_text(text: str, limit: int) -> str:
    """`text` without hidden characters, cut to at most `limit` characters."""
    shown = visible(text, _KEPT)
    return shown if len(shown) <= limit else shown[: limit - len(CUT_MARK)] + CUT_MARK


def one_line(text: str, limit: int) -> str:
    """`plain_text` with every run of white space as one blank."""
    return plain_text(" ".join(visible(text, _KEPT).split()), limit)
