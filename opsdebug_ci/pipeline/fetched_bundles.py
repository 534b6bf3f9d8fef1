"""Failure bundles of CI runs that somebody has fetched: artifacts below the directory of bundles, as they were left.

Decides the one command that fetches them, and where they are then found: `<run>/<artifact>/<aa>/<sha256>.opsbundle`, or
without the run. Whoever made them may have chosen every name, so nothing is followed that is a link, and only so much
is looked at. What a bundle says is not looked at here.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from opsdebug_ci.bundle.entry_name import SUFFIX, is_digest
from opsdebug_ci.bundle.place import OWN_DIRECTORY, BundlePlace
from opsdebug_ci.errors import UsageError

Found = TypeVar("Found", str, Path)

DIRECTORY = f"{OWN_DIRECTORY}/bundles"
"""Beside the configuration."""

ARTIFACTS = "opsdebug-bundles"
"""How the names of artifacts with bundles begin."""

MOST_DIRECTORIES = 256
"""In one: a run of GitHub's has at most 256 jobs of a matrix, and a byte has as many values."""

MOST_BUNDLES = 10_000
"""In one artifact: a run keeps one for each failing case, and tells of a hundred causes."""

_RUN = re.compile(r"[0-9]{3,19}")
"""Longer than the directories that bundles of this checkout are in."""

_ARTIFACT = re.compile(ARTIFACTS + r"[A-Za-z0-9._-]{0,200}")
_BYTE = re.compile(r"[0-9a-f]{2}")


def fetching(repository: str, run: int, host: str = "") -> str:
    """The command that fetches the bundles of a run, to be given beside the configuration.

    Args:
        repository: `owner/name`.
        run: id of the CI run.
        host: of its server; empty: the one that the command takes by itself.
    """
    whole = f"{host}/{repository}" if host else repository
    # NOTE: each run into a directory of its own, since `gh` overwrites no file and stops at the first that is there.
    return shlex.join(
        (
            "gh",
            "run",
            "download",
            str(run),
            "--repo",
            whole,
            "--pattern",
            f"{ARTIFACTS}*",
            "--dir",
            f"{DIRECTORY}/{run}",
        )
    )


def fetched_bundles(root: Path) -> Iterator[tuple[str, BundlePlace, str]]:
    """Every fetched bundle: its sha256, the place it is in, and that place in words.

    Args:
        root: directory of the configuration.

    Raises:
        UsageError: there are more than can come of CI runs.
    """
    directory = root / DIRECTORY
    runs = _below(directory, _RUN)
    above = (directory, *runs)
    artifacts = [*runs, *(artifact for path in above for artifact in _below(path, _ARTIFACT))]
    for artifact in artifacts:
        place, words = BundlePlace(artifact), artifact.relative_to(root).as_posix()
        for sha256 in _bounded(_digests(artifact), MOST_BUNDLES, artifact):
            yield sha256, place, words


def _digests(artifact: Path) -> Iterator[str]:
    for path in _below(artifact, _BYTE):
        with os.scandir(path) as entries:
            for entry in entries:
                digest = entry.name.removesuffix(SUFFIX)
                if entry.name != digest and is_digest(digest) and entry.is_file(follow_symlinks=False):
                    yield digest


def _below(directory: Path, names: re.Pattern[str]) -> tuple[Path, ...]:
    """Directories in `directory` with such names, in order; no links."""
    if directory.is_symlink() or not directory.is_dir():
        return ()
    with os.scandir(directory) as entries:
        found = (
            directory / entry.name
            for entry in entries
            if names.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        )
        return tuple(sorted(_bounded(found, MOST_DIRECTORIES, directory)))


def _bounded(found: Iterator[Found], most: int, where: Path) -> list[Found]:
    taken = list(islice(found, most + 1))
    if len(taken) > most:
        raise UsageError(
            f"`{where}` holds more than {most:,} directories or bundles; wanted what artifacts of CI runs hold",
            next_step="remove what is not needed any more from it",
        )
    return taken
