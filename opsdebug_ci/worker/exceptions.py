"""Exceptions of user code, reduced to values."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

from opsdebug_ci.model.observation import ExceptionFacts

MAX_MESSAGE = 2000
"""Characters of the message kept."""

MAX_FRAMES = 12
"""Innermost frames kept."""

_INSTALLED = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Where code lies that the person did not write: this package, the standard library, what was installed."""


def facts_of(error: BaseException) -> ExceptionFacts:
    """Type, message and innermost frames of `error`."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return ExceptionFacts(
        type=type(error).__name__,
        message=str(error)[:MAX_MESSAGE],
        frames=tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames),
        place=place_of(error),
    )


def place_of(error: BaseException) -> str | None:
    """`file:line` of the innermost frame in the person's own code, or None."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((*_INSTALLED, "<"))]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None


def text_of(error: BaseException) -> str:
    """`ValueError: message (at file:line)`, at most 500 characters of it."""
    place = place_of(error)
    return f"{type(error).__name__}: {error}"[:500] + (f" (at {place})" if place else "")
