"""Which operators a change cannot have touched: those `--changed` leaves out.

Decides what a changed file may affect: an operator's own source affects that operator; documents and tests affect none;
anything else affects all. Deliberately errs towards running: an operator left out wrongly would be a silent pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from opsdebug_ci.model.description import OperatorDescription

HARMLESS_SUFFIXES = (".md", ".rst", ".adoc")
"""Documents, wherever they lie."""

HARMLESS_NAMES = ("license", "licence", "notice", "authors", "changelog", "codeowners")
"""Documents by name, without a suffix or with `.txt`."""

NATIVE_SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".pyx", ".so")
"""Files a build may pick up from anywhere, a folder of tests included."""

HARMLESS_FOLDERS = ("__pycache__", "doc", "docs", "test", "tests")
"""Folders whose files no operator imports, unless an operator says it does. Bytecode follows its source."""


def unchanged(
    descriptions: Sequence[OperatorDescription],
    changed_files: Iterable[Path],
    root: Path,
    *,
    outputs: Sequence[Path] = (),
) -> tuple[str, ...]:
    """Names of the operators that `changed_files` cannot affect.

    Args:
        descriptions: every operator, so that a changed source is recognised as one.
        changed_files: absolute, or relative to `root`.
        root: directory the relative paths start at.
        outputs: files and directories the tool itself writes, such as the store: they affect nothing.

    Returns:
        The operators none of whose source files changed; none at all when some changed file may affect anything. An
        operator without known source files is never among them.
    """
    changed = {_absolute(path, root) for path in changed_files}
    ours = tuple((root / path).resolve() for path in outputs)
    sources = {d.name: frozenset(_absolute(Path(file), root) for file in d.source_files) for d in descriptions}
    known = frozenset[Path]().union(*sources.values())
    unsure = any(not is_harmless(path, root) and not _within(path, ours) for path in changed - known)
    if unsure:
        return ()
    return tuple(name for name, files in sources.items() if files and not files & changed)


def is_harmless(path: Path, root: Path) -> bool:
    """Whether a file that is no operator's source is a document or a test, by its place under `root` and its name."""
    absolute, top = _absolute(path, root), root.resolve()
    inside = absolute.relative_to(top) if top in absolute.parents else absolute
    suffix = inside.suffix.lower()
    if suffix in NATIVE_SUFFIXES:
        return False
    return (
        _is_test(inside)
        or suffix in HARMLESS_SUFFIXES
        or (inside.stem.lower() in HARMLESS_NAMES and suffix in ("", ".txt"))
        or any(folder.lower() in HARMLESS_FOLDERS for folder in inside.parent.parts)
    )


def _is_test(path: PurePath) -> bool:
    return path.suffix == ".py" and (path.name == "conftest.py" or path.stem.startswith("test_"))


def _absolute(path: Path, root: Path) -> Path:
    """One spelling per file; a link stays itself, since changing it changes what is imported, not what it named."""
    joined = root / path
    return joined.parent.resolve() / joined.name


def _within(path: Path, directories: Sequence[Path]) -> bool:
    return any(path == directory or directory in path.parents for directory in directories)
