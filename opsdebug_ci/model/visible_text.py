"""Which characters of a text can be seen.

Decides what nobody's text may hold where people read it: controls, formats (bidirectional and zero-width ones, tags),
halves of surrogate pairs, private and unassigned characters, letters that are drawn as nothing, and rows of selectors
of other drawings, in which a whole text can hide. Escapes nothing.
"""

from __future__ import annotations

import re
import unicodedata

_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
    "|^[\ufe0e\ufe0f]|(?<=[\\x00-\\x7f\\w\ufe0e\ufe0f])[\ufe0e\ufe0f](?!\u20e3)"
)
"""Letters and marks that Unicode draws as nothing: default ignorables outside category Cf, and the blank braille. The
selectors of text and of emoji stay where there is something to select: behind one sign, or as part of a keycap."""


def visible(text: str, kept: str = "") -> str:
    """`text` without what cannot be seen; spaces of every width stay, and so does what is in `kept`."""
    shown = _BLANK.sub("", text)
    if shown.isprintable():  # exactly what is in none of the categories C* and Z*, and the blank
        return shown
    return "".join(c for c in shown if c.isprintable() or c in kept or unicodedata.category(c) == "Zs")
