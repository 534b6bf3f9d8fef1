"""What a comment remembers from push to push: read back from any hand, and never more than is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from github_server.records import Run
from publication_notation import slower
from publication_scene import NUMBER, REPOSITORY, Scene, scene
from shard_notation import cases, run_of, shard_of

from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.github.bot.body import MOST_REMEMBERED, compose, decode_state, encode_state, ever_smaller
from opsdebug_ci.model import Verdict
from opsdebug_ci.model.publication import AcceptedRegression, CommentState, ReportedHead
from opsdebug_ci.pipeline.publication.publish import publish
from opsdebug_ci.pipeline.publication.request import PublishRequest


def edited(here: Scene, until: str | None) -> None:
    """Somebody who may edit the comment writes an acceptance into what it remembers."""
    (comment,) = here.ours
    marker, line, rest = comment.body.split("\n", 2)
    known = decode_state(comment.body)
    assert known is not None
    accepted = AcceptedRegression(operator="gelu", commit=here.head, by="mona", at="then", reason="", until=until)
    line = encode_state(replace(known, accepted=(accepted,)))
    here.server.state.comments[comment.id] = replace(comment, body=f"{marker}\n{line}\n{rest}")


def remembered(here: Scene) -> list[str]:
    """Operators of acceptances in what the comment remembers."""
    (comment,) = here.ours
    known = decode_state(comment.body)
    assert known is not None
    return [one.operator for one in known.accepted]


@pytest.mark.parametrize("until", ["soon", "", "2027-12-31", "2027-12-31T00:00:00", "9" * 400])
def test_an_end_that_is_no_instant_stops_nothing(until: str) -> None:
    with scene() as here:
        here.publish(here.run("softmax:wrong"))
        edited(here, until)
        told = here.publish(here.run("softmax:pass", conclusion="success"))
        assert (told.conclusion, told.comment, "accepted" in here.body) == ("pass", "updated", False)


@pytest.mark.parametrize("until", [None, "2027-12-31T00:00:00+00:00"])
def test_an_end_that_is_an_instant_is_read(until: str | None) -> None:
    with scene() as here:
        here.publish(here.run("softmax:wrong"))
        edited(here, until)
        assert remembered(here) == ["gelu"]


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


def flagged(here: Scene) -> Run:
    """A run that found `layer_norm` slower."""
    run = here.run("gelu:pass", but=[1])
    found = slower(run_of(cases("layer_norm:pass gelu:pass")), "layer_norm")
    gating = replace(found, summary=replace(found.summary, verdict=Verdict.FAIL, exit_code=1))
    here.upload(run, here.claimed(shard_of(gating), run))
    return run


def accepted(here: Scene) -> AcceptedRegression:
    return AcceptedRegression(operator="layer_norm", commit=here.head, by="mona", at="2026-11-30T12", reason="exact")


def test_a_comment_alone_accepts_nothing() -> None:
    """Other workflows write under the same name, and some repeat what anybody wrote."""
    with scene() as here:
        run = flagged(here)
        known = CommentState(
            version=1,
            stage="smoke",
            ci_run=1,
            run_number=0,
            attempt=1,
            conclusion="accepted",
            body="",
            head=ReportedHead(commit=here.head, failures=(), regressed=("layer_norm",)),
            complete=True,
            accepted=(accepted(here),),
        )
        here.server.comment(REPOSITORY, NUMBER, compose("default", known, "x"), author="github-actions[bot]")
        told = here.publish(run)
        assert (told.conclusion, [check.conclusion for check in here.checks()]) == ("regressed", ["action_required"])
        assert here.publish(run).conclusion == "regressed"


def test_what_was_accepted_stays_so_when_the_run_is_told_again() -> None:
    with scene() as here:
        run = flagged(here)
        assert here.publish(run).conclusion == "regressed"
        api = open_client(api_url=here.server.url, token=here.token, clock=here.clock)
        asked = PublishRequest(run_id=run.id)
        assert publish(asked, api, here.clock, here.world(), accepted=[accepted(here)]).conclusion == "accepted"
        assert [here.publish(run).conclusion for _ in range(2)] == ["accepted", "accepted"]
        assert [check.conclusion for check in here.checks()] == ["neutral"]


def test_what_is_not_slower_this_time_is_not_said_to_be() -> None:
    """One attempt flagged it, and a person accepted that; the next does not."""
    with scene() as here:
        run = flagged(here)
        here.publish(run)
        api = open_client(api_url=here.server.url, token=here.token, clock=here.clock)
        publish(PublishRequest(run_id=run.id), api, here.clock, here.world(), accepted=[accepted(here)])
        assert "Slower, and accepted" in here.body
        told = here.publish(here.run("layer_norm:pass gelu:pass", of=run, conclusion="success"))
        assert (told.conclusion, "lower" in here.body, remembered(here)) == ("pass", False, ["layer_norm"])
