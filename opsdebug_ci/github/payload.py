"""The file in which GitHub tells a job what triggered it.

Decides how much of it is read, and that what is read has the types it must have. What it says is untrusted: a pull
request's author chooses branch names and titles.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from opsdebug_ci.errors import EnvironmentLimitError

EVENT_LIMIT_BYTES = 25 * 2**20
"""GitHub caps a webhook payload at 25 MB."""

Read = TypeVar("Read")


def read_payload(path: str, kind: type[Read]) -> Read:
    """What a kind of value holds of the event file; its defaults where no file is named.

    Raises:
        EnvironmentLimitError: the file is missing, too large or not what GitHub writes.
    """
    if not path:
        return kind()
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(EVENT_LIMIT_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error.strerror or "an unreadable file") from error
    if len(data) > EVENT_LIMIT_BYTES:
        raise _unreadable(path, f"more than {EVENT_LIMIT_BYTES} bytes")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: str, found: str) -> EnvironmentLimitError:
    return EnvironmentLimitError(
        f"`GITHUB_EVENT_PATH` names {path!r}: got {found}; wanted the event as JSON",
        next_step="run inside a GitHub job, or unset GITHUB_EVENT_NAME to run outside CI",
    )
