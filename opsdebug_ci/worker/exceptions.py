"""Exceptions of user code, reduced to values."""

from __future__ import annotations

import traceback

from opsdebug_ci.model.observation import ExceptionFacts

MAX_MESSAGE = 2000
"""Characters of the message kept."""

MAX_FRAMES = 12
"""Innermost frames kept."""


def facts_of(error: BaseException) -> ExceptionFacts:
    """Type, message and innermost frames of `error`."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return ExceptionFacts(
        type=type(error).__name__,
        message=str(error)[:MAX_MESSAGE],
        frames=tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames),
    )
