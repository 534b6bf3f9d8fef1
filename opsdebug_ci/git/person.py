"""Who uses this machine, by the name they sign commits with.

Decides that this one thing is read from the configuration of the person, which nothing else here reads, and that a name
git would make up of the machine's is none: on a runner everybody would be called the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.git.command import TIMEOUT_S, run

_OF_THE_PERSON = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
"""Variables of git's own that say who somebody is, or where that stands."""

_WHEN = re.compile(r" \d+ [-+]\d{4}$")
"""What git writes behind a name: now."""


def person(directory: Path, environ: Mapping[str, str]) -> str:
    """`name <address>` as a commit made now would have it; one of both where git knows no more; empty where it knows
    nothing.

    Args:
        directory: a repository, or any directory.
        environ: environment variables; those of git that name another repository are not passed on.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _OF_THE_PERSON}
    environment = {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    author = _told(directory, environment, "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
    if author:
        return _WHEN.sub("", author)
    name, address = (_told(directory, environment, "config", "--get", key) for key in ("user.name", "user.email"))
    return environ.get("GIT_AUTHOR_NAME") or name or address


def _told(directory: Path, environment: Mapping[str, str], *question: str) -> str:
    try:
        ended = run(directory, *question, environment=environment, timeout_s=TIMEOUT_S)
    except EnvironmentLimitError:  # no git: nobody has a name
        return ""
    return ended.output.decode(errors="replace").strip() if ended.code == 0 else ""
