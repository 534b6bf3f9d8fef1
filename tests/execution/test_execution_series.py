"""Tries of one case: few to a worker, each told once, and no more than are wanted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from execution_notation import MakePool, make_case

from opsdebug_ci.errors import InternalError
from opsdebug_ci.execution import Series, WorkerPool
from opsdebug_ci.model import Observation, Status
from opsdebug_ci.model.message import RunCase


class Watched:
    """What the tries of one series came to."""

    def __init__(self, operator: str, tries: int, *, most: int = 1000) -> None:
        self.observations: list[Observation] = []
        self.series = Series(
            key=operator,
            requests=(RunCase(case=make_case(operator)),) * tries,
            more=lambda: len(self.observations) < most,
            seen=self.observations.append,
        )


def test_a_worker_makes_five_tries(pool: WorkerPool) -> None:
    watched = Watched("pid", 12)
    assert list(pool.series([watched.series])) == ["pid"] * 3
    assert sorted(Counter(seen.reason for seen in watched.observations).values()) == [2, 5, 5]


def test_a_worker_that_has_seen_no_case_is_fresh_enough(pool: WorkerPool) -> None:
    first, second = Watched("pid", 1), Watched("pid", 1)
    list(pool.series([first.series]))
    list(pool.series([second.series]))
    [before], [after] = first.observations, second.observations
    assert before.reason != after.reason


def test_a_try_that_kills_its_worker_is_a_try(pool: WorkerPool) -> None:
    watched = Watched("segfault", 3)
    list(pool.series([watched.series]))
    assert [seen.status for seen in watched.observations] == [Status.CRASHED] * 3


def test_no_more_tries_than_wanted(pool: WorkerPool) -> None:
    watched, other = Watched("pid", 12, most=3), Watched("add", 2)
    assert sorted(pool.series([watched.series, other.series])) == ["add", *["pid"] * 3]
    assert (len(watched.observations), len(other.observations)) == (3, 2)


def test_leaving_early_takes_back_the_rest(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool(workers=1)
    pool.describe(["kernels.py"], tmp_path)
    watched = Watched("pid", 50)
    answers = pool.series([watched.series])
    next(answers)
    answers.close()
    assert len(watched.observations) < 50


def test_series_before_describe_is_our_own_mistake(make_pool: MakePool) -> None:
    with pytest.raises(InternalError, match="`series` was called before `describe`"):
        next(make_pool().series([]))
