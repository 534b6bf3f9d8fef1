"""What a child process may see of a GitHub job's environment: no token, and no file through which a step gives orders.

Decides that the child, which starts the workers, gets no more than they do; `model.credentials` says what is secret.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.model.credentials import without_secrets


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without tokens and without the runner's files."""
    return without_secrets(environ)
