"""One bare repository of our own: trees, commits, and what goes to and comes from the remote.

Decides the orders that git gets. There is no work tree and no checkout, so nothing is filtered and no hook has a reason
to run; objects are made from bytes and left as bytes. Orders to the remote answer how they ended, for the caller to
judge; those to the repository itself have no reason to fail but the disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.errors import StoreError
from opsdebug_ci.git.command import LAST_WORDS, Ended, run
from opsdebug_ci.git.remote import NAME, Remote

NO_COMMIT = ""
"""Stands for the commit of a branch that is not there."""

BATCH_BYTES = 32 * 1024 * 1024
"""Bytes of contents that are read in one go, about."""

_TIP = "refs/opsdebug/tip"
_NEXT = "refs/opsdebug/next"
_NO_BRANCH = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_FILE = re.compile(rb"100(?:644|755) blob ([0-9a-f]+)\t(.*)", re.DOTALL)

_NO_MORE: Mapping[str, str] = {}
_NOBODY = "opsdebug-ci <opsdebug-ci@localhost>"
"""Whose the commits are: a program's, whoever runs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A bare repository that belongs to one process."""

    path: Path
    """Its directory."""

    remote: Remote
    """Where it fetches from and pushes to."""

    def fetch(self, branch: str) -> Ended | str:
        """Fetch the newest commit of a branch and its trees, without what is in the files.

        Returns:
            The commit, NO_COMMIT where there is no such branch, or how it ended when it could not be told.
        """
        refspec = f"+refs/heads/{branch}:{_TIP}"
        words = ("fetch", "--depth=1", "--filter=blob:none", "--force", "--write-fetch-head", *_QUIETLY)
        ended = self._at_remote(*words, NAME, refspec)
        if ended.code == 0:
            return (self.path / "FETCH_HEAD").read_text().split()[0]
        return NO_COMMIT if _NO_BRANCH.search(ended.said) else ended

    def fetch_contents(self, commit: str, objects: Sequence[str]) -> Ended | None:
        """Fetch those of `objects`, which belong to `commit`, that are not here; how it ended when it went wrong."""
        if not objects:
            return None
        listed = self._told("rev-list", "--objects", "--no-object-names", "--missing=print", commit).decode().split()
        absent = {name[1:] for name in listed if name.startswith("?")}
        wanted = sorted(absent.intersection(objects))
        if not wanted:
            return None
        names = "".join(f"{name}\n" for name in wanted).encode()
        options = ("-c", "fetch.negotiationAlgorithm=noop")
        ended = self._at_remote(
            *options, "fetch", "--filter=blob:none", *_QUIETLY, "--no-write-fetch-head", "--stdin", NAME, stdin=names
        )
        return ended if ended.code else None

    def has(self, commit: str) -> bool:
        """The commit is here."""
        words = ("cat-file", "-e", f"{commit}^{{commit}}")
        return commit != NO_COMMIT and run(self.path, *words, environment=self._local()).code == 0

    def files(self, commit: str) -> dict[str, str]:
        """Path -> object of every regular file of a commit."""
        if commit == NO_COMMIT:
            return {}
        found = {}
        for line in self._told("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            if match := _FILE.fullmatch(line):
                found[match[2].decode(errors="surrogateescape")] = match[1].decode()
        return found

    def sizes(self, objects: Sequence[str]) -> dict[str, int]:
        """Object -> size in bytes, of objects that are here."""
        printed = self._told("cat-file", "--batch-check", stdin=_lines(objects)).decode()
        return {line.split()[0]: int(line.split()[2]) for line in printed.splitlines()}

    def contents(self, objects: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Object and its bytes, of objects that are here, each once."""
        sizes = self.sizes(list(dict.fromkeys(objects)))
        batch: list[str] = []
        held = 0
        for name, size in sizes.items():
            batch.append(name)
            held += size
            if held >= BATCH_BYTES:
                yield from self._batch(batch)
                batch, held = [], 0
        if batch:
            yield from self._batch(batch)

    def keep(self, contents: Sequence[bytes]) -> list[str]:
        """Make objects of bytes; their names in the same order."""
        places = [self.path / f"content-{number}" for number in range(len(contents))]
        try:
            for place, data in zip(places, contents, strict=True):
                place.write_bytes(data)
            named = _lines([place.name for place in places])
            return self._told("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=named).decode().split()
        except OSError as error:
            raise self._failed("hash-object", error.strerror or str(error)) from error
        finally:
            for place in places:
                place.unlink(missing_ok=True)

    def commit(self, base: str, added: Mapping[str, str], removed: Sequence[str], parent: str, message: str) -> str:
        """Make a commit.

        Args:
            base: the commit whose files it has, or NO_COMMIT.
            added: path -> object, which replaces what is there.
            removed: paths that it does not have.
            parent: the commit before it, or NO_COMMIT.
            message: its message.
        """
        lines = [f"commit {_NEXT}", "mark :1", f"committer {_NOBODY} now", f"data {len(message.encode())}", message]
        if parent:
            lines.append(f"from {parent}")
        if base and base != parent:
            tree = self._told("rev-parse", "--verify", f"{base}^{{tree}}").decode().strip()
            lines.append(f"M 040000 {tree} ")
        lines += [f"D {_quoted(path)}" for path in removed]
        lines += [f"M 100644 {name} {_quoted(path)}" for path, name in added.items()]
        orders = "".join(f"{line}\n" for line in [f"reset {_NEXT}", "", *lines, "get-mark :1"])
        # NOTE: one process instead of four, which count where many write at once; it needs no file but those added.
        words = ("-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--force", "--date-format=now")
        return self._told(*words, stdin=orders.encode(errors="surrogateescape")).decode().strip()

    def push(self, commit: str, branch: str, expected: str, *, rehearse: bool = False) -> Ended:
        """Make `commit` the newest of a branch of the remote, if `expected` (or NO_COMMIT) is that now."""
        ref = f"refs/heads/{branch}"
        rehearsed = ("--dry-run",) if rehearse else ()
        # NOTE: a thin pack may be a difference to files of the remote, which are not here.
        return self._at_remote(
            "push",
            "--quiet",
            "--no-thin",
            "--no-verify",
            *rehearsed,
            f"--force-with-lease={ref}:{expected}",
            NAME,
            f"{commit}:{ref}",
        )

    def _batch(self, objects: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        printed = self._told("cat-file", "--batch", stdin=_lines(objects))
        at = 0
        for name in objects:
            begin = printed.index(b"\n", at) + 1
            size = int(printed[at : begin - 1].split()[2])
            yield name, printed[begin : begin + size]
            at = begin + size + 1

    def _at_remote(self, *words: str, stdin: bytes = b"") -> Ended:
        ended = run(self.path, *words, environment=self.remote.environment, stdin=stdin)
        said = self.remote.without_secrets(ended.said)
        return Ended(code=ended.code, output=ended.output, said=said)

    def _told(self, *words: str, stdin: bytes = b"", variables: Mapping[str, str] = _NO_MORE) -> bytes:
        ended = run(self.path, *words, environment={**self._local(), **variables}, stdin=stdin)
        if ended.code:
            raise self._failed(words[0], self.remote.without_secrets(ended.said.strip())[-LAST_WORDS:])
        return ended.output

    def _local(self) -> dict[str, str]:
        """Variables for git where it is to look at what is here, and at nothing else."""
        shy = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
        return {**self.remote.environment, **shy}

    def _failed(self, word: str, found: str) -> StoreError:
        return StoreError(
            f"`git {word}` in {self.path}: got `{found}`; wanted it to succeed",
            next_step="free space there, or set OPSDEBUG_CACHE to another directory; what is kept there may be deleted",
        )


_QUIETLY = (
    "--quiet",
    "--no-tags",
    "--no-auto-maintenance",
    "--recurse-submodules=no",
)
"""A fetch that leaves nothing but objects."""


def _quoted(path: str) -> str:
    """A path as git-fast-import(1) takes any."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _lines(objects: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in objects).encode()
