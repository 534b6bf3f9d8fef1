"""Slow drift over real commits, by hand: an operator becomes 3 % slower five times, a commit a day, and every night the
full stage runs on the commit of the day, on the ladder and on its store.

    python tests/endurance/slow_drift.py
    python tests/endurance/slow_drift.py --level-nights 15

Ends with 0 when the drift was found within a week of the first slow commit, in a range that holds all slow commits so
far. Before it lie ten days of commits that change nothing; `--level-nights` runs the stage on the last of them too,
from fifteen on with enough history for that to tell drift by itself. A night takes about 100 s on two busy cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "pipeline"), str(HERE.parents[1])]

from pipeline_notation import HOME, Tally, job  # noqa: E402 - found through the path above

from opsdebug_ci.model import Stage  # noqa: E402 - as above
from opsdebug_ci.model.performance import PerformanceDocument  # noqa: E402 - as above
from opsdebug_ci.model.speed import Comparing, Comparison, SpeedVerdict  # noqa: E402 - as above
from opsdebug_ci.pipeline.ci import run_stage  # noqa: E402 - as above
from opsdebug_ci.pipeline.selection import Selection  # noqa: E402 - as above
from opsdebug_ci.pipeline.world import World  # noqa: E402 - as above
from opsdebug_ci.plan import load_configuration  # noqa: E402 - as above

QUIET_DAYS = 10
"""Days of commits before the first slow one: the ladder reaches back a week."""

STEPS = 5
"""Slow commits."""

WEEK = 7
"""Nights from the first slow commit on."""

PASSES = 100
"""Passes over the scratch tensor that the operator makes at first; one per cent of its time each."""

OPERATOR = """
import torch

from opsdebug_ci import operator, tensor

SCRATCH = torch.ones(16_384)


@operator(kind="elementwise", x=tensor("N"), dims={{"N": 4096}}, dtypes=("float32",))
def double(x):
    for _ in range({passes}):
        torch.mul(SCRATCH, 1.0, out=SCRATCH)
    return x + x


@double.reference("torch")
def _(x):
    return 2 * x
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One commit."""

    number: int
    """Days since the first slow commit; negative before."""

    commit: str
    """Full hash."""

    passes: int
    """What the operator does."""


def main() -> int:
    """Make the commits, run the nights, say what was found."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--level-nights", type=int, default=0, metavar="N")
    level_nights = arguments.parse_args().level_nights
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "kernels"
        days = _history(place, quiet=max(QUIET_DAYS, level_nights))
        known = {day.commit: day for day in days}
        found: list[str] = []
        for day in days:
            if day.number >= -level_nights:
                performance = _night(place, day, Path(directory))
                told = _told(performance, known)
                sys.stdout.write(f"day {day.number:+d}, {day.passes} passes, {day.commit[:7]}\n")
                sys.stdout.writelines(f"    {line}\n" for line in told)
                sys.stdout.flush()
                if day.number >= 0:
                    found += _proofs(performance, day, known)
        sys.stdout.write("\n".join(found or ["the drift was not found within the week"]) + "\n")
        return 0 if found else 1


def _history(place: Path, *, quiet: int) -> list[Day]:
    """A repository with a commit a day: `quiet` of them level, five slower ones, then level ones to the end of the
    week."""
    place.mkdir()
    _git(place, "init", "--quiet", "--initial-branch=main")
    (place / "opsdebug.toml").write_text('operators = ["kernels.py"]\ndevices = ["cpu"]\n')
    (place / ".gitignore").write_text("baselines/\n.opsdebug/\n__pycache__/\n")
    days = []
    for number in range(-quiet, WEEK):
        passes = round(PASSES * 1.03 ** min(max(number + 1, 0), STEPS))
        (place / "kernels.py").write_text(OPERATOR.format(passes=passes))
        (place / "NEWS").write_text(f"day {number}\n")
        _git(place, "add", "--all")
        _git(place, "commit", "--quiet", "--message", f"day {number}", at=_committed(number))
        days.append(Day(number=number, commit=_git(place, "rev-parse", "HEAD"), passes=passes))
    return days


def _night(place: Path, day: Day, scratch: Path) -> PerformanceDocument:
    """The full stage on the commit of that day, two hours after it."""
    _git(place, "checkout", "--quiet", "-B", "main", day.commit)
    environ = {**os.environ, **job(scratch, "schedule", **HOME), "GITHUB_SHA": day.commit}
    at = _committed(day.number) + timedelta(hours=2)
    clock = iter(range(0, 10**9))
    world = World(
        directory=place,
        environ=environ,
        now=lambda: at + timedelta(seconds=next(clock)),
        entropy=os.urandom,
        monotonic_ns=time.monotonic_ns,
        progress=Tally(),
    )
    outcome = run_stage(Selection(stage=Stage.FULL), load_configuration(place), world)
    performance = outcome.document.performance
    if performance is None:
        raise SystemExit(f"the stage said nothing of speed: {outcome.document.notes}")
    return performance


def _told(performance: PerformanceDocument, known: dict[str, Day]) -> list[str]:
    """Every rung with its verdict, then the history."""
    run = performance.comparison
    arms = {} if run is None else {arm.name: arm.commit for arm in run.arms}
    rungs = [] if run is None else [one for one in run.comparisons if one.case.operator == "double"]
    lines = [f"{one.base} (day {known[arms[one.base]].number:+d}): {one.verdict}, {one.statement}" for one in rungs]
    histories = [f"history: {reading.statement}" for reading in performance.history]
    notes = [f"note: {note}" for note in performance.notes]
    return lines + histories + (notes if not rungs else [])


def _proofs(performance: PerformanceDocument, day: Day, known: dict[str, Day]) -> list[str]:
    """Regressions against an older commit, with the range in which the drift lies."""
    run = performance.comparison
    if run is None:
        return []
    arms = {arm.name: known[arm.commit] for arm in run.arms}
    slow = [one for one in run.comparisons if _is_drift(one)]
    return [
        f"found on day {day.number:+d}: {one.statement}; between {arms[one.base].commit[:7]} "
        f"(day {arms[one.base].number:+d}) and {day.commit[:7]}"
        for one in slow
        if arms[one.base].number < 0  # the first slow commit is above the base: all there are lie between
    ]


def _is_drift(one: Comparison) -> bool:
    return one.why is Comparing.LADDER and one.verdict is SpeedVerdict.REGRESSED


def _committed(number: int) -> datetime:
    return datetime(2026, 6, 15, 1, tzinfo=timezone.utc) + timedelta(days=number)


def _git(place: Path, *words: str, at: datetime | None = None) -> str:
    dated = {} if at is None else {"GIT_AUTHOR_DATE": at.isoformat(), "GIT_COMMITTER_DATE": at.isoformat()}
    identity = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *words], cwd=place, env={**os.environ, **dated}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
