"""A regression from its report to its acceptance, by the command line in the jobs that GitHub starts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from person_scene import Repository, repository, slower
from publication_scene import NUMBER, REPOSITORY
from shard_notation import cases, divided

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.bot.body import compose, decode_state


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Repository]:
    with repository(tmp_path, str(tmp_path / "baselines")) as found:
        yield found


def test_a_flagged_regression_is_accepted_by_a_maintainer(tmp_path: Path) -> None:
    """With a store on a branch, as the recipes have it."""
    forge = tmp_path / "forge.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--template=", str(forge)], check=True)
    with repository(tmp_path, f"branch:opsdebug-baselines@file://{forge}") as here:
        reported = here.report(here.run("softmax"))
        assert (reported.exit_code, reported.told.conclusion, reported.told.regressions) == (1, "regressed", 1)
        assert here.check.conclusion == "action_required"
        flagged = here.ours

        said = here.says("/opsdebug accept softmax until=30d known trade-off")
        done = here.answer(said)
        assert (done.exit_code, done.err) == (0, "")
        assert (done.told.conclusion, done.told.comment, done.told.regressions) == ("accepted", "updated", 0)
        (row,) = here.stored
        assert (row.operator, row.accepted_by, row.commit, row.reason, row.pull_request) == (
            "softmax",
            "ada",
            here.scene.head,
            "known trade-off",
            NUMBER,
        )
        assert row.until is not None and row.end is not None and timedelta(29) < row.end - row.at < timedelta(32)
        assert here.signs(said) == ["+1"]
        assert (here.check.status, here.check.conclusion) == ("completed", "neutral")
        assert "known trade-off" in (here.check.summary or "")
        assert here.ours.id == flagged.id
        assert "ada" in here.ours.body and "known trade-off" in here.ours.body

        before = (here.ours, here.check, here.stored)
        again = here.answer(said)
        assert (again.exit_code, again.told.conclusion, again.told.comment) == (0, "accepted", "unchanged")
        assert (here.ours, here.stored) == (before[0], before[2])
        assert (here.check.id, here.check.conclusion) == (before[1].id, "neutral")
        assert here.signs(said) == ["+1"]


def test_a_stranger_changes_nothing_and_is_not_answered(here: Repository) -> None:
    here.reported(here.run("softmax"))
    said = here.says("/opsdebug accept softmax looks fine to me", "eve", "triage")
    before, comments = here.written(), here.server.comments_of(REPOSITORY, NUMBER)
    done = here.answer(said)
    assert (done.exit_code, done.told.conclusion, done.told.comment) == (0, "", "none")
    assert "`eve` may not write" in done.err
    assert (here.written(), here.server.comments_of(REPOSITORY, NUMBER)) == (before, comments)
    assert (here.stored, here.signs(said), here.check.conclusion) == ((), [], "action_required")


def test_one_of_two_flagged_operators_is_not_enough(here: Repository) -> None:
    run = here.run("softmax", "gelu")
    here.reported(run)
    done = here.answered(here.says("/opsdebug accept softmax fine"))
    assert (done.exit_code, done.conclusion, done.regressions) == (1, "regressed", 1)
    assert here.check.conclusion == "action_required"
    assert "accepted by ada" in here.ours.body and "`/opsdebug accept gelu" in here.ours.body
    assert here.reported(run).comment == "unchanged"

    done = here.answered(here.says("/opsdebug accept gelu fine too", "bob"))
    assert (done.exit_code, done.conclusion) == (0, "accepted")
    assert here.check.conclusion == "neutral"
    assert "ada" in here.ours.body and "bob" in here.ours.body
    assert sorted((row.operator, row.accepted_by) for row in here.stored) == [("gelu", "bob"), ("softmax", "ada")]


def test_what_was_accepted_stays_so_until_somebody_pushes(here: Repository) -> None:
    run = here.run("softmax")
    here.reported(run)
    here.answered(here.says("/opsdebug accept softmax fine"))
    again = here.reported(run)  # the report job ran again
    assert (again.conclusion, again.exit_code, again.comment) == ("accepted", 0, "unchanged")
    again = here.reported(here.run("softmax", of=run))  # the jobs ran again, and their store told them of nothing
    assert (again.conclusion, again.exit_code, here.check.conclusion) == ("accepted", 0, "neutral")
    again = here.reported(here.run("softmax"))  # another run of the same commit
    assert (again.conclusion, again.exit_code, here.check.conclusion) == ("accepted", 0, "neutral")

    here.scene.push()
    pushed = here.reported(here.run("softmax"))
    assert (pushed.conclusion, pushed.exit_code, pushed.regressions) == ("regressed", 1, 1)
    assert here.check.conclusion == "action_required"
    assert "accepted by" not in here.ours.body


def test_an_acceptance_that_has_lapsed_flags_again(here: Repository) -> None:
    run = here.run("softmax")
    here.reported(run)
    done = here.answered(here.says("/opsdebug accept softmax until=30d for now"))
    assert done.conclusion == "accepted"
    assert here.reported(run, later=timedelta(days=29)).conclusion == "accepted"
    lapsed = here.reported(run, later=timedelta(days=32))
    assert (lapsed.conclusion, lapsed.exit_code, lapsed.comment) == ("regressed", 1, "updated")
    assert "accepted by" not in here.ours.body


@pytest.mark.parametrize("label", ["opsdebug-accept", pytest.param("opsdebug-accept: softmax", marks=pytest.mark.slow)])
def test_a_label_accepts_through_the_action(here: Repository, label: str) -> None:
    here.reported(here.run("softmax"))
    put = here.labels(label)
    done = here.answer(put, step=True)
    assert (done.exit_code, done.err) == (0, "")
    assert "\naccepted\n" in (here.place / "output").read_text(encoding="utf-8")
    assert "became slower, which ada accepted" in (here.place / "step_summary").read_text(encoding="utf-8")
    (row,) = here.stored
    assert (row.operator, row.accepted_by, row.until) == ("softmax", "ada", None)
    assert here.check.conclusion == "neutral"
    assert "ada" in here.ours.body


@pytest.mark.slow
def test_a_comment_through_the_action(here: Repository) -> None:
    here.reported(here.run("softmax"))
    said = here.says("/opsdebug accept softmax known trade-off")
    done = here.answer(said, step=True)
    assert (done.exit_code, done.err, here.signs(said)) == (0, "", ["+1"])
    assert here.check.conclusion == "neutral"
    assert here.scene.token not in done.out


@pytest.mark.slow
def test_a_label_of_somebody_who_may_only_sort_is_passed_over(here: Repository) -> None:
    here.reported(here.run("softmax"))
    done = here.answer(here.labels("opsdebug-accept", "eve", "triage"), step=True)
    assert done.exit_code == 0
    assert "`eve` may not write" in done.out
    assert (here.stored, here.check.conclusion) == ((), "action_required")


@pytest.mark.parametrize("body", ["thanks!", "> /opsdebug accept softmax"])
def test_other_comments_cost_no_write(here: Repository, body: str) -> None:
    here.reported(here.run("softmax"))
    said, before = here.says(body), here.written()
    done = here.answered(said)
    assert (done.exit_code, done.conclusion, here.written()) == (0, "", before)


def test_an_operator_that_fails_is_not_accepted_with_one_that_is_slower(here: Repository) -> None:
    run = here.run("softmax", text="gelu:wrong softmax:pass*2")
    assert here.reported(run).conclusion == "fail"
    done = here.answered(here.says("/opsdebug accept softmax fine"))
    assert (done.exit_code, done.conclusion, done.regressions) == (1, "fail", 0)
    assert here.check.conclusion == "failure"
    assert "accepted by ada" in here.ours.body


def test_a_comment_elsewhere_and_a_label_taken_off_tell_of_no_run(here: Repository) -> None:
    """The job has a run of its own, in which no operator ran: a check that says so would accuse the default branch."""
    here.reported(here.run("softmax"))
    said, before = here.says("/opsdebug accept softmax"), here.written()
    own = here.server.run(REPOSITORY, id=99, event="issue_comment", head_sha="f" * 40, head_branch="main")
    said["issue"] = {"number": NUMBER}
    off = {**here.labels("opsdebug-accept"), "action": "unlabeled"}
    for name, event in (("issue_comment", said), ("pull_request_target", off)):
        done = here.answered(event, name)
        assert (done.exit_code, done.conclusion, done.notes) == (0, "", ("nothing was told to the bot",))
    assert (here.written(), here.server.checks_of(REPOSITORY, own.head_sha)) == (before, ())


def test_an_acceptance_counts_at_no_other_commit_whatever_run_a_comment_claims(here: Repository) -> None:
    """Somebody made our comment name the run of another pull request, in which the same operator became slower."""
    here.server.pull_request(REPOSITORY, 8, head_sha="d" * 40, head_ref="other")
    other = here.server.run(REPOSITORY, id=4711, head_sha="d" * 40, run_number=9, head_branch="other")
    (shard,) = divided(cases("gelu:pass*2 softmax:pass*2"), 1)
    here.scene.upload(other, here.scene.claimed(slower(shard, "softmax"), other))
    here.reported(here.run("softmax"))
    state = decode_state(here.ours.body)
    assert state is not None
    forged = compose("default", replace(state, ci_run=other.id, run_number=9), "as before")
    here.server.state.comments[here.ours.id] = replace(here.ours, body=forged)
    here.answered(here.says("/opsdebug accept softmax fine"))
    (check,) = here.scene.checks("d" * 40)
    assert check.conclusion == "action_required"
    assert "accepted" not in (check.summary or "")


def test_a_label_says_nothing_to_a_job_that_ran_operators(here: Repository) -> None:
    """A pull request's own job tells of its run whatever label started it, and accepts nothing."""
    run = here.run("softmax")
    told = here.answered(here.labels("bug"), "pull_request", run_id=run.id)
    assert (told.exit_code, told.conclusion, here.check.conclusion) == (1, "regressed", "action_required")
    with pytest.raises(UsageError, match="an acceptance in a job of event `pull_request`"):
        here.answered(here.labels("opsdebug-accept"), "pull_request", run_id=run.id)
    assert here.stored == ()


def test_what_a_person_asks_is_not_tried_out(here: Repository) -> None:
    here.reported(here.run("softmax"))
    said, before = here.says("/opsdebug accept softmax"), here.written()
    with pytest.raises(UsageError, match="`--dry-run` in a job that a person's comment or label started"):
        here.answered(said, dry_run=True)
    assert (here.written(), here.stored) == (before, ())


def test_each_suite_is_told_again_with_as_many_shards_as_it_has(here: Repository) -> None:
    run = here.run("softmax")
    for shard in divided(cases("gelu:pass*2 fused:pass*2"), 2):
        here.scene.upload(run, here.scene.claimed(slower(replace(shard, suite="gpu"), "fused"), run))
    assert here.reported(run).regressions == 1
    assert here.reported(run, suite="gpu").regressions == 1
    done = here.answered(here.says("/opsdebug accept fused"), expected=1)
    assert (done.exit_code, done.notes) == (1, ())
    told = {check.name: check.conclusion for check in here.scene.checks()}
    assert told == {"opsdebug smoke": "action_required", "opsdebug smoke (gpu)": "neutral"}


def test_an_acceptance_after_the_artifacts_are_gone_keeps_what_was_said(here: Repository) -> None:
    here.reported(here.run("softmax"))
    comment, check = here.ours, here.check
    gone = {number: replace(one, expired=True) for number, one in here.server.state.artifacts.items()}
    here.server.state.artifacts.update(gone)
    told = here.answered(here.says("/opsdebug accept softmax"))
    assert (told.conclusion, told.exit_code, [row.operator for row in here.stored]) == ("", 0, ["softmax"])
    assert any("counts from the next run on" in note for note in told.notes)
    assert (here.ours, here.check) == (comment, check)
