"""Which environment variables a worker sees.

Decides what is withheld from code under test: credentials, and the files through which a CI job takes orders. A
deny-list, because the user's build needs its loader and device variables, whatever they are called. Deliberately no
wall: code of the same user can still read files and processes; fork pull requests need a job without secrets.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

DENIED_NAMES = frozenset(
    {
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
        "AWS_ACCESS_KEY_ID",
        "AZURE_STORAGE_CONNECTION_STRING",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "SSH_AUTH_SOCK",
    }
)
"""Files the runner reads orders from, and credentials whose names do not say so."""

DENIED_PREFIXES = ("ACTIONS_", "AWS_SECRET", "INPUT_")
"""The runner's own service addresses and tokens, and the inputs of the action."""

SECRET_WORDS = frozenset(
    {"APIKEY", "CREDENTIAL", "CREDENTIALS", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "SECRETS", "TOKEN", "TOKENS"}
)
"""Words between underscores that mark a credential: GITHUB_TOKEN goes, TOKENIZERS_PARALLELISM stays."""

KEY_OWNERS = frozenset({"ACCESS", "ACCOUNT", "API", "PRIVATE", "SIGNING", "SSH"})
"""Words that make the KEY right after them a credential."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Where the numeric libraries read how many threads one process may use."""


def is_denied(name: str) -> bool:
    """Whether code under test must not see this variable."""
    name = name.upper()
    words = name.split("_")
    owned_key = any(owner in KEY_OWNERS and word == "KEY" for owner, word in itertools.pairwise(words))
    return name in DENIED_NAMES or name.startswith(DENIED_PREFIXES) or not SECRET_WORDS.isdisjoint(words) or owned_key


def worker_environment(environment: Mapping[str, str], *, threads: int) -> dict[str, str]:
    """What a worker gets of `environment`, with `threads` per process where the user has not said otherwise."""
    kept = {name: value for name, value in environment.items() if not is_denied(name)}
    return {**dict.fromkeys(THREAD_VARIABLES, str(threads)), **kept}
