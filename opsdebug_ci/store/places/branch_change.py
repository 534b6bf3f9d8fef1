"""A change to a store on a branch, made on whatever is there by the time it gets through.

Decides how several writers get along without a lock: everybody looks at the newest commit, makes another one with its
files and his own, and pushes it on the condition that the first is still the newest. Whoever was overtaken begins anew,
so nobody's files are lost. An answer that got lost on the way is found out likewise: then the files are there already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import StoreError
from opsdebug_ci.git.command import Ended
from opsdebug_ci.git.patience import Patience
from opsdebug_ci.git.refusal import Refusal, refusal_of
from opsdebug_ci.git.repository import NO_COMMIT, Repository
from opsdebug_ci.store.files.layout import MARKER, read_bundle_path
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.branch_refusal import refused, without_hashes
from opsdebug_ci.store.places.marker import check_free, format_version, marker_bytes
from opsdebug_ci.store.schema import FORMAT_VERSION

UNREACHABLE_TRIES = 6
"""Tries without a way to the remote before we give up: about 3 s of pauses, enough for a name server that is restarted
and not so long that somebody offline wonders."""

DECLINED_TRIES = 8
"""Same refusals of a hook, in words that we do not know, before it is taken for a rule. A hook that declines a third of
all pushes by chance does so 8 times in a row once in 6561."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be done to the files of a branch."""

    added: Sequence[StoreFile] = ()
    """Files to be there."""

    removed: Sequence[str] = ()
    """Paths not to be there."""

    rewrite: bool = False
    """Begin a new history, with the format version of this program, so that clones stop growing."""

    rehearse: bool = False
    """Only find out whether it could be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What is left to do to one commit."""

    added: Mapping[str, str]
    """Path -> object."""

    removed: Sequence[str]
    """Paths."""


def make_change(change: Change, branch: str, repository: Repository, store: str, patience: Patience) -> int:
    """Make a change on a branch of the remote of `repository`; how many tries it took.

    Args:
        change: what is to be done.
        branch: its name.
        repository: one of our own, for this alone.
        store: where the store is, in words.
        patience: how long it is tried.

    Raises:
        StoreError: it is refused for good, or patience is at an end; or another file is there under such a path.
        StoreFormatError: the branch holds no store, or one of a newer format.
    """
    objects = _objects(change, repository)
    versions = {objects[MARKER]: FORMAT_VERSION}
    refusals: list[tuple[Refusal, str]] = []
    for attempt in patience.attempts():
        rewritable = change.rewrite and all(refusal is not Refusal.NO_REWRITE for refusal, _ in refusals)
        ended = _attempt(change, objects, versions, branch, repository, store, rewritable=rewritable)
        if ended is None:
            return attempt
        refusal = refusal_of(ended.said)
        if refusal is Refusal.NO_REWRITE and not rewritable:
            refusal = Refusal.PROTECTED
        refusals.append((refusal, without_hashes(ended.said)))
        if refusal.final or _is_hopeless(refusals):
            raise refused(refusal, ended.said, store, attempt, writing=True)
    raise refused(*refusals[-1], store, len(refusals), writing=True)


def check_version(
    marker: str | None, names: Sequence[str], repository: Repository, commit: str, store: str
) -> int | Ended:
    """Format version of the store in a commit, or how it ended when it could not be told; 0: it is none yet.

    Args:
        marker: object of its marker.
        names: of the files of the commit.
        repository: where the commit is.
        commit: the commit.
        store: where the store is, in words.

    Raises:
        StoreFormatError: it is something else, or of a newer format.
    """
    if marker is None:
        check_free({name.partition("/")[0] for name in names}, store, "branch")
        return 0
    ended = repository.fetch_contents(commit, [marker])
    if ended:
        return ended
    return format_version(dict(repository.contents([marker]))[marker], store)


def _objects(change: Change, repository: Repository) -> dict[str, str]:
    """Path -> object of every file that may have to be added."""
    names = repository.keep([*(file.data for file in change.added), marker_bytes()])
    return dict(zip([*(file.path for file in change.added), MARKER], names, strict=True))


def _attempt(
    change: Change,
    objects: Mapping[str, str],
    versions: dict[str, int],
    branch: str,
    repository: Repository,
    store: str,
    *,
    rewritable: bool,
) -> Ended | None:
    """Try once; None: it is done. `versions` are those of the markers that were read before."""
    tip = repository.fetch(branch)
    if isinstance(tip, Ended):
        return tip
    files = repository.files(tip)
    marker = files.get(MARKER)
    version = versions.get(marker or "") or check_version(marker, list(files), repository, tip, store)
    if isinstance(version, Ended):
        return version
    if marker:
        versions[marker] = version
    step = _left_to_do(change, objects, files, version, store)
    if not (step.added or step.removed or change.rehearse):
        return None
    parent = NO_COMMIT if rewritable else tip
    commit = repository.commit(tip, step.added, step.removed, parent, _message(step))
    ended = repository.push(commit, branch, tip, rehearse=change.rehearse)
    return ended if ended.code else None


def _left_to_do(
    change: Change, objects: Mapping[str, str], files: Mapping[str, str], version: int, store: str
) -> _Step:
    added = {}
    for file in change.added:
        there = files.get(file.path)
        if there not in (None, objects[file.path]) and read_bundle_path(file.path) is None:
            raise StoreError(
                f"store `{store}` already holds another `{file.path}`; wanted a new id: runs are never overwritten",
                next_step="take a new id from `new_run_id`: every invocation has its own",
            )
        if there != objects[file.path]:
            added[file.path] = objects[file.path]
    removed = [path for path in change.removed if path in files]
    outdated = change.rewrite and version != FORMAT_VERSION and bool(files)
    if outdated or (version == 0 and (added or not change.rewrite)):
        added[MARKER] = objects[MARKER]
    return _Step(added=added, removed=removed)


def _message(step: _Step) -> str:
    if step.removed:
        return f"Put {len(step.added)} files for {len(step.removed)}"
    return f"Add {len(step.added)} files"


def _is_hopeless(refusals: Sequence[tuple[Refusal, str]]) -> bool:
    refusal = refusals[-1][0]
    if refusal is Refusal.UNREACHABLE:
        return len(refusals) >= UNREACHABLE_TRIES and all(one is refusal for one, _ in refusals[-UNREACHABLE_TRIES:])
    return refusal is Refusal.DECLINED and refusals[-DECLINED_TRIES:] == [refusals[-1]] * DECLINED_TRIES
