"""Step outputs in the file `$GITHUB_OUTPUT` names.

Decides the delimiter form, so that a value with line breaks can never become a second output.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError, InternalError

_NAME = re.compile(r"[a-z][a-z0-9-]*")


def new_delimiter() -> str:
    """An unguessable delimiter: 128 random bits."""
    return f"opsdebug_{secrets.token_hex(16)}"


def encode_output(name: str, value: str, delimiter: str) -> str:
    """`name` and `value` between two `delimiter` lines.

    Raises:
        InternalError: the name is not kebab-case, or the delimiter occurs in the value.
    """
    if not _NAME.fullmatch(name):
        raise InternalError(f"output name is {name!r}; wanted lower-case words joined by `-`")
    if delimiter in value:
        raise InternalError(f"output `{name}` contains its delimiter; wanted a delimiter that does not occur in it")
    text = value.encode("utf-8", "replace").decode()
    return f"{name}<<{delimiter}\n{text}\n{delimiter}\n"


def write_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Append every output to the file at `path`.

    Raises:
        EnvironmentLimitError: it cannot be written.
    """
    block = "".join(encode_output(name, value, new_delimiter()) for name, value in outputs.items())
    try:
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(block)
    except OSError as error:
        raise EnvironmentLimitError(
            f"`GITHUB_OUTPUT` is {str(path)!r}: got {error.strerror}; wanted room for the outputs of the step",
            next_step="free space on the runner",
        ) from error
