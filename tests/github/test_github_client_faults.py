"""Scripts of faults, in numbers: one comment, up to date whenever the server let one through, in bounded time."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from bot_scene import COMMENTS
from fault_scripts import BEGINNINGS, DEADLINE_S, KINDS, PASSING, SLOW, Play, Script, play, play_all, script, summary
from github_server import stalled

from opsdebug_ci.errors import GithubAmbiguousError
from opsdebug_ci.github.api.interface import Api

Value = TypeVar("Value")

SAMPLE = range(60)
ALL = range(500)


def judged(plays: list[Play]) -> str:
    text = summary(plays)
    assert [one.script.seed for one in plays if one.wrong] == [], text
    return text


def test_a_sample_of_the_scripts() -> None:
    plays = play_all(SAMPLE)
    judged(plays)
    assert sum(bool(one.hit) for one in plays) > len(plays) / 2
    assert sum(not one.error for one in plays) > len(plays) / 3


@pytest.mark.slow
def test_every_script() -> None:
    plays = play_all(ALL)
    judged(plays)
    met = {name for one in plays for name in one.hit}
    assert met == {effect.name for effect in (*PASSING.values(), *SLOW.values())}, "each fault, at least once"
    assert {one.script.beginning for one in plays} == set(BEGINNINGS)
    assert {one.error for one in plays} >= {"", "GithubRefusedError", "GithubUnreachableError"}


def test_a_script_is_the_same_every_time_and_no_two_are() -> None:
    assert [script(seed) for seed in ALL] == [script(seed) for seed in ALL]
    assert len({(one.beginning, one.spoiled, one.requests) for one in map(script, ALL)}) > 0.9 * len(ALL)


class Careless:
    """A client that sends a POST again when it does not know what became of it: the defect that is looked for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.get, self.pages, self.patch = api.get, api.pages, api.patch
        self.delete, self.download = api.delete, api.download

    def post(self, path: str, kind: type[Value], body: Mapping[str, object]) -> Value:
        try:
            return self._api.post(path, kind, body)
        except GithubAmbiguousError:
            return self._api.post(path, kind, body)


def one_post(effect: str) -> Script:
    post = KINDS.index(("POST", COMMENTS))
    return Script(seed=-1, beginning="nothing", spoiled=((post, (effect,)),), requests=None)


@pytest.mark.parametrize(
    "effect", ["502 after acting", "reset after acting", "truncated", "no JSON", "late, after acting", "without end"]
)
def test_a_client_that_sends_again_is_noticed_and_ours_does_not(effect: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        theirs, own = pool.submit(play, one_post(effect), Careless), pool.submit(play, one_post(effect))
        assert "2 comments were created where 0 were" in theirs.result().wrong
        assert own.result().wrong == ()


@pytest.mark.parametrize("effect", ["502", "reset", "429", "secondary with a time"])
def test_a_post_that_was_not_obeyed_is_made_good(effect: str) -> None:
    done = play(one_post(effect))
    assert (done.wrong, done.error) == ((), "")


def test_a_post_that_is_obeyed_after_everybody_gave_it_up_is_put_right_by_the_next_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody can prevent this second comment: while it was looked for, it was not there."""
    monkeypatch.setitem(SLOW, "late", stalled(1.5 * DEADLINE_S))
    done = play(one_post("late"))
    assert [text for text in done.wrong if "next run" in text] == []
