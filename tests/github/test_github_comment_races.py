"""Several reporters at once, and answers that get lost: one comment, with the newest data."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from bot_scene import COMMENTS, ONE_COMMENT, Scene, scene
from comment_states import state
from github_server import garbled, outage, reset, truncated
from github_server.faults import Effect

from opsdebug_ci.errors import GithubAmbiguousError
from opsdebug_ci.github.bot.body import decode_state
from opsdebug_ci.github.bot.convergence import CommentAction
from opsdebug_ci.github.bot.sticky_comment import ROUNDS, CommentOutcome

CREATED = CommentAction.CREATED
RACES = 50


def race(here: Scene, *runs: str) -> list[CommentOutcome]:
    """Reporters of several runs, none of which sees a comment before all are about to create one."""
    gate = here.server.barrier("POST", COMMENTS, len(runs))
    with ThreadPoolExecutor(len(runs)) as pool:
        begun = [pool.submit(here.publish, state(run), [f"run {run}"]) for run in runs]
        outcomes = [one.result() for one in begun]
    assert gate.met
    return outcomes


def only(here: Scene) -> str:
    """The run that the only comment is of."""
    (comment,) = here.comments
    kept = decode_state(comment.body)
    assert kept is not None
    assert comment.body.endswith(f"run {kept.run_number}.{kept.attempt}\n")
    return f"{kept.run_number}.{kept.attempt}"


def test_two_that_create_at_once_end_with_one_comment_and_the_newest_data() -> None:
    """A13."""
    lost = []
    with scene() as here:
        for n in range(RACES):
            older, newer = f"{n}.1", f"{n}.2"
            outcomes = race(here, *((older, newer) if n % 2 else (newer, older)))
            if only(here) != newer or {outcome.url for outcome in outcomes} == {""}:
                lost.append(n)
            here.server.state.comments.clear()
    assert lost == []


@pytest.mark.parametrize("runs", [("1.1", "2.1", "3.1"), ("3.1", "1.1", "2.1"), ("2.1", "2.1", "2.1", "2.1")])
def test_more_than_two_do_too(runs: tuple[str, ...]) -> None:
    with scene() as here:
        race(here, *runs)
        assert only(here) == max(runs)


def test_one_that_updates_while_another_does() -> None:
    with scene() as here:
        here.publish(state("1.1"), ["run 1.1"])
        gate = here.server.barrier("PATCH", ONE_COMMENT, 2)
        with ThreadPoolExecutor(2) as pool:
            begun = [pool.submit(here.publish, state(run), [f"run {run}"]) for run in ("3.1", "2.1")]
            for one in begun:
                one.result()
        assert gate.met
        assert only(here) == "3.1"


LOST: dict[str, Callable[[], Effect]] = {
    "502 after acting": lambda: outage(502, acted=True),
    "502 before": lambda: outage(502),
    "503 as a page": lambda: outage(503, acted=True, page=True),
    "reset after acting": lambda: reset(acted=True),
    "reset before": reset,
    "cut": truncated,
    "no JSON": garbled,
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_is_lost_makes_no_second_comment(name: str, times: int) -> None:
    """A15: looked for before it is tried again."""
    with scene() as here:
        here.server.fail("POST", COMMENTS, LOST[name](), count=times)
        assert here.publish(state("1.1"), ["run 1.1"]).action is CREATED
        assert only(here) == "1.1"
        created = [one for one in here.server.asked("POST") if "before" not in name and one.status != 0]
        assert len(created) <= 1


def test_a_lost_answer_in_a_race_makes_no_second_comment() -> None:
    with scene() as here:
        here.server.fail("POST", COMMENTS, outage(502, acted=True), count=2)
        race(here, "1.1", "2.1")
        assert only(here) == "2.1"


def test_a_server_that_never_answers_clearly_is_given_up() -> None:
    with scene() as here:
        here.server.fail("POST", COMMENTS, outage(502), count=99)
        with pytest.raises(GithubAmbiguousError):
            here.publish(state("1.1"))
        assert len(here.server.asked("POST")) == ROUNDS
        assert here.comments == []
