"""Untrusted text made harmless for a log or a file.

Decides which characters never leave the program: controls, bidirectional overrides, zero-width characters and
lone surrogates. Deliberately escapes nothing; each format escapes for itself afterwards.
"""

from __future__ import annotations

import re

CUT_MARK = "…"
"""Ends a text that was cut."""

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 and C1 controls, except tab, line feed and carriage return
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"  # zero width, line separators, bidirectional overrides
    "\ud800-\udfff]"  # halves of surrogate pairs, which UTF-8 cannot hold
)


def plain_text(text: str, limit: int) -> str:
    """`text` without hidden characters, cut to at most `limit` characters."""
    shown = _HIDDEN.sub("", text)
    return shown if len(shown) <= limit else shown[: limit - len(CUT_MARK)] + CUT_MARK


def one_line(text: str, limit: int) -> str:
    """`plain_text` with every run of white space as one blank."""
    return plain_text(" ".join(_HIDDEN.sub("", text).split()), limit)
