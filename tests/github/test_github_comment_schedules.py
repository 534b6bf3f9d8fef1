"""Every order in which two reporters can take their steps, and many orders of three: one comment, with the newest data.

The writers are ours; what they write on is a list in memory, so that a test decides who goes next. A pause ends only
when nobody else has a step to take: what is shown is what holds as long as a request takes less time than a pause.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest
from bot_scene import JOB, NUMBER, REPOSITORY
from comment_states import comment, state

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.records import Comment
from opsdebug_ci.github.bot.body import compose, decode_state, visible_hash
from opsdebug_ci.github.bot.sticky_comment import read_comments, write_comment
from opsdebug_ci.model.publication import CommentState


class Schedule:
    """Lets one writer at a time take one step."""

    def __init__(self, choices: list[int]) -> None:
        self.choices = choices
        self.waiting: dict[int, bool] = {}
        """By writer that waits for its turn: it is in a pause."""

        self.turn: int | None = None
        self.changed = threading.Condition()

    def wait(self, writer: int, *, pause: bool) -> None:
        with self.changed:
            self.waiting[writer] = pause
            self.turn = None
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: self.turn == writer, timeout=10)
            del self.waiting[writer]

    def run(self, writers: list[threading.Thread]) -> None:
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            with self.changed:
                self.changed.wait_for(lambda: self._all_wait(writers), timeout=0.5)
                busy = sorted(one for one, pause in self.waiting.items() if not pause)
                ready = busy or sorted(self.waiting)
                if ready and self._all_wait(writers):
                    self.turn = ready[(self.choices.pop() if self.choices else 0) % len(ready)]
                    self.changed.notify_all()
                    self.changed.wait_for(lambda: self.turn is None, timeout=10)

    def _all_wait(self, writers: list[threading.Thread]) -> bool:
        return len(self.waiting) == sum(writer.is_alive() for writer in writers)

    def left(self) -> None:
        with self.changed:
            self.turn = None
            self.changed.notify_all()


@dataclass
class Board:
    """Comments in memory."""

    comments: dict[int, Comment] = field(default_factory=dict)
    made: int = 0

    def add(self, body: str) -> Comment:
        self.made += 1
        self.comments[self.made] = comment(self.made, body)
        return self.comments[self.made]


@dataclass
class Turns:
    """One writer's way to the board, and its clock."""

    board: Board
    schedule: Schedule
    writer: int

    def pages(self, *_: object) -> Any:
        self.schedule.wait(self.writer, pause=False)
        return tuple(self.board.comments.values())

    def post(self, _path: str, _kind: object, body: Mapping[str, object]) -> Any:
        self.schedule.wait(self.writer, pause=False)
        return self.board.add(str(body["body"]))

    def patch(self, path: str, _kind: object, body: Mapping[str, object]) -> Any:
        self.schedule.wait(self.writer, pause=False)
        number = int(path.rsplit("/", 1)[1])
        if number not in self.board.comments:
            raise GithubRefusedError("not found", status=404)
        self.board.comments[number] = replace(self.board.comments[number], body=str(body["body"]))
        return self.board.comments[number]

    def delete(self, path: str) -> None:
        self.schedule.wait(self.writer, pause=False)
        self.board.comments.pop(int(path.rsplit("/", 1)[1]), None)

    def sleep(self, _seconds: float) -> None:
        self.schedule.wait(self.writer, pause=True)

    def jitter(self) -> float:
        return 0.0


def left_by(there: list[str], runs: tuple[str, ...], choices: list[int]) -> list[str]:
    """Runs that the comments are of, after writers of `runs` have met comments of `there` in this order of steps."""
    board, schedule = Board(), Schedule(choices)
    for run in there:
        board.add(compose("default", known(run), run))

    def write(writer: int) -> None:
        api: Any = Turns(board, schedule, writer)
        seen = read_comments(api, REPOSITORY, NUMBER, "default", JOB)
        texts, given = [runs[writer]], state(runs[writer])
        write_comment(
            api, REPOSITORY, NUMBER, "default", JOB, seen=seen, rungs=texts, state=given, may_create=True, clock=api
        )
        finished.append(writer)
        schedule.left()

    finished: list[int] = []
    schedule.run([threading.Thread(target=write, args=(writer,), daemon=True) for writer in range(len(runs))])
    assert sorted(finished) == list(range(len(runs)))
    kept = [decode_state(one.body) for one in board.comments.values()]
    return [f"{one.run_number}.{one.attempt}" for one in kept if one is not None]


def known(run: str) -> CommentState:
    return state(run, body=visible_hash(run))


STEPS = 6
"""Choices that are enumerated; later ones favour the first writer. Until then both have written."""


@pytest.mark.parametrize("there", [[], ["1.1"], ["1.1", "1.2"], ["1.2", "1.1"]], ids=str)
@pytest.mark.parametrize("runs", [("2.1", "3.1"), ("2.2", "2.2")], ids=str)
def test_two_in_every_order(there: list[str], runs: tuple[str, ...]) -> None:
    left = {order: left_by(there, runs, list(order)) for order in product((0, 1), repeat=STEPS)}
    assert {order: found for order, found in left.items() if found != [max(runs)]} == {}


@pytest.mark.parametrize("there", [[], ["1.1"], ["1.1", "9.1"]], ids=str)
def test_three_in_many_orders(there: list[str]) -> None:
    draw = random.Random(7)
    for _ in range(80):
        choices = [draw.randrange(6) for _ in range(40)]
        runs = tuple(draw.sample(["2.1", "3.1", "4.1"], 3))
        newest = max(*there, *runs)
        assert left_by(there, runs, list(choices)) == [newest], (runs, choices)
