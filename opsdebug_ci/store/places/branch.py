"""A store on a branch of a git repository, which nobody ever checks out.

Decides what the branch is asked for and when. It shares no history with the code; files come and go by plumbing in
repositories of our own (`git.scratch`), so a work tree, its index and its configuration are never touched. Only trees
are fetched, and of the files those that are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TypeVar, final

from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.git.address import Address, hide_credentials, read_address
from opsdebug_ci.git.command import Ended
from opsdebug_ci.git.origin import origin
from opsdebug_ci.git.patience import Patience
from opsdebug_ci.git.refusal import Refusal, refusal_of
from opsdebug_ci.git.remote import Remote, remote_at
from opsdebug_ci.git.repository import NO_COMMIT, Repository
from opsdebug_ci.git.scratch import scratch
from opsdebug_ci.store.files.layout import MARKER, read_bundle_path
from opsdebug_ci.store.places.backend import Backend, Mirror, StoreEntry, StoreFile, Told, untold
from opsdebug_ci.store.places.branch_change import Change, check_version, make_change
from opsdebug_ci.store.places.branch_refusal import refused
from opsdebug_ci.store.places.cache import store_place
from opsdebug_ci.store.places.mirroring import ListEntries, ReadMany, mended, mirrored

Answer = TypeVar("Answer")

BUNDLE_LIMIT_BYTES = 1024 * 1024
"""Largest bundle on a branch: whoever clones the repository with all branches gets every one of them."""

READING = Patience(tries=4, limit_s=60.0)
"""A reader has nothing to lose, and often a copy of last time: it does not wait long."""

_LOCATION = re.compile(r"branch:(?P<name>[^@]*)(?:@(?P<address>.*))?", re.DOTALL)
_NAME = re.compile(r"(?!HEAD$)(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)))[A-Za-z0-9_][A-Za-z0-9._/+-]*(?<![./])")
"""Names that git takes (git-check-ref-format(1)), without those that need quoting somewhere."""


@final
class BranchBackend(Backend):
    """A branch of a repository's remote, or of another repository.

    Args:
        location: `branch:NAME`: of the remote `origin` of the repository around `root`, or of that repository itself
            when it has no remote; `branch:NAME@ADDRESS`: of the repository at a URL, `host:path` or path.
        root: directory of the configuration.
        environ: environment variables.
        writing: how long a writer tries.
        reading: how long a reader tries.

    Raises:
        UsageError: the location has another form.
    """

    def __init__(
        self,
        location: str,
        root: Path,
        environ: Mapping[str, str],
        *,
        writing: Patience = Patience(),  # noqa: B008 - a frozen value
        reading: Patience = READING,
    ) -> None:
        found = _LOCATION.fullmatch(location)
        if not found or not _NAME.fullmatch(found["name"]):
            raise UsageError(
                f"`store` is `{hide_credentials(location)!a}`; wanted branch:NAME or branch:NAME@URL, with a name "
                "that git takes for a branch",
                next_step="set `store` to e.g. `branch:opsdebug-baselines`",
            )
        self._branch = found["name"]
        self._named: Address | None = None if found["address"] is None else read_address(found["address"], root)
        self._root = root
        self._environ = environ
        self._writing = writing
        self._reading = reading
        self._remote: Remote | None = None
        self._seen: tuple[str, Mapping[str, str]] = (NO_COMMIT, {})

    @property
    def location(self) -> str:
        return f"branch:{self._branch}@{self._named.shown}" if self._named else f"branch:{self._branch}"

    @property
    def bundle_limit_bytes(self) -> int | None:
        return BUNDLE_LIMIT_BYTES

    def exists(self) -> bool:
        with self._repository(keep=True) as repository:
            return bool(self._look(repository))

    def check_writable(self) -> None:
        path = self._at().address.path
        for objects in (path / "objects", path / ".git" / "objects") if path else ():
            if objects.is_dir() and not os.access(objects, os.W_OK):
                raise refused(Refusal.UNWRITABLE, f"no permission for {objects}", self.location, 1, writing=True)
        self._change(Change(rehearse=True), self._reading)

    def add(self, files: Sequence[StoreFile]) -> None:
        self._change(Change(added=files), self._writing)

    def exchange(self, added: Sequence[StoreFile], removed: Sequence[str]) -> None:
        self._change(Change(added=added, removed=removed, rewrite=True), self._writing)

    def entries(self) -> tuple[StoreEntry, ...]:
        with self._repository(keep=True) as repository:
            return self._entries(repository, self._look(repository))

    def read(self, path: str) -> bytes:
        with self._repository(keep=True) as repository:
            commit, files = self._seen
            if path not in files or not repository.has(commit):
                files = self._look(repository)
            if path not in files:
                raise StoreError(
                    f"store `{self.location}` has no `{path}`; wanted a file that is there",
                    next_step="`opsdebug baselines verify` says what else is missing or damaged",
                )
            return next(data for _, data in self._contents(repository, [path]))

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        with self._repository(keep=True) as repository:
            files = self._look(repository)
            yield from self._contents(repository, [path for path in paths if path in files])

    def mend(self, paths: Collection[str], told: Told = untold) -> bool:
        with ExitStack() as stack:
            return mended(*self._copying(stack), self._place(), paths, told)

    def mirror(self, told: Told = untold) -> Mirror:
        with ExitStack() as stack:
            return mirrored(self.location, *self._copying(stack), self._place(), told)

    def _copying(self, stack: ExitStack) -> tuple[ListEntries, ReadMany]:
        """How the copy learns what there is, and gets it, from a repository that `stack` gives back."""
        repositories: list[Repository] = []

        def listed() -> tuple[StoreEntry, ...]:
            # NOTE: not before the copy is ours alone, so that whoever waits for it finds what is fetched here.
            repositories.append(stack.enter_context(self._repository(keep=True)))
            files = self._look(repositories[-1])
            if not files:
                raise self._no_store()
            kept = {path: name for path, name in files.items() if read_bundle_path(path) is None}
            return self._entries(repositories[-1], kept)

        def read(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            return self._contents(repositories[-1], paths)

        return listed, read

    def _look(self, repository: Repository) -> Mapping[str, str]:
        """Path -> object of the store as it is now; empty where there is none."""
        commit = self._patiently(lambda: repository.fetch(self._branch))
        files = repository.files(commit)
        marker = files.get(MARKER)
        if marker is not None:
            self._patiently(lambda: check_version(marker, (), repository, commit, self.location))
        self._seen = (commit, files if marker is not None else {})
        return self._seen[1]

    def _entries(self, repository: Repository, files: Mapping[str, str]) -> tuple[StoreEntry, ...]:
        """Entries of files; of bundles, which are not fetched for it, without sizes."""
        named = {path: name for path, name in files.items() if read_bundle_path(path) is None}
        self._fetch_contents(repository, list(named.values()))
        sizes = repository.sizes(list(dict.fromkeys(named.values())))
        known = {path: sizes[name] for path, name in named.items()}
        return tuple(StoreEntry(path=path, size_bytes=known.get(path)) for path in sorted(files))

    def _contents(self, repository: Repository, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Path and bytes of files that were seen."""
        _, files = self._seen
        named: dict[str, list[str]] = {}
        for path in paths:
            named.setdefault(files[path], []).append(path)
        self._fetch_contents(repository, list(named))
        for name, data in repository.contents(list(named)):
            yield from ((path, data) for path in named[name])

    def _fetch_contents(self, repository: Repository, objects: Sequence[str]) -> None:
        self._patiently(lambda: repository.fetch_contents(self._seen[0], objects))

    def _patiently(self, ask: Callable[[], Answer | Ended]) -> Answer:
        """What the remote answers, asked again where that may help."""
        said: list[str] = []
        for _ in self._reading.attempts():
            answer = ask()
            if not isinstance(answer, Ended):
                return answer
            said.append(answer.said)
            if self._meaning(answer.said).final:
                break
        raise refused(self._meaning(said[-1]), said[-1], self.location, len(said), writing=False)

    def _meaning(self, said: str) -> Refusal:
        """Nobody declines to be read but for good, so what else may pass is trouble on the way, and so is a missing
        directory: a disk that is not mounted."""
        refusal = refusal_of(said)
        away = refusal is Refusal.MISSING and self._at().address.path is not None
        return Refusal.UNREACHABLE if away or not refusal.final else refusal

    def _change(self, change: Change, patience: Patience) -> None:
        with self._repository(keep=False) as repository:
            make_change(change, self._branch, repository, self.location, patience)

    def _repository(self, *, keep: bool) -> AbstractContextManager[Repository]:
        return scratch(self._place(), self._at(), keep=keep)

    def _place(self) -> Path:
        return store_place(self._environ, f"branch\0{self._at().address.given}\0{self._branch}")

    def _at(self) -> Remote:
        if self._remote is None:
            address = self._named or origin(self._root)
            self._remote = remote_at(address, self._environ, believed=self._named is not None)
        return self._remote

    def _no_store(self) -> StoreError:
        return StoreError(
            f"no store at `{self.location}`: nothing was stored on this branch of {self._at().address.shown} yet; "
            "wanted the branch of an earlier run",
            next_step="make one with `opsdebug ci --stage smoke` where baselines are recorded, or set `store` to where "
            "it is",
        )
