"""What a comment remembers from push to push: read back from any hand, and never more than is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from publication_scene import Scene, scene

from opsdebug_ci.github.bot.body import MOST_REMEMBERED, decode_state, encode_state, ever_smaller
from opsdebug_ci.model.publication import AcceptedRegression, CommentState, ReportedHead


def edited(here: Scene, until: str | None) -> None:
    """Somebody who may edit the comment writes an acceptance into what it remembers."""
    (comment,) = here.ours
    marker, line, rest = comment.body.split("\n", 2)
    known = decode_state(comment.body)
    assert known is not None
    accepted = AcceptedRegression(operator="gelu", commit=here.head, by="mona", at="then", reason="", until=until)
    line = encode_state(replace(known, accepted=(accepted,)))
    here.server.state.comments[comment.id] = replace(comment, body=f"{marker}\n{line}\n{rest}")


@pytest.mark.parametrize("until", ["soon", "", "2027-12-31", "2027-12-31T00:00:00", "9" * 400])
def test_an_end_that_is_no_instant_stops_nothing(until: str) -> None:
    with scene() as here:
        here.publish(here.run("softmax:wrong"))
        edited(here, until)
        told = here.publish(here.run("softmax:pass", conclusion="success"))
        assert (told.conclusion, told.comment, "accepted" in here.body) == ("pass", "updated", False)


@pytest.mark.parametrize("until", [None, "2027-12-31T00:00:00+00:00"])
def test_an_end_that_is_to_come_counts(until: str | None) -> None:
    with scene() as here:
        here.publish(here.run("softmax:wrong"))
        edited(here, until)
        here.publish(here.run("softmax:pass", conclusion="success"))
        (comment,) = here.ours
        known = decode_state(comment.body)
        assert known is not None
        assert [one.operator for one in known.accepted] == ["gelu"]


def test_what_is_not_slower_this_time_is_not_said_to_be() -> None:
    """One run of a commit flagged it, and a person accepted that; another run of the same commit does not."""
    with scene() as here:
        here.publish(here.run("softmax:wrong"))
        edited(here, None)
        told = here.publish(here.run("softmax:pass gelu:pass", conclusion="success"))
        assert (told.conclusion, "slower" in here.body) == ("pass", False)


@pytest.mark.parametrize("doubt", ["inconclusive", "error"])
def test_what_cannot_be_decided_now_is_not_fixed(doubt: str) -> None:
    with scene() as here:
        here.publish(here.run("softmax:wrong softmax:pass*3 gelu:wrong"))
        here.push()
        here.publish(here.run(f"softmax:{doubt} softmax:pass*3 gelu:pass"))
        assert "1 fixed: gelu" in here.body
        assert "1 not judged this time: softmax" in here.body


def test_more_failures_than_could_ever_fit_cost_no_try() -> None:
    """A stranger's run may name millions, and each text that is offered remembers anew."""
    digests = tuple(f"{number:010x}" for number in range(MOST_REMEMBERED + 1))
    known = CommentState(
        version=1,
        stage="smoke",
        ci_run=1,
        run_number=1,
        attempt=1,
        conclusion="fail",
        body="",
        head=ReportedHead(commit="a" * 40, failures=(), regressed=(), unlisted=digests),
        complete=True,
    )
    assert [smaller.head.whole for smaller in ever_smaller(known)] == [False, False, False]
    fewer = replace(known, head=replace(known.head, unlisted=digests[1:]))
    assert [smaller.head.whole for smaller in ever_smaller(fewer)][:2] == [True, True]
    read = decode_state(f"marker\n{encode_state(known)}\n")
    assert read is not None
    assert read.head.had("any")
