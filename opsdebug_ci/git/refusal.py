"""What git's complaint about another repository means for what we do next.

Decides by the words of git and of the well-known servers (in English: git is asked so). What no rule knows may pass, so
it is tried again; that is safe, since nothing is ever pushed but onto the state that was looked at.
"""

from __future__ import annotations

import re
from enum import Enum


class Refusal(Enum):
    """Why it did not work."""

    OVERTAKEN = "overtaken"
    """Somebody else was faster, or writes at this moment."""

    AUTHENTICATION = "authentication"
    """It does not know us, or we may not do this."""

    MISSING = "missing"
    """There is no such repository, or none that we may see."""

    MOVED = "moved"
    """It is elsewhere by now."""

    UNREACHABLE = "unreachable"
    """There is no way to it at the moment."""

    PROTECTED = "protected"
    """A rule of the server protects the branch."""

    NO_REWRITE = "no rewrite"
    """A rule of the server keeps the branch from being rewritten."""

    CHECKED_OUT = "checked out"
    """The branch is checked out there."""

    UNWRITABLE = "unwritable"
    """Its disk is full, or may not be written by us."""

    UNFIT = "unfit"
    """It is of a form that we do not write."""

    DECLINED = "declined"
    """A hook there said no, in words of its own."""

    UNKNOWN = "unknown"
    """Anything else."""

    @property
    def final(self) -> bool:
        """It stays so, however often one tries."""
        return self not in _PASSING


_PASSING = frozenset({Refusal.OVERTAKEN, Refusal.UNREACHABLE, Refusal.NO_REWRITE, Refusal.DECLINED, Refusal.UNKNOWN})

_RULES = (
    (Refusal.NO_REWRITE, r"denying non-fast-forward|cannot force-push"),
    (
        Refusal.PROTECTED,
        # GitHub's codes for protected branches and for rules; GitLab's and Gitea's words.
        r"GH006|GH013|protected branch|repository rule violations|not allowed to (?:force )?push",
    ),
    (
        Refusal.OVERTAKEN,
        r"fetch first|stale info|non-fast-forward|cannot lock ref|failed to (?:update|lock) ref"
        r"|reference already exists|incorrect old value",
    ),
    (Refusal.CHECKED_OUT, r"branch is currently checked out|refusing to update checked out branch"),
    (
        Refusal.UNWRITABLE,
        r"insufficient permission for adding an object|No space left on device|Read-only file system"
        r"|Disk quota exceeded|unable to create temporary object directory|unable to migrate objects",
    ),
    (
        Refusal.AUTHENTICATION,
        r"Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|invalid credentials"
        r"|Invalid username or (?:password|token)|returned error: 40[13]\b|Permission (?:denied \(|to \S+ denied)"
        r"|Write access to repository not granted|Host key verification failed|dubious ownership",
    ),
    (
        Refusal.MISSING,
        r"Repository not found|does not appear to be a git repository|returned error: 404\b|not a git repo",
    ),
    (Refusal.MOVED, r"returned error: 30\d\b|unable to update url base"),
    (Refusal.UNFIT, r"mismatched algorithms|transport '\S+' not allowed|shallow update not allowed"),
    (
        Refusal.UNREACHABLE,
        r"Could not resolve (?:host|proxy)|name resolution|Name or service not known|Failed to connect"
        r"|unable to connect|Connection (?:refused|timed out|reset)|Could ?n[o']t connect|Network is unreachable"
        r"|No route to host|Operation (?:timed out|too slow)|no end within|unable to look up",
    ),
    (Refusal.DECLINED, r"hook declined"),
)
_COMPILED = tuple((refusal, re.compile(words, re.IGNORECASE)) for refusal, words in _RULES)


def refusal_of(said: str) -> Refusal:
    """What git's words mean; the first rule that knows them counts."""
    return next((refusal for refusal, words in _COMPILED if words.search(said)), Refusal.UNKNOWN)
