"""What a child process may see of a GitHub job's environment: no token, and no file through which a step gives orders.

Decides that the child, which starts the workers, gets no more than they do; `model.credentials` says what is secret.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.model.credentials import without_secrets

TOKEN_INPUT = "OPSDEBUG_INPUT_TOKEN"  # noqa: S105 - the name of a variable
"""The action's input `token`."""

TOKEN = "OPSDEBUG_TOKEN"  # noqa: S105 - as above
"""Where the store's client looks for it."""


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without tokens and without the runner's files."""
    return without_secrets(environ)


def with_token(child: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """`child` with the token that the step was given for the store, if it was given one. For children that run no
    operator."""
    token = environ.get(TOKEN_INPUT, "")
    return {**child, **({TOKEN: token} if token else {})}


def token_of(environ: Mapping[str, str]) -> str:
    """The token to speak to GitHub with; empty: there is none."""
    return next((found for name in (TOKEN, "GITHUB_TOKEN") if (found := environ.get(name, ""))), "")
