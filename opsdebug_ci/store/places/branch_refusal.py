"""What a person reads when a branch cannot be read or written: what was said, and what to do about it."""

from __future__ import annotations

import re

from opsdebug_ci.errors import StoreError, StoreUnreachableError
from opsdebug_ci.git.refusal import Refusal

LAST_WORDS = 500
"""Characters of the answer that an error quotes, from its end."""

_NEXT = {
    Refusal.AUTHENTICATION: (
        "in GitHub Actions give the job `permissions: contents: write` and the step a token in GITHUB_TOKEN or "
        "OPSDEBUG_TOKEN; elsewhere see that `git push` to this repository works without a question"
    ),
    Refusal.MISSING: (
        "check the address; a private repository looks like this to those who may not see it: then give the step a "
        "token in GITHUB_TOKEN or OPSDEBUG_TOKEN. git must be 2.31 or newer"
    ),
    Refusal.MOVED: "name its new address, in the remote `origin` or as `store = branch:NAME@URL`",
    Refusal.PROTECTED: (
        "take the branch out of the server's protection rules, or let this token pass them; it holds measurements, "
        "no code"
    ),
    Refusal.NO_REWRITE: "allow force pushes to this branch in the server's rules; it holds measurements, no code",
    Refusal.CHECKED_OUT: "check out another branch there, or name another one as the store",
    Refusal.UNWRITABLE: "make room where the repository is, or have somebody make it writable for you",
    Refusal.UNFIT: "name a repository with SHA-1 object names, over a protocol that git is allowed here",
    Refusal.DECLINED: "ask who runs the server what its hook wants",
    Refusal.UNREACHABLE: "look at the network and the address, then do the same again",
    Refusal.OVERTAKEN: "do the same again when fewer others write",
    Refusal.UNKNOWN: "do the same again; if it stays so, try `git ls-remote` on this address",
}


def refused(refusal: Refusal, said: str, store: str, tries: int, *, writing: bool) -> StoreError:
    """The error for an answer that nothing more is tried against.

    Args:
        refusal: what the answer means.
        said: its words, without secrets.
        store: where the store is, in words.
        tries: how often it was tried.
        writing: it was to be written, not read.
    """
    doing, done = ("write", "written") if writing else ("read", "read")
    often = f" in {tries} tries" if tries > 1 else ""
    message = (
        f"cannot {doing} store `{store}`{often} ({refusal.value}): got `{last_words(said)}`; wanted it to be {done}"
        f"{_state(refusal) if writing else ''}"
    )
    if refusal is Refusal.UNREACHABLE:
        return StoreUnreachableError(message, next_step=_NEXT[refusal])
    return StoreError(message, next_step=_NEXT[refusal])


def _state(refusal: Refusal) -> str:
    """How things are there after the last try to write."""
    if refusal in (Refusal.UNREACHABLE, Refusal.UNKNOWN):
        return "; should it have arrived all the same, doing it again does no harm"
    return "; nothing was changed there"


def last_words(said: str) -> str:
    """The end of an answer, in one line."""
    return " | ".join(line.strip() for line in said[-LAST_WORDS:].splitlines() if line.strip()) or "nothing"


def without_hashes(said: str) -> str:
    """An answer without what differs between two tries of the same."""
    return re.sub(r"[0-9a-f]{7,64}", "", said)
