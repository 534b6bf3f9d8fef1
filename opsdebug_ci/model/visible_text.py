"""Which characters of a text can be seen.

Decides what nobody's text may hold where people read it: controls, formats (bidirectional and zero-width ones, tags),
halves of surrogate pairs, private and unassigned characters, and letters that are drawn as nothing. Escapes nothing.
"""

from __future__ import annotations

import re
import unicodedata

_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")
"""Letters and marks that Unicode draws as nothing: default ignorables outside category Cf, and the blank braille."""


def visible(text: str, kept: str = "") -> str:
    """`text` without what cannot be seen; spaces of every width stay, and so does what is in `kept`."""
    shown = _BLANK.sub("", text)
    if shown.isprintable():  # exactly what is in none of the categories C* and Z*, and the blank
        return shown
    return "".join(c for c in shown if c.isprintable() or c in kept or unicodedata.category(c) == "Zs")
