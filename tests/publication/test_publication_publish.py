"""A pull request from its first run to its last, as the report job sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from github_server.records import Run
from publication_scene import NUMBER, REPOSITORY, Scene, scene
from shard_notation import cases, divided, known

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model import RecordedFailure
from opsdebug_ci.model.publication import CommentPolicy
from opsdebug_ci.model.vocabulary import Gate
from opsdebug_ci.pipeline.publication.publish import publish
from opsdebug_ci.pipeline.publication.request import PublishRequest


def test_a_fork_from_its_first_push_to_its_fix() -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:pass*4 softmax:wrong*2", shards=3))
        assert (told.conclusion, told.exit_code, told.comment, told.pull_request) == ("fail", 1, "created", NUMBER)
        assert "softmax" in here.body
        (check,) = here.checks()
        assert (check.name, check.status, check.conclusion) == ("opsdebug smoke", "completed", "failure")

        here.push()
        told = here.publish(here.run("gelu:pass*4 softmax:pass*2", shards=3, conclusion="success"))
        assert (told.conclusion, told.exit_code, told.comment) == ("pass", 0, "updated")
        assert "ixed" in here.body
        assert [check.conclusion for check in here.checks()] == ["success"]


def test_a_clean_first_run_says_nothing_beyond_the_check() -> None:
    for policy in CommentPolicy:
        with scene() as here:
            told = here.publish(here.run("gelu:pass*4", conclusion="success"), policy=policy)
            assert (told.conclusion, here.ours, len(here.checks())) == ("pass", [], 1)


def repairing(here: Scene, *, but: Sequence[int] = ()) -> Run:
    """A run in which everything passes, in three shards, and of which two cases failed at the baseline."""
    run = here.run("", conclusion="success", but=(1,))
    shards = divided(cases("gelu:pass*2 halved:pass*4"), 3)
    ids = sorted(each.case.id for one in shards for each in one.run.observations if each.case.operator == "halved")
    failure = RecordedFailure(
        fingerprint=f"v2:{'a' * 16}", operator="halved", cause="tail_mask", commit="a" * 40, cases=tuple(ids[:2])
    )
    for shard in shards:
        if shard.shard not in but:
            told = replace(shard.run, recorded=(failure,), baseline="a" * 40)
            here.upload(run, here.claimed(replace(shard, run=told), run))
    return run


@pytest.mark.parametrize(("policy", "comments"), [(CommentPolicy.AUTO, 0), (CommentPolicy.CHANGES, 1)])
def test_a_change_that_mends_the_baseline_is_told_so(policy: CommentPolicy, comments: int) -> None:
    words = "1 fixed since the baseline"
    with scene() as here:
        told = here.publish(repairing(here), policy=policy)
        assert (told.conclusion, len(here.ours)) == ("pass", comments)
        assert f"{words}, " in told.summary and "halved (tail_mask)." in told.summary
        (check,) = here.checks()
        assert words in check.title and words in check.summary
        assert all(words in comment.body for comment in here.ours)
    with scene() as here:
        told = here.publish(repairing(here, but=(2,)), policy=policy, expected=3)
        assert told.conclusion == "incomplete"
        assert "fixed" not in told.summary


def test_what_was_known_at_the_last_push_is_not_new_though_the_store_cannot_be_read_now() -> None:
    with scene() as here:
        here.publish(here.run("gelu:wrong softmax:fail", known=known("softmax:fail")))
        assert "known already" in here.body

        here.push()
        run = here.run("", but=(1,))
        (shard,) = divided(cases("gelu:wrong softmax:fail erf:fail"), 1)
        unread = replace(shard.run, baseline_doubt="1 file of the store cannot be read")
        here.upload(run, here.claimed(replace(shard, run=unread), run))
        here.publish(run)
        assert "- 1 new: erf (exception)\n" in here.body
        assert "- 2 still there: gelu (unknown) and softmax (exception)\n" in here.body


def test_the_same_run_again_changes_nothing() -> None:
    with scene() as here:
        run = here.run("softmax:wrong")
        here.publish(run)
        before = here.ours
        told = here.publish(run)
        assert (told.comment, here.ours) == ("unchanged", before)
        assert [check.status for check in here.checks()] == ["completed"]
        assert not here.server.asked("PATCH", "/repos/*/*/issues/comments/*")


def test_an_older_run_that_is_told_last_overwrites_nothing() -> None:
    with scene() as here:
        older, newer = here.run("softmax:wrong gelu:wrong"), here.run("softmax:wrong")
        here.publish(newer)
        before = here.ours
        assert (here.publish(older).comment, here.ours) == ("kept_newer", before)


def test_an_older_run_breaks_no_silence_of_a_newer_one() -> None:
    with scene() as here:
        older, newer = here.run("softmax:wrong"), here.run("softmax:pass", conclusion="success")
        here.publish(newer)
        assert (here.publish(older).comment, here.ours) == ("not_wanted", [])
        assert [check.conclusion for check in here.checks()] == ["success"]


def test_what_the_baseline_knows_is_shown_and_does_not_gate() -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:pass softmax:fail", known=known("softmax:fail"), conclusion="success"))
        assert (told.conclusion, told.exit_code, told.failures, here.ours) == ("pass", 0, 1, [])
        assert "nown" in told.summary


@pytest.mark.parametrize("shards", [2, 3])
def test_a_missing_shard_is_never_a_pass(shards: int) -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:pass*9", shards=shards, but=[2], conclusion="success"))
        assert (told.conclusion, told.exit_code) == ("incomplete", 4)
        assert [check.conclusion for check in here.checks()] == ["failure"]
        assert "shard 2" in here.body


def test_what_is_wrong_with_a_shard_is_told_once() -> None:
    with scene() as here:
        run = here.run("gelu:pass*12", shards=4, but=[1, 2, 3], conclusion="failure")
        broken = replace(
            here.claimed(divided(cases("gelu:pass*12"), 4)[1], run), run=None, error="no torch", exit_code=3
        )
        here.upload(run, broken)
        here.upload(run, here.claimed(divided(cases("gelu:pass*12"), 4)[2], run), b"{}")
        here.publish(run, expected=4)
        lines = [line for line in here.body.splitlines() if line.startswith("- shard ")]
        assert [line.partition(":")[0] for line in lines] == [
            "- shard 1 of 4 left nothing",
            "- shard 2 of 4 has no run",
            "- shard 3 of 4 left what cannot be taken",
        ]
        told = "\n".join(lines)
        assert (told.count("no torch"), here.body.count("no artifact opsdebug-v1-a1-s1of4")) == (1, 1)
        assert ": shard 2 of 4 has no run: no torch; 2 more are not there." in here.body


def test_no_shard_at_all_is_incomplete() -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:pass", but=[1]))
        assert (told.conclusion, told.exit_code) == ("incomplete", 4)


def test_expected_shards_count_whatever_the_names_say() -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:pass*9", shards=2, conclusion="success"), expected=3)
        assert told.conclusion == "incomplete"


def test_a_newer_attempt_takes_the_place_of_an_older_one_shard_by_shard() -> None:
    with scene() as here:
        run = here.run("gelu:pass*3 softmax:wrong", shards=2)
        here.publish(run)
        again = here.run("gelu:pass*3 softmax:pass", shards=2, of=run, conclusion="success")
        told = here.publish(again)
        assert (told.conclusion, told.comment) == ("pass", "updated")


@pytest.mark.parametrize("event", ["merge_group", "push", "schedule", "workflow_dispatch", "release"])
def test_other_events_have_a_check_and_no_comment(event: str) -> None:
    with scene(home=REPOSITORY) as here:
        told = here.publish(here.run("softmax:wrong", event=event))
        assert (told.conclusion, told.pull_request, here.ours, len(here.checks())) == ("fail", None, [], 1)


def test_never_gating_tells_the_same_and_ends_well() -> None:
    with scene() as here:
        told = here.publish(here.run("softmax:wrong"), gate=Gate.NEVER)
        assert (told.conclusion, told.exit_code, len(here.ours)) == ("fail", 0, 1)


@pytest.mark.parametrize("conclusion", ["action_required", "skipped"])
def test_nothing_is_said_of_a_run_in_which_nothing_ran(conclusion: str) -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:pass", conclusion=conclusion))
        assert (told.conclusion, here.ours, here.checks()) == ("", [], ())


def test_a_run_of_another_workflow_is_refused() -> None:
    with scene() as here, pytest.raises(UsageError, match="is of the workflow"):
        here.publish(here.run("gelu:pass"), workflow=".github/workflows/other.yml")


def test_a_dry_run_writes_nothing() -> None:
    with scene() as here:
        told = here.publish(here.run("softmax:wrong"), dry_run=True)
        assert (told.conclusion, told.comment, here.ours, here.checks()) == ("fail", "dry run", [], ())


def test_a_token_that_may_not_write_changes_no_verdict() -> None:
    with scene() as here:
        token = here.server.token(permissions={"actions": "read", "pull-requests": "read"}, repository=REPOSITORY)
        told = here.publish(here.run("softmax:wrong"), token=token)
        assert (told.conclusion, told.exit_code, told.comment, here.ours) == ("fail", 1, "refused", [])
        assert any("checks: write" in note for note in told.notes)
        assert any("pull-requests: write" in note for note in told.notes)
        assert told.remarks
        assert "softmax" in told.summary


def test_a_whole_publication_needs_few_requests() -> None:
    """Twelve and one for each shard, beside what follows redirects to the storage."""
    with scene() as here:
        here.publish(here.run("gelu:pass*4 softmax:wrong*2", shards=3))
        first = len(here.server.requests)
        assert first <= 12 + 3
        here.push()
        here.publish(here.run("gelu:pass*4 softmax:wrong*2", shards=3))
        assert len(here.server.requests) - first <= 12 + 3


def test_a_run_that_somebody_stopped_makes_no_comment_and_keeps_one_up_to_date() -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:pass*9", shards=2, but=[2], conclusion="cancelled"))
        assert (told.conclusion, told.comment, here.ours) == ("incomplete", "not_wanted", [])
        here.publish(here.run("softmax:wrong*9", shards=2))
        told = here.publish(here.run("softmax:wrong*9", shards=2, but=[1, 2], conclusion="cancelled"))
        assert (told.conclusion, told.comment) == ("incomplete", "updated")
        assert "cancelled" in here.body


@pytest.mark.parametrize(("conclusion", "said"), [("failure", "incomplete"), ("success", "pass")])
def test_a_job_lost_in_a_later_attempt_is_no_pass(conclusion: str, said: str) -> None:
    """Its shard of the first attempt is there, and nothing tells whether its job was run again."""
    with scene() as here:
        run = here.run("gelu:pass*8", shards=2, conclusion="failure")
        again = here.run("gelu:pass*8", shards=2, of=run, but=[1], conclusion=conclusion)
        told = here.publish(again)
        assert told.conclusion == said
        assert ("shard 1 is of an earlier one" in told.summary) == (said == "incomplete")


def test_what_references_disagree_on_is_told_by_the_check_alone() -> None:
    with scene() as here:
        told = here.publish(here.run("gelu:inconclusive*2"))
        assert (told.conclusion, told.exit_code, told.comment) == ("inconclusive", 4, "not_wanted")
        assert [check.conclusion for check in here.checks()] == ["neutral"]


def test_without_a_token_it_is_said_where_one_goes() -> None:
    with scene() as here, pytest.raises(UsageError, match="no token is there") as caught:
        publish(PublishRequest(run_id=here.run("gelu:pass").id), None, here.clock, here.world())
    assert "`token: ${{ github.token }}`" in (caught.value.next_step or "")
