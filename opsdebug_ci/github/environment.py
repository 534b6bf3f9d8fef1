"""What a child process may see of a GitHub job's environment.

Decides by a list of names to drop, not to keep: a child without the loader's variables (LD_LIBRARY_PATH, CUDA_*)
cannot import the user's torch. Dropped are the runner's tokens and the files through which a step talks to it; what
an operator may see is stricter, and the execution's business.
"""

from __future__ import annotations

from collections.abc import Mapping

SECRET_NAMES: frozenset[str] = frozenset(
    {
        "ACTIONS_RESULTS_URL",
        "GH_TOKEN",
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_TOKEN",
    }
)
"""Variables no child gets."""

SECRET_PREFIXES: tuple[str, ...] = (
    "ACTIONS_CACHE_",
    "ACTIONS_ID_TOKEN_",
    "ACTIONS_RUNTIME_",
    "INPUT_",
    "OPSDEBUG_INPUT_",
)
"""Starts of names of variables no child gets."""


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without tokens and without the runner's files. Names are compared without regard to case."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() not in SECRET_NAMES and not name.upper().startswith(SECRET_PREFIXES)
    }
