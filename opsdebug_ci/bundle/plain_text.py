"""Text that can only be read: without what moves a terminal's cursor or turns the direction of writing.

Writers make their text plain, readers refuse what is not; both mean the same by it.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def is_plain(text: str) -> bool:
    """Whether there is nothing in it but characters, tabs and ends of lines."""
    return _CONTROL.search(text) is None


def plain(text: str) -> str:
    """`text` without terminal commands; every other character that cannot be read becomes a question mark."""
    return _CONTROL.sub("?", _COLOUR.sub("", text.replace("\r\n", "\n")))
