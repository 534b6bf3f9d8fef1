"""pytest-benchmark by its defaults: the base is run and saved, then the head, which fails where min is 10 % higher."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import final

import msgspec
from repository import PROJECT, Repository
from rules import Judgement, Ran, Reading, Rule, RuleError, command
from single_process import environment
from trials import Answer

FAILURE = re.compile(r"test_speed\[(?P<operator>\w+)\][^\n]* - Field 'min' has failed (?P<said>[^\n]*)")
"""A line of its list of regressions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Of one benchmark; seconds."""

    min: float
    """Shortest round."""

    median: float
    """Median round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark of a saved run."""

    param: str
    """The operator."""

    stats: Stats
    """What it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The part of a saved run that is read."""

    benchmarks: list[Benchmark]
    """In the order run."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PytestBenchmark(Rule):
    """pytest-benchmark."""

    python: str
    """Interpreter that has it, torch and numpy."""

    every: int = 3
    """Asked in every third round: an odd number, so that it meets every kind of round."""

    @property
    def name(self) -> str:
        return "pytest-benchmark, min:10%"

    def judge(self, repository: Repository) -> Judgement:
        store = repository.scratch / "pytest"
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir()
        before = self._run(repository.base, store, "base")
        if before.code:
            raise RuleError(f"the base ended with exit code {before.code}: {before.tail}")
        after = self._run(
            repository.head, store, "head", "--benchmark-compare=0001", "--benchmark-compare-fail=min:10%"
        )
        return judgement(after, _saved(store / "base.json"), _saved(store / "head.json"))

    def _run(self, tree: Path, store: Path, arm: str, *options: str) -> Ran:
        tests = store / f"test_speed_{arm}" / "test_speed.py"
        tests.parent.mkdir()
        shutil.copy(PROJECT / "pytest_benchmarks.py", tests)
        words = [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tests.parent}"]
        places = [f"--benchmark-storage=file://{store}/saved", f"--benchmark-save={arm}"]
        written = [f"--benchmark-json={store}/{arm}.json"]
        around = environment(PYTHONPATH=str(tree), PYTEST_ADDOPTS="")
        return command([*words, *places, *written, *options, tests], folder=tests.parent, environment=around)


def _saved(path: Path) -> Saved:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Saved)
    except (OSError, msgspec.DecodeError) as error:
        raise RuleError(f"{path.name}: {error}") from error


def judgement(after: Ran, base: Saved, head: Saved) -> Judgement:
    """What the head's run says, beside the numbers of both.

    Raises:
        RuleError: it failed, but not for regressions; or the benchmarks of both are not the same.
    """
    said = {match["operator"]: match["said"] for match in FAILURE.finditer(after.out + after.err)}
    if bool(after.code) != bool(said):
        raise RuleError(f"exit code {after.code} with {len(said)} regressions named: {after.tail}")
    earlier = {one.param: one.stats for one in base.benchmarks}
    later = {one.param: one.stats for one in head.benchmarks}
    if earlier.keys() != later.keys():
        raise RuleError(f"the base has {sorted(earlier)}, the head {sorted(later)}; wanted the same")
    return Judgement(
        readings=tuple(
            Reading(
                operator=name,
                answer=Answer.REGRESSED if name in said else Answer.QUIET,
                said=said.get(name, ""),
                ratio=later[name].min / earlier[name].min,
                base_ns=earlier[name].min * 1e9,
            )
            for name in earlier
        ),
        processes=2,
    )
