"""The formats of history that are understood, and which of them a file is of.

Adding a format is one file in this package and one line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.imports import asv, github_action_benchmark, google_benchmark, pytest_benchmark
from opsdebug_ci.store.imports.history import HistoryFormat, LeftOut, SourceFile, SourceHistory, SourceRun
from opsdebug_ci.store.imports.measured import COMMIT
from opsdebug_ci.store.imports.source_text import read_source, refuse

FORMATS: Mapping[str, HistoryFormat] = {
    one.name: one
    for one in (
        pytest_benchmark.FORMAT,
        asv.FORMAT,
        google_benchmark.FORMAT,
        github_action_benchmark.FORMAT,
    )
}
"""Every format by the name of its tool."""

AUTO = "auto"
"""Find out by the outermost keys."""


AHEAD = timedelta(days=1)
"""How far ahead of our clock a run may be: another time zone, taken for UTC, makes up to 14 hours."""


def read_history(path: Path, wanted: str = AUTO, commit: str = "", now: datetime | None = None) -> SourceHistory:
    """Everything another tool recorded in a file, or in a directory of such files.

    Args:
        path: the file; or the directory, in which, and in whose directories, every JSON is of one format.
        wanted: name of a format, or AUTO.
        commit: full hash for a file that names none.
        now: runs dated later than AHEAD of it are left out; None: no date is too late.

    Raises:
        UsageError: the file cannot be read, is of no format that is understood, or not as its format says; or no
            commit, or another one, is known of it.
    """
    given = _checked(commit)
    files = _files(path)
    format_ = FORMATS[wanted] if wanted != AUTO else _recognised(files[0])
    for file in files:
        if not format_.recognises(file.document):
            refuse(
                file.path, f"a file that is not of {format_.name}", f"one of {format_.name}", "see docs/importing.md"
            )
    history = format_.read(files)
    runs = tuple(
        run if run.commit and given in ("", run.commit) else replace(run, commit=_only(run.commit, given, path))
        for run in history.runs
        if run.times and not _is_ahead(run, now)
    )
    ahead = sum(len(run.times) for run in history.runs if _is_ahead(run, now))
    left_out = {**history.left_out, LeftOut.FUTURE: ahead} if ahead else history.left_out
    return replace(history, runs=runs, left_out=left_out)


def _is_ahead(run: SourceRun, now: datetime | None) -> bool:
    return now is not None and run.started_at - now > AHEAD


def _files(path: Path) -> list[SourceFile]:
    if not path.is_dir():
        return [read_source(path)]
    found = sorted(file for pattern in ("*.json", "*/*.json") for file in path.glob(pattern))
    results = [file for file in found if file.name not in (asv.DESCRIPTIONS, asv.MACHINE)]
    if not results:
        refuse(path, "a directory without results", "one with JSON files of one tool", "name the file itself")
    return [read_source(file) for file in results]


def _recognised(file: SourceFile) -> HistoryFormat:
    found = [one for one in FORMATS.values() if one.recognises(file.document)]
    if len(found) != 1:
        refuse(file.path, "keys of no format that is understood", f"a file of {', '.join(FORMATS)}", "see `--format`")
    return found[0]


def _checked(commit: str) -> str:
    if commit and not (COMMIT.fullmatch(commit) and len(commit) in (40, 64)):
        raise UsageError(
            f"`--commit` is `{commit[:80]}`; wanted the full hash of a commit, 40 or 64 digits",
            next_step="print it with `git rev-parse REVISION`",
        )
    return commit.lower()


def _only(named: str, given: str, path: Path) -> str:
    """The commit of a run that names none, or of one that is given another."""
    if named:
        raise UsageError(
            f"`--commit` is `{given}`, but `{path}` says `{named}`; wanted one of both",
            next_step="leave `--commit` out: it is for files that name no commit",
        )
    if not given:
        raise UsageError(
            f"cannot import `{path}`: it names no commit; wanted the one that was measured",
            next_step="give it with `--commit HASH`",
        )
    return given
