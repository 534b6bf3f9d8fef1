"""Which environment variables are secrets: credentials, and the files through which a CI job takes orders.

Decides by a list of what to drop, not of what to keep: the user's build needs its loader and device variables
(LD_LIBRARY_PATH, CUDA_*), whatever they are called. Deliberately no wall: code of the same user can still read files
and processes; fork pull requests need a job without secrets.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

SECRET_NAMES = frozenset(
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
    }
)
"""Files the runner reads orders from, and credentials whose names do not say so."""

SECRET_PREFIXES = ("ACTIONS_", "AWS_SECRET", "INPUT_", "OPSDEBUG_INPUT_")
"""The runner's own service addresses and tokens, and the inputs of the action."""

SECRET_WORDS = frozenset(
    {
        "APIKEY",
        "AUTH",
        "CREDENTIAL",
        "CREDENTIALS",
        "PASSPHRASE",
        "PASSWD",
        "PASSWORD",
        "PAT",  # personal access token
        "SECRET",
        "SECRETS",
        "TOKEN",
        "TOKENS",
        "WEBHOOK",
    }
)
"""Words between underscores that mark a credential: GITHUB_TOKEN goes, TOKENIZERS_PARALLELISM stays."""

KEY_OWNERS = frozenset({"ACCESS", "ACCOUNT", "API", "PRIVATE", "SIGNING", "SSH"})
"""Words that make the KEY right after them a credential."""

_PASSWORD_IN_ADDRESS = re.compile(r"://[^\s/?#:@]*:[^\s/?#@]+@")
"""`user:password@` in front of a host (RFC 3986, 3.2.1), the user possibly empty. A user alone, as in ssh://git@host,
is no credential."""


def is_secret(name: str, value: str) -> bool:
    """Whether code under test must not see this variable. Names are compared without regard to case."""
    name = name.upper()
    words = name.split("_")
    return (
        name in SECRET_NAMES
        or name.startswith(SECRET_PREFIXES)
        or not SECRET_WORDS.isdisjoint(words)
        or any(owner in KEY_OWNERS and word == "KEY" for owner, word in itertools.pairwise(words))
        or _PASSWORD_IN_ADDRESS.search(value) is not None  # PIP_INDEX_URL, DATABASE_URL, HTTPS_PROXY, ...
    )


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """What code under test may see of `environment`."""
    return {name: value for name, value in environment.items() if not is_secret(name, value)}
