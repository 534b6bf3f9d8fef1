"""Who uses this machine, by the name they sign commits with.

Decides that this one thing is read from the configuration of the person, which nothing else here reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.git.command import TIMEOUT_S, run


def person(directory: Path, environ: Mapping[str, str]) -> str:
    """`name <address>`, or one of both; empty where git, or its configuration, does not tell.

    Args:
        directory: a repository, or any directory.
        environ: environment variables; those of git itself are not passed on.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    environment = {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    name, address = (_told(directory, key, environment) for key in ("user.name", "user.email"))
    return f"{name} <{address}>" if name and address else name or address


def _told(directory: Path, key: str, environment: Mapping[str, str]) -> str:
    try:
        ended = run(directory, "config", "--get", key, environment=environment, timeout_s=TIMEOUT_S)
    except EnvironmentLimitError:  # no git: nobody has a name
        return ""
    return ended.output.decode(errors="replace").strip() if ended.code == 0 else ""
