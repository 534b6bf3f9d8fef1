"""What a writer does next, given what it sees."""

from __future__ import annotations

import pytest
from comment_states import comment, state

from opsdebug_ci.github.bot.body import compose, visible_hash
from opsdebug_ci.github.bot.convergence import NO_RUNG, CommentAction, Step, Text, is_newer, next_step, seen_among
from opsdebug_ci.model.publication import CommentState


def body(order: str, text: str = "theirs") -> str:
    return compose("default", state(order, body=visible_hash(text)), text)


OFFER = (Text(rung=0, body=body("5.2", "mine")), Text(rung=1, body=body("5.2", "short")))


def step(*bodies: str, written: bool = False, may_create: bool = True) -> Step:
    seen = seen_among([comment(number + 1, text) for number, text in enumerate(bodies)])
    return next_step(seen, OFFER, state("5.2"), may_create=may_create, written=written)


def test_the_oldest_is_the_comment_and_the_newest_data_is_remembered() -> None:
    seen = seen_among([comment(3, body("4.1")), comment(1, body("2.1")), comment(2, "<!-- edited away -->")])
    assert seen.canonical is not None
    assert (seen.canonical.id, [one.id for one in seen.duplicates]) == (1, [2, 3])
    assert seen.state == state("4.1", body=visible_hash("theirs"))


def test_nothing_there() -> None:
    assert step() == Step(action=CommentAction.CREATED, texts=OFFER)
    assert step(may_create=False) == Step(action=CommentAction.NOT_WANTED)


@pytest.mark.parametrize(
    ("bodies", "written", "wanted"),
    [
        (["mine"], False, Step(action=CommentAction.UNCHANGED, rung=0)),
        (["short"], False, Step(action=CommentAction.UNCHANGED, rung=1)),
        (["5.1"], False, Step(action=CommentAction.UPDATED, texts=OFFER)),
        (["5.1"], True, Step(action=CommentAction.UPDATED, texts=OFFER)),
        (["5.2"], False, Step(action=CommentAction.UPDATED, texts=OFFER)),
        (["5.2"], True, Step(action=CommentAction.UNCHANGED, rung=NO_RUNG)),
        (["5.3"], False, Step(action=CommentAction.KEPT_NEWER)),
        (["5.3", "mine"], True, Step(action=CommentAction.KEPT_NEWER)),
        (["mine", "5.3"], True, Step(action=CommentAction.KEPT_NEWER, texts=(Text(rung=NO_RUNG, body=body("5.3")),))),
        (["nothing", "mine"], True, Step(action=CommentAction.UPDATED, texts=OFFER)),
        (["nothing"], True, Step(action=CommentAction.UPDATED, texts=OFFER)),
    ],
    ids=str,
)
def test_next(bodies: list[str], written: bool, wanted: Step) -> None:
    texts = {"mine": OFFER[0].body, "short": OFFER[1].body, "nothing": "<!-- opsdebug-ci:v1 id=default -->"}
    assert step(*(texts.get(one) or body(one) for one in bodies), written=written) == wanted


ORDERED = [state(order) for order in ("1.1", "1.2", "2.1", "9.1", "10.1", "10.9", "10.10")]


@pytest.mark.parametrize("older", range(len(ORDERED)))
@pytest.mark.parametrize("newer", range(len(ORDERED)))
def test_order(older: int, newer: int) -> None:
    assert is_newer(ORDERED[newer], ORDERED[older]) is (newer > older)


@pytest.mark.parametrize("changes", [{"workflow": "other.yml"}, {"stage": "full"}])
def test_run_numbers_of_other_workflows_and_stages_are_not_compared(changes: dict[str, object]) -> None:
    mine: CommentState = state("500.1", ci_run=10)
    other = state("3.1", ci_run=11, **changes)
    assert is_newer(other, mine) and not is_newer(mine, other)
