"""One run of the head against a stored run of the base: medians, as they are or divided by a copy of memory.

The most common home-made gates. What is stored is the base's run of the round before, the newest a nightly job
would have; the base is run once in every round for the next. Both rules judge the same two runs.
"""

from __future__ import annotations

from typing import final

from repository import Repository, git
from rules import Judgement, Reading, Rule, RuleError
from single_process import Measured, measure
from trials import Answer, Launch

LIMIT = 1.10
"""Ratio above which both raise an alarm."""


@final
class SingleRuns:
    """One run of each commit per round, for both rules, and the base's of the round before."""

    def __init__(self, python: str, newest: Measured) -> None:
        self._python = python
        self._newest = newest
        self._head = ""
        self._pair: tuple[Measured, Measured] | None = None

    @property
    def newest(self) -> Measured:
        """The last run of the base."""
        return self._newest

    def pair(self, repository: Repository) -> tuple[Measured, Measured]:
        """The stored run of the base and this head's; both commits are run once when the head is a new one.

        Raises:
            RuleError: they cannot be run.
        """
        head = git(repository.head, "rev-parse", "HEAD")
        if head != self._head:
            self._head, self._pair = head, None
            now = measure(repository.head, self._python)
            stored, self._newest = self._newest, measure(repository.base, self._python)
            self._pair = stored, now
        if self._pair is None:
            raise RuleError("the two commits could not be run, as was said before")
        return self._pair


@final
class Stored(Rule):
    """Median against stored median, divided by the copy of memory or not."""

    def __init__(self, runs: SingleRuns, *, divided: bool = False) -> None:
        self._runs = runs
        self._divided = divided

    @property
    def name(self) -> str:
        return "stored median / memcpy > 1.10" if self._divided else "stored median > 1.10"

    def judge(self, repository: Repository) -> Judgement:
        return judgement(*self._runs.pair(repository), divided=self._divided)


def judgement(stored: Measured, head: Measured, *, divided: bool) -> Judgement:
    """What the rule says of two runs."""
    common = head.probe_ns / stored.probe_ns if divided else 1.0
    return Judgement(readings=tuple(_reading(name, stored, head, common) for name in head.kernels), processes=2)


def _reading(name: str, stored: Measured, head: Measured, common: float) -> Reading:
    ratio = head.median_ns(name) / stored.median_ns(name) / common
    runs = {"base": stored, "head": head}
    return Reading(
        operator=name,
        answer=Answer.REGRESSED if ratio > LIMIT else Answer.QUIET,
        said=f"{ratio:.3f}, copy of memory {head.probe_ns / stored.probe_ns:.3f}",
        ratio=ratio,
        base_ns=stored.median_ns(name),
        launches=tuple(
            Launch(arm=arm, part="run", min_ns=run.min_ns(name), median_ns=run.median_ns(name))
            for arm, run in runs.items()
        ),
    )
