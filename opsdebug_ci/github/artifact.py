"""Where the files of this job can be found after it has ended.

Decides the words only. Whether the job really uploads them is its workflow's business; the recipes of this project do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LOCAL = ".opsdebug/bundles of the checkout the run was made in"
"""Outside CI."""

_SERVER = re.compile(r"https?://[A-Za-z0-9.:-]{1,200}")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_NUMBER = re.compile(r"[0-9]{1,19}")


def artifact_of(environ: Mapping[str, str]) -> str:
    """Where bundles are that were too large for the store, in words."""
    server = environ.get("GITHUB_SERVER_URL", "https://github.com")
    repository, run = environ.get("GITHUB_REPOSITORY", ""), environ.get("GITHUB_RUN_ID", "")
    attempt = environ.get("GITHUB_RUN_ATTEMPT", "1")
    if not (_SERVER.fullmatch(server) and _REPOSITORY.fullmatch(repository) and _NUMBER.fullmatch(run)):
        return LOCAL
    return (
        f"artifacts of {server}/{repository}/actions/runs/{run}, attempt {attempt if _NUMBER.fullmatch(attempt) else 1}"
    )
