"""Which of two commits holds the other's code.

Decides by ancestry and by files, never by dates: whoever makes a commit writes its dates.
"""

from __future__ import annotations

from pathlib import Path

from opsdebug_ci.git.command import answer


def is_within(root: Path, commit: str, other: str) -> bool:
    """`commit` is `other`, an ancestor of it, or has the same files; False where this clone lacks one of them."""
    if commit == other:
        return True
    if answer(root, "merge-base", "--is-ancestor", commit, other) is not None:
        return True
    trees = [answer(root, "rev-parse", "--verify", "--quiet", f"{one}^{{tree}}") for one in (commit, other)]
    return trees[0] is not None and trees[0] == trees[1]


def parents_of(root: Path, commit: str) -> tuple[str, ...]:
    """Parents as the commit itself names them, also where a shallow clone cuts them off; none where it is not there."""
    text = answer(root, "cat-file", "commit", commit) or ""
    lines = text.partition("\n\n")[0].splitlines()
    return tuple(line.removeprefix("parent ") for line in lines if line.startswith("parent "))
