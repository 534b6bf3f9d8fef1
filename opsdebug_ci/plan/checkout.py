"""The files of one commit, written into a new directory that has a repository of its own.

Decides that nothing is copied but the files: the new repository borrows the objects of the old one
(gitrepository-layout(5), `objects/info/alternates`), which is only read. Neither a clone, which refuses or copies where
the old one is shallow or belongs to another user, nor a linked work tree, which is written down in the old one.
Submodules come from where they lie in the old work tree, large files (LFS) from its local store; what is not there is
told, never fetched.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from opsdebug_ci.git.command import answer, names, order

POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
"""A large file as git has it (git-lfs specification, "The Pointer")."""

POINTER_BYTES = 1024
"""No pointer is longer (same source)."""

_LINKED = re.compile(r"160000 commit ([0-9a-f]+)\t(.*)", re.DOTALL)
"""A submodule, as `git ls-tree` lists it."""

_INCOMPLETE = (
    "the clone lacks objects of that commit: `git fetch --unshallow`, or without a filter (`git fetch --refetch`); "
    "in GitHub Actions give actions/checkout `fetch-depth: 0` and no `filter`"
)


def check_out(source: Path, commit: str, destination: Path) -> tuple[str, ...]:
    """Write the files of `commit`, known to the repository around `source`, into the new directory `destination`.

    Returns:
        What is missing there, in sentences.

    Raises:
        EnvironmentLimitError: git failed, or lacks objects of the commit.
    """
    _borrow(source, destination)
    _copy_tags(source, commit, destination)
    order(destination, "checkout", "--quiet", "--force", "--detach", commit, next_step=_INCOMPLETE)
    top = Path(answer(source, "rev-parse", "--show-toplevel") or source)
    return (*_fill_large_files(source, destination), *_check_out_submodules(top, commit, destination))


def _borrow(source: Path, destination: Path) -> None:
    form = answer(source, "rev-parse", "--show-object-format") or "sha1"
    named = () if form == "sha1" else (f"--object-format={form}",)
    order(source, "init", "--quiet", "--template=", *named, str(destination), next_step="make that directory writable")
    inside = destination / ".git"
    objects = str(_git_path(source, "objects"))
    # NOTE: a line that begins with a quotation mark is read as a C string, one that begins with # is skipped.
    (inside / "objects" / "info").mkdir(exist_ok=True)
    (inside / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    shallow = _git_path(source, "shallow")
    if shallow.is_file():
        shutil.copyfile(shallow, inside / "shallow")


def _copy_tags(source: Path, commit: str, destination: Path) -> None:
    """Tags up to the commit, from which builds derive version numbers."""
    listed = answer(source, "for-each-ref", f"--merged={commit}", "--format=%(objectname) %(refname)", "refs/tags")
    if listed:
        (destination / ".git" / "packed-refs").write_text(f"{listed}\n")


def _fill_large_files(source: Path, destination: Path) -> tuple[str, ...]:
    store = _git_path(source, "lfs") / "objects"
    found = [(name, _pointer(destination / name)) for name in names(destination, "ls-files", "-z", _LARGE) or ()]
    missing = [name for name, oid in found if oid and not _fill(destination / name, store, oid)]
    if not missing:
        return ()
    return (
        f"{len(missing)} files are LFS pointers in {destination.name}, first {missing[0]}: "
        "their content is not in this clone (`git lfs fetch`)",
    )


_LARGE = ":(attr:filter=lfs)"


def _pointer(path: Path) -> str | None:
    """The object a pointer stands for; None for any other file."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > POINTER_BYTES:
        return None
    read = POINTER.fullmatch(path.read_bytes())
    return read[1].decode() if read else None


def _fill(path: Path, store: Path, oid: str) -> bool:
    content = store / oid[:2] / oid[2:4] / oid
    if not content.is_file():
        return False
    shutil.copyfile(content, path)
    return True


def _check_out_submodules(top: Path, commit: str, destination: Path) -> tuple[str, ...]:
    notes: list[str] = []
    for line in names(destination, "ls-tree", "-r", "-z", commit) or ():
        linked = _LINKED.fullmatch(line)
        if linked is None:
            continue
        wanted, path = linked[1], linked[2]
        if _has(top / path, wanted):
            notes += check_out(top / path, wanted, destination / path)
        else:
            notes.append(
                f"submodule {path} is empty in {destination.name}: its commit {wanted[:12]} is not in this clone "
                "(`git submodule update --init --recursive`)"
            )
    return tuple(notes)


def _has(directory: Path, commit: str) -> bool:
    """`directory` is the top of a work tree of its own whose repository knows the commit."""
    top = answer(directory, "rev-parse", "--show-toplevel") if directory.is_dir() else None
    return (
        top is not None
        and Path(top) == directory.resolve()
        and answer(directory, "cat-file", "-e", f"{commit}^{{commit}}") is not None
    )


def _git_path(directory: Path, name: str) -> Path:
    return (directory / (answer(directory, "rev-parse", "--git-path", name) or name)).resolve()
