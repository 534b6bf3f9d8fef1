"""Where in the person's own code something happens: `file:line` of the innermost frame that is theirs.

Decides whose code a frame is: neither installed, nor part of the standard library, nor ours. Reading it walks the
stack, so it is read of what is to be told, never of everything that happens.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

INSTALLED = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Where code lies that the person did not write: this package, the standard library, what was installed."""


def is_own(filename: str) -> bool:
    """Whether a file is the person's own; code without a file (`<string>`) is nobody's."""
    return not filename.startswith((*INSTALLED, "<"))


def place_here() -> str | None:
    """`file:line` of the innermost frame of the caller's stack in the person's own code; None: there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]  # None above the outermost frame
    return None
