"""Commits and pages as links of our own.

Decides what may become a link: a hash on the server's own page for commits, and the page of the CI run.
"""

from __future__ import annotations

import re

from opsdebug_ci.model.publication import RunLinks

_HASH = re.compile(r"[0-9a-f]{7,64}")

_SHORT = 7
"""Digits of a hash that are shown, as git does in a small repository and GitHub everywhere."""

_ADDRESS = re.compile(r"https?://[A-Za-z0-9._~:/?#@!&'*+,;=%-]{1,180}")
"""What may stand between the parentheses of a link without ending it. The longest names of an owner and a repository
take 140 characters; longer addresses are left out, so that the last rung stays short."""


def commit_link(links: RunLinks, commit: str) -> str:
    """The beginning of a hash, linked where its page is known; empty for anything that is no hash."""
    if not _HASH.fullmatch(commit):
        return ""
    short = f"`{commit[:_SHORT]}`"
    return f"[{short}]({links.commit_url}{commit})" if _ADDRESS.fullmatch(links.commit_url) else short


def run_link(links: RunLinks, words: str) -> str:
    """`words` as a link to the CI run; empty where its page is not known."""
    return f"[{words}]({links.run_url})" if _ADDRESS.fullmatch(links.run_url) else ""
