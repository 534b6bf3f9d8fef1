"""What the gate of a stage compares with, and whether its record can be believed.

Decides which commit is the baseline, and that a change cannot bring its own record: where the run may not become a
baseline, a store in the work tree counts only if no commit of the change touched it. Deliberately not what gates.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opsdebug_ci.model import KnownFailures
from opsdebug_ci.model.run import Revision
from opsdebug_ci.plan import Configuration, committed_files, work_tree
from opsdebug_ci.store.known import known_failures


def recorded_failures(location: Path, revision: Revision) -> KnownFailures:
    """What failed at the merge base of a pull request, else at the parent of the commit under test."""
    line = _line_from(revision)
    return known_failures(location, line[0], line[1:]) if line else KnownFailures()


def distrust(configuration: Configuration, base: str) -> str | None:
    """Why the store in the work tree is no witness for the change since `base`; None: it is, or it lies elsewhere."""
    top, directory = work_tree(configuration.root), configuration.store_directory
    if top is None or directory is None:
        return None
    # NOTE: a link is named, and so is what it leads to: a change may replace either.
    places = {directory.absolute(), directory.parent.resolve() / directory.name, directory.resolve()}
    if not any(place == top or top in place.parents for place in places):
        return None
    files = committed_files(configuration.root, base) if base else None
    if files is None:
        return f"nothing is taken as known: git cannot tell whether the change touches the store {configuration.store}"
    touched = sorted(str(path.relative_to(top)) for path in files if _concerns(path, places))
    if not touched:
        return None
    return f"nothing is taken as known: the change touches the store {configuration.store}, first {touched[0]}"


def _concerns(path: Path, places: Iterable[Path]) -> bool:
    """`path` is one of the places, in one, or above one, also where case does not tell names apart."""
    mine = _folded(path)
    return any(
        mine == place or place in mine.parents or mine in place.parents for place in (_folded(p) for p in places)
    )


def _folded(path: Path) -> Path:
    return Path(str(path).casefold())


def _line_from(revision: Revision) -> tuple[str, ...]:
    """The baseline commit and its first-parent ancestors, as far as this clone knows them."""
    if not revision.base_commit:
        return revision.ancestors
    if revision.base_commit in revision.ancestors:
        return revision.ancestors[revision.ancestors.index(revision.base_commit) :]
    return (revision.base_commit,)
