"""Where in the history the code under test stands, and which files differ from a base: read from git.

Decides what is asked of git. Deliberately writes nothing, starts no shell, hook or monitor, and reads no configuration
of the person or the system, so that the answers are the same everywhere.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError, UsageError
from opsdebug_ci.git.command import answer, names
from opsdebug_ci.model.run import Revision

ANCESTORS = 50
"""First-parent ancestors recorded with a run."""

_DIFFERENCE = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-relative")

_CONTENT = ("diff", "--binary", "--full-index", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv")

CODE_SUFFIXES = (
    *(".py", ".pyi", ".pyx", ".toml"),
    *(".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".cu", ".cuh", ".hip", ".metal", ".cl"),
    *(".so", ".pyd"),
)
"""Untracked files by which operators may come out otherwise; others (logs, plots, data) come and go with every run."""


def read_revision(root: Path, *, base: str | None = None) -> Revision:
    """The commit checked out at `root`; every field empty outside git, without git, or before the first commit.

    Untracked files do not make it dirty: the store itself may be one. `base` is the target branch of a pull request;
    a base that is not in this clone leaves `base_commit` empty.
    """
    commit = answer(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not commit:
        return Revision()
    history = answer(root, "rev-list", "--first-parent", f"--max-count={ANCESTORS + 1}", commit) or ""
    return Revision(
        commit=commit,
        ancestors=tuple(history.split())[1:],
        base_commit="" if base is None else _merge_base(root, base) or "",
        branch=answer(root, "symbolic-ref", "--quiet", "--short", "HEAD") or "",
        dirty=bool(answer(root, "status", "--porcelain", "--untracked-files=no")),
        tree=answer(root, "rev-parse", "--verify", "--quiet", "HEAD^{tree}") or "",
    )


def changed_files(root: Path, base: str) -> tuple[Path, ...]:
    """Files that differ from the merge base with `base`, absolute and sorted; uncommitted and untracked ones too.

    Raises:
        UsageError: `root` is not in a git repository, or `base` is not in this clone.
        EnvironmentLimitError: git failed on a question it should answer.
    """
    top = answer(root, "rev-parse", "--show-toplevel")
    if not top:
        raise UsageError(
            f"`--changed {base}`: {root} is not in a git work tree, or git is not installed",
            next_step="leave `--changed` out to run every operator",
        )
    merge_base = _merge_base(root, base)
    if not merge_base:
        raise UsageError(
            f"`--changed {base}`: this clone has no common ancestor of HEAD and `{base}`; wanted a commit",
            next_step="check the spelling; in GitHub Actions give actions/checkout `fetch-depth: 0`, elsewhere "
            "`git fetch --unshallow`; or leave `--changed` out to run every operator",
        )
    names = (
        *_listing(Path(top), *_DIFFERENCE, "--ignore-submodules=none", merge_base, "--"),
        *_listing(Path(top), "ls-files", "-z", "--others", "--exclude-standard"),
    )
    return tuple(sorted({Path(top) / name for name in names}))


def work_tree(root: Path) -> Path | None:
    """Top of the git work tree that `root` lies in; None: there is none, or no git."""
    top = answer(root, "rev-parse", "--show-toplevel")
    return Path(top) if top else None


def committed_files(root: Path, base: str) -> tuple[Path, ...] | None:
    """Files that differ between the merge base with `base` and HEAD, absolute; None: this clone cannot tell.

    What lies in the work tree without being committed is not among them: that is the doing of whoever runs this.
    """
    top, merge_base = work_tree(root), _merge_base(root, base)
    found = names(top, *_DIFFERENCE, merge_base, "HEAD", "--") if top and merge_base else None
    return None if found is None or top is None else tuple(top / name for name in found)


def difference_digest(root: Path, *, outputs: Sequence[Path] = ()) -> str | None:
    """sha256 of what the work tree around `root` holds beyond its commit; None: git cannot tell.

    That is the difference of tracked files, submodules included, and the content of untracked files with one of
    CODE_SUFFIXES that git does not ignore. What lies in `outputs` is left out: the tool writes it itself.
    """
    top = work_tree(root)
    if top is None:
        return None
    ours = [path.resolve() for path in outputs]
    left_out = [f":(exclude,literal){path.relative_to(top)}" for path in ours if path != top and top in path.parents]
    tracked = answer(top, *_CONTENT, "--submodule=diff", "HEAD", "--", ".", *left_out)
    listed = answer(top, "ls-files", "-z", "--others", "--exclude-standard", "--", ".", *left_out)
    if tracked is None or listed is None:
        return None
    digest = hashlib.sha256(os.fsencode(tracked))
    for name in sorted(name for name in listed.split("\0") if name.endswith(CODE_SUFFIXES)):
        digest.update(os.fsencode(f"\0{name}\0{content_digest(top / name)}"))
    return digest.hexdigest()


def content_digest(path: Path) -> str:
    """sha256 of a file; empty for one that cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _merge_base(root: Path, base: str) -> str | None:
    tip = answer(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    return answer(root, "merge-base", "HEAD", tip) if tip else None


def _listing(top: Path, *question: str) -> tuple[str, ...]:
    found = names(top, *question)
    if found is None:
        raise EnvironmentLimitError(
            f"`git {question[0]}` failed in {top}; wanted a list of files", next_step="run `git status` there"
        )
    return found
