"""Where this job's GitHub is: its interface, its pages, its repository.

Decides that nothing is assumed where a variable says it: GitHub Enterprise is the same under another address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from opsdebug_ci.errors import UsageError

_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,253}(/[A-Za-z0-9._~/-]{0,200})?")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_CREDENTIALS = re.compile(r"//.*@", re.DOTALL)
"""Before a host, where no address of ours has anything, a name and a password may stand."""


def api_url_of(environ: Mapping[str, str]) -> str:
    """Address of the interface, from GITHUB_API_URL.

    Raises:
        UsageError: it is missing, or no address.
    """
    return _address("GITHUB_API_URL", environ, "the address of GitHub's REST interface, e.g. https://HOST/api/v3")


def server_of(environ: Mapping[str, str]) -> str:
    """Address of the pages, from GITHUB_SERVER_URL.

    Raises:
        UsageError: it is missing, or no address.
    """
    return _address("GITHUB_SERVER_URL", environ, "the address of GitHub's pages")


def repository_of(environ: Mapping[str, str]) -> str:
    """`owner/name` of the repository the job runs in, from GITHUB_REPOSITORY.

    Raises:
        UsageError: it is missing, or no name.
    """
    found = environ.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(found):
        raise _not_there("GITHUB_REPOSITORY", found, "`owner/name`")
    return found


def _address(name: str, environ: Mapping[str, str], wanted: str) -> str:
    found = environ.get(name, "").rstrip("/")
    if not _ADDRESS.fullmatch(found):
        raise _not_there(name, found, wanted)
    return found


def _not_there(name: str, found: str, wanted: str) -> UsageError:
    return UsageError(
        f"`{name}` is {_CREDENTIALS.sub('//***@', found)[:80]!a}; wanted {wanted}",
        next_step=f"run this in a job of GitHub Actions, or set {name}",
    )
