"""Exceptions of user code, reduced to values."""

from __future__ import annotations

import traceback

import torch

from opsdebug_ci.errors import OpsdebugError
from opsdebug_ci.model.observation import ExceptionFacts, Observation
from opsdebug_ci.model.vocabulary import Status
from opsdebug_ci.trace import is_own

MAX_MESSAGE = 2000
"""Characters of the message kept."""

MAX_FRAMES = 12
"""Innermost frames kept."""


REFUSED = ("can't allocate memory: you tried to allocate", "not enough memory: you tried to allocate")
"""How the framework's allocator on the CPU says so, as an ordinary RuntimeError (c10/core/impl/alloc_cpu.cpp)."""


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether the operator asked for more memory than there is, on whatever device."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in REFUSED)


def facts_of(error: BaseException) -> ExceptionFacts:
    """Type, message and innermost frames of `error`."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return ExceptionFacts(
        type=type(error).__name__,
        message=str(error)[:MAX_MESSAGE],
        frames=tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames),
        place=place_of(error),
    )


def broken_inputs(case_id: str, error: OpsdebugError) -> Observation:
    """What a case comes to whose inputs cannot be made."""
    return Observation(
        case_id=case_id,
        status=Status.INPUTS_BROKEN,
        reason=": ".join(part for part in (error.message, error.next_step) if part),
        exception=facts_of(error.__cause__ or error),
    )


def place_of(error: BaseException) -> str | None:
    """`file:line` of the innermost frame in the person's own code, or None."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_own(frame.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None


def text_of(error: BaseException) -> str:
    """`ValueError: message (at file:line)`, at most 500 characters of it."""
    place = place_of(error)
    return f"{type(error).__name__}: {error}"[:500] + (f" (at {place})" if place else "")
