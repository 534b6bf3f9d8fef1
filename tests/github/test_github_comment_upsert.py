"""One comment: found among many, never a stranger's, brought up to date, and never set back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bot_scene import COMMENTS, JOB, NUMBER, ONE_COMMENT, REPOSITORY, Scene, scene
from comment_states import WORKFLOW, state
from github_server import Answer, answered, outage, secondary_rate_limit, too_many_requests
from scripted_github import Clock

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.bot.author import JOB_LOGIN, Author, whoami
from opsdebug_ci.github.bot.body import compose, decode_state, is_ours, marker_line, visible_hash
from opsdebug_ci.github.bot.convergence import NO_RUNG, CommentAction
from opsdebug_ci.github.bot.sticky_comment import CommentOutcome, read_comments

CREATED, UPDATED, UNCHANGED = CommentAction.CREATED, CommentAction.UPDATED, CommentAction.UNCHANGED
KEPT_NEWER, NOT_WANTED = CommentAction.KEPT_NEWER, CommentAction.NOT_WANTED
FAIL, PASS = "**opsdebug: fail**", "**opsdebug: pass**"


def shown(here: Scene) -> str:
    """What people see of our only comment."""
    (comment,) = here.ours
    return comment.body.split("\n\n", 1)[1].strip()


def test_the_account_of_a_job_and_of_a_person() -> None:
    with scene() as here:
        assert whoami(here.client()) == JOB
        robot = here.server.token(login="opsdebug-robot", kind="person")
        assert whoami(replace(here, token=robot).client()) == Author(login="opsdebug-robot", is_app=False)


def test_created_then_unchanged_then_updated() -> None:
    with scene() as here:
        first = here.publish(state("1.1"), [FAIL])
        (comment,) = here.ours
        assert first == CommentOutcome(
            url=f"{here.server.html}/{REPOSITORY}/pull/7#issuecomment-{comment.id}", action=CREATED, body_rung=0
        )
        assert comment.body == compose("default", state("1.1", body=visible_hash(FAIL)), FAIL)
        assert here.publish(state("1.1"), [FAIL]).action is UNCHANGED
        assert here.publish(state("2.1"), [PASS]) == replace(first, action=UPDATED)
        assert shown(here) == PASS
        assert [len(here.server.asked(verb)) for verb in ("POST", "PATCH", "DELETE")] == [1, 1, 0]


def test_what_it_costs() -> None:
    with scene() as here:
        for change, calls in ((state("1.1"), 3), (state("1.1"), 1), (state("2.1"), 4)):
            before = len(here.server.requests)
            here.publish(change)
            assert len(here.server.requests) - before == calls


def test_none_is_created_where_none_is_wanted_but_one_that_is_there_is_kept_up_to_date() -> None:
    with scene() as here:
        assert here.publish(state("1.1"), may_create=False) == CommentOutcome(
            url="", action=NOT_WANTED, body_rung=NO_RUNG
        )
        assert here.server.asked("POST") == ()
        here.publish(state("1.1"))
        assert here.publish(state("2.1"), [PASS], may_create=False).action is UPDATED
        assert shown(here) == PASS


@pytest.mark.parametrize("late", ["1.1", "1.9", "2.1"])
def test_what_is_older_never_overwrites(late: str) -> None:
    with scene() as here:
        here.publish(state("2.2"), [PASS])
        assert here.publish(state(late), [FAIL]).action is KEPT_NEWER
        assert shown(here) == PASS
        assert here.server.asked("PATCH") == ()


@pytest.mark.parametrize("next_one", ["2.2", "2.3", "3.1", "10.1"])
def test_what_is_as_new_or_newer_does(next_one: str) -> None:
    with scene() as here:
        here.publish(state("2.2"), [FAIL])
        assert here.publish(state(next_one), [PASS]).action is UPDATED
        assert shown(here) == PASS


def test_runs_of_two_workflows_are_ordered_by_their_ids() -> None:
    other = replace(state("500.1"), workflow=".github/workflows/other.yml", ci_run=100)
    with scene() as here:
        here.publish(replace(state("3.1"), ci_run=101), [PASS])
        assert here.publish(other, [FAIL]).action is KEPT_NEWER
        assert here.publish(replace(other, ci_run=102), [FAIL]).action is UPDATED
        assert other.workflow != WORKFLOW


def test_what_was_seen_long_ago_is_looked_at_again_before_it_is_overwritten() -> None:
    with scene() as here:
        here.publish(state("1.1"), [FAIL])
        long_ago = read_comments(here.client(), REPOSITORY, NUMBER, "default", JOB)
        here.publish(state("3.1"), [PASS])
        assert here.publish(state("2.1"), [FAIL], seen=long_ago).action is KEPT_NEWER
        assert shown(here) == PASS


def test_one_that_was_overwritten_by_an_older_run_in_between_is_written_again() -> None:
    class Meddling(Clock):
        def sleep(self, seconds: float) -> None:
            Clock.sleep(self, seconds)
            if len(self.sleeps) == 1:
                here.edit(here.ours[0], compose("default", state("1.2"), FAIL))

    with scene() as here:
        here.publish(state("1.1"), [FAIL])
        assert here.publish(state("2.1"), [PASS], clock=Meddling()).action is UPDATED
        assert shown(here) == PASS


def test_suites_have_a_comment_each() -> None:
    with scene() as here:
        here.publish(state("1.1"), suite="gpu")
        assert here.publish(state("1.1"), suite="cpu").action is CREATED
        assert here.publish(state("2.1"), suite="gpu").action is UPDATED
        assert [is_ours(comment.body, "gpu") for comment in here.ours] == [True, False]


def test_comments_of_strangers_are_left_alone() -> None:
    """A10: the marker, whole and earlier than ours, even with a state newer than any."""
    body = compose("default", state("999.9"), "**opsdebug: pass**")
    with scene() as here:
        strangers = [
            here.server.comment(REPOSITORY, NUMBER, body, author=who) for who in ("mallory", "dependabot[bot]", None)
        ]
        assert here.publish(state("1.1")).action is CREATED
        assert here.publish(state("2.1"), [PASS]).action is UPDATED
        assert here.comments[:3] == strangers
        assert shown(here) == PASS


def test_a_reply_that_quotes_ours_is_left_alone() -> None:
    """A11: quoted by a person, and by a bot under the same account as ours."""
    quoted = "> " + compose("default", state("9.9"), FAIL).replace("\n", "\n> ")
    with scene() as here:
        here.publish(state("1.1"))
        replies = [
            here.server.comment(REPOSITORY, NUMBER, text, author=who)
            for who in ("octocat", JOB_LOGIN)
            for text in (quoted, f"See {marker_line('default')}", f"\n{marker_line('default')}")
        ]
        assert here.publish(state("2.1"), [PASS]).action is UPDATED
        assert here.comments[1:] == replies
        assert here.comments[0].body.endswith(f"{PASS}\n")


def test_ours_is_found_on_the_fourth_page() -> None:
    """A12."""
    with scene() as here:
        for n in range(350):
            here.server.comment(REPOSITORY, NUMBER, f"comment {n}")
        here.publish(state("1.1"))
        for n in range(350, 400):
            here.server.comment(REPOSITORY, NUMBER, f"comment {n}")
        before = len(here.server.asked("GET", COMMENTS))
        read_comments(here.client(), REPOSITORY, NUMBER, "default", JOB)
        assert len(here.server.asked("GET", COMMENTS)) - before == 5
        assert here.publish(state("2.1"), [PASS]).action is UPDATED
        assert shown(here) == PASS
        assert len(here.comments) == 401


def test_duplicates_of_ours_are_healed_into_the_oldest_with_the_newest_data() -> None:
    with scene() as here:
        for order, text in (("1.1", FAIL), ("5.1", PASS), ("3.1", FAIL)):
            here.server.comment(REPOSITORY, NUMBER, compose("default", state(order), text), author=JOB_LOGIN)
        person = here.server.comment(REPOSITORY, NUMBER, compose("default", state("4.1"), FAIL), author="octocat")
        oldest = here.comments[0]
        outcome = here.publish(state("4.1"), [FAIL])
        assert (outcome.action, outcome.notes) == (KEPT_NEWER, ())
        assert [comment.id for comment in here.comments] == [oldest.id, person.id]
        assert shown(here) == PASS
        assert decode_state(here.ours[0].body) == state("5.1")


def test_an_unchanged_comment_still_loses_its_duplicates() -> None:
    with scene() as here:
        here.publish(state("2.1"))
        here.server.comment(REPOSITORY, NUMBER, compose("default", state("1.1"), FAIL), author=JOB_LOGIN)
        assert here.publish(state("2.1")).action is UNCHANGED
        assert len(here.ours) == 1


def test_a_duplicate_that_may_not_be_removed_is_told() -> None:
    with scene() as here:
        here.publish(state("2.1"))
        here.server.comment(REPOSITORY, NUMBER, compose("default", state("1.1"), FAIL), author=JOB_LOGIN)
        forbidden = Answer(status=403, value={"message": "Forbidden", "documentation_url": "https://docs"})
        here.server.fail("DELETE", ONE_COMMENT, answered(forbidden))
        outcome = here.publish(state("3.1"), [PASS])
        assert outcome.action is UPDATED
        (note,) = outcome.notes
        assert note.startswith("a second comment of ours could not be removed: DELETE ")


def test_one_that_was_deleted_meanwhile_is_made_anew_if_it_is_wanted() -> None:
    with scene() as here:
        here.publish(state("1.1"))
        seen = read_comments(here.client(), REPOSITORY, NUMBER, "default", JOB)
        here.server.state.comments.clear()
        assert here.publish(state("2.1"), seen=seen, may_create=False).action is NOT_WANTED
        assert here.ours == []
        assert here.publish(state("2.1"), seen=seen).action is CREATED
        assert len(here.ours) == 1


def test_one_that_goes_away_under_the_pen_is_made_anew() -> None:
    gone = Answer(status=404, value={"message": "Not Found", "documentation_url": "https://docs"})
    with scene() as here:
        here.publish(state("1.1"))
        here.server.fail("PATCH", ONE_COMMENT, answered(gone))
        assert here.publish(state("2.1"), [PASS]).action is UPDATED
        assert shown(here) == PASS


@pytest.mark.parametrize("looks", [1, 2, 9])
def test_a_list_that_lags_behind_makes_no_second_comment(looks: int) -> None:
    with scene() as here:
        here.server.fail("GET", COMMENTS, answered(Answer(value=[])), first=1, count=1 + looks)
        assert here.publish(state("1.1")).action is CREATED
        assert len(here.ours) == 1
        assert len(here.server.asked("POST")) == 1


def test_a_text_that_a_person_edited_is_put_right() -> None:
    with scene() as here:
        here.publish(state("1.1"), [FAIL])
        here.edit(here.ours[0], here.ours[0].body.replace("fail", "pass").replace("\n", "\r\n"))
        assert here.publish(state("1.1"), [FAIL]).action is UPDATED
        assert shown(here) == FAIL


def test_line_ends_of_an_editor_are_no_change() -> None:
    with scene() as here:
        here.publish(state("1.1"), [FAIL])
        here.edit(here.ours[0], here.ours[0].body.replace("\n", "\r\n"))
        assert here.publish(state("1.1"), [FAIL]).action is UNCHANGED


RUNGS = ["x" * 300_000, "é" * 32_000, "y" * 1_000, FAIL]


@pytest.mark.parametrize(("limit", "rung"), [(400_000, 1), (65_000, 1), (64_000, 2), (1_000, 3), (10, 3)])
def test_the_fullest_rung_that_fits_in_bytes_is_taken(limit: int, rung: int) -> None:
    """A25. The first would fit into 400,000 bytes, but the server refuses it: then the next is tried."""
    with scene() as here:
        outcome = here.publish(state("1.1"), RUNGS, limit_bytes=limit)
        assert (outcome.action, outcome.body_rung) == (CREATED, rung)
        assert shown(here) == RUNGS[rung]
        assert is_ours(here.ours[0].body, "default")
        stored = decode_state(here.ours[0].body)
        assert stored is not None and stored.body == visible_hash(RUNGS[rung])
        assert here.publish(state("1.1"), RUNGS, limit_bytes=limit) == replace(outcome, action=UNCHANGED)


def test_a_refusal_of_the_last_rung_is_told() -> None:
    too_long = Answer(status=422, value={"message": "Body is too long", "documentation_url": "https://docs"})
    with scene() as here:
        here.server.fail("POST", COMMENTS, answered(too_long), count=9)
        with pytest.raises(GithubRefusedError, match="Body is too long"):
            here.publish(state("1.1"), RUNGS)
        assert here.ours == []
        assert len(here.server.asked("POST")) == 3


def test_a_token_that_may_not_write_is_told_and_nothing_else_is_tried() -> None:
    with scene() as here:
        reader = replace(here, token=here.server.token(permissions={"pull-requests": "read"}, repository=REPOSITORY))
        with pytest.raises(GithubRefusedError, match="Resource not accessible") as caught:
            reader.publish(state("1.1"))
        assert caught.value.status == 403
        assert "pull-requests: write" in caught.value.next_step
        assert len(here.server.asked("POST")) == 1


@pytest.mark.parametrize(
    "effect", [outage(502), outage(502, acted=True), too_many_requests(), too_many_requests(3), secondary_rate_limit()]
)
def test_a_rewriting_that_fails_at_first_is_done(effect: object) -> None:
    """A16."""
    with scene() as here:
        here.publish(state("1.1"))
        here.server.fail("PATCH", ONE_COMMENT, effect)  # type: ignore[arg-type]  # effects of the fake
        assert here.publish(state("2.1"), [PASS]).action is UPDATED
        assert shown(here) == PASS
        assert len(here.server.asked("PATCH")) == 2
