"""A fork's pull request from push to comment: the workflows of `opsdebug init` in a real runner."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from act_runs import Act
from github_server.records import Check, Comment
from pull_request_story import NUMBER, PullRequest
from workflow_story import HOME, NEEDS_NPM, Run, repository

pytestmark = [pytest.mark.slow, NEEDS_NPM]

RIGHT = "    return x * 0.5\n"
WRONG = "    out = x * 0.5\n    out[x.shape[0] // 4 * 4 :] = 7.0\n    return out\n"
FIXED = "    return 0.5 * x\n"
BOT = "github-actions[bot]"
SHARDS = 3
REQUESTS = 12
"""What a report may ask of GitHub, but for one request a shard."""


def only_comment(told: PullRequest) -> Comment:
    (comment,) = told.home.server.comments_of(HOME, NUMBER)
    assert comment.author == BOT
    assert comment.body.startswith("<!-- opsdebug-ci:v1 id=default -->\n<!-- opsdebug-ci:state ")
    return comment


def only_check(told: PullRequest) -> Check:
    (check,) = told.home.server.checks_of(HOME, told.head)
    assert (check.name, check.status) == ("opsdebug smoke", "completed")
    return check


def visible(comment: Comment) -> str:
    return comment.body.split("\n\n", 1)[1]


def findings(comment: Comment) -> str:
    """All that is said, without the line that says by which attempt."""
    text, _, attempt = visible(comment).rstrip().rpartition("\n")
    assert attempt.startswith("<sub>[CI run](")
    return text


def written(told: PullRequest) -> int:
    """Requests so far by which a comment is changed."""
    return sum(len(told.home.server.asked(method, "/repos/*/*/issues/**")) for method in ("POST", "PATCH", "DELETE"))


def failed_cases(ran: Act) -> int:
    """As the jobs told them, each for itself."""
    told = [int(count) for count in re.findall(r"\*\*opsdebug: fail\*\* [^:]*: (\d+) of \d+ cases", ran.text)]
    assert len(set(told)) == SHARDS
    return sum(set(told))


def outputs(reported: Act, name: str) -> str:
    """Output of the step that told."""
    (value,) = {one["arg"] for one in reported.log if one.get("command") == "set-output" and one.get("name") == name}
    return str(value)


def a_planted_bug_is_told_once(told: PullRequest) -> Comment:
    told.push(RIGHT, WRONG)
    run = Run(id=5001, number=12)
    ran = told.smoke(run)
    assert ran.exit_code == 1, ran.text
    reported = told.report(run)
    assert reported.exit_code == 0, reported.text
    comment = only_comment(told)
    assert visible(comment).startswith("**opsdebug smoke: fail**")
    assert f"{failed_cases(ran)} of " in visible(comment)
    (failures,) = [line for line in visible(comment).splitlines() if line.startswith("#### Failures: 1 cause")]
    assert failures.endswith(f"{failed_cases(ran)} cases")
    assert "opsdebug replay" in visible(comment)
    assert outputs(reported, "conclusion") == "fail"
    assert outputs(reported, "comment-url").endswith(f"#issuecomment-{comment.id}")
    check = only_check(told)
    assert check.conclusion == "failure"
    assert outputs(reported, "check-url").endswith(f"/{check.id}")
    places = [(one["path"], one["start_line"], one["annotation_level"]) for one in check.annotations]
    assert places == [("operators.py", told.line_of("def halved") - 1, "failure")], "the line of its decorator"
    assert len(told.home.server.asked("GET", "/repos/*/*/actions/artifacts/*/zip")) == SHARDS
    assert len(told.home.server.requests) <= REQUESTS + SHARDS
    return comment


def its_fix_is_told_in_the_same_place(told: PullRequest, before: Comment) -> Comment:
    told.push(WRONG, FIXED)
    run = Run(id=5011, number=13)
    ran = told.smoke(run)
    assert ran.exit_code == 0, ran.text
    reported = told.report(run)
    assert reported.exit_code == 0, reported.text
    comment = only_comment(told)
    assert comment.id == before.id
    assert "fixed" in visible(comment).lower()
    check = only_check(told)
    assert (check.conclusion, check.annotations) == ("success", ())
    return comment


def a_job_that_is_run_again_changes_nothing(told: PullRequest, before: Comment) -> None:
    """But the line at the end, which names the attempt; and telling the same again sends nothing at all."""
    run = Run(id=5011, number=13, attempt=2)
    ran = told.smoke(run, "--matrix", f"shard:1/{SHARDS}")
    assert ran.exit_code == 0, ran.text
    assert told.report(run).exit_code == 0
    comment = only_comment(told)
    assert (comment.id, findings(comment)) == (before.id, findings(before))
    assert only_check(told).conclusion == "success"
    changes = written(told)
    assert told.report(run).exit_code == 0
    assert only_comment(told) == comment
    assert only_check(told).conclusion == "success"
    assert written(told) == changes


@pytest.mark.timeout(2400)
def test_a_forks_pull_request_from_push_to_comment(tmp_path: Path) -> None:
    """One story: test processes side by side share no fixture, and each step needs the one before."""
    with repository(tmp_path, shards=SHARDS) as home:
        told = PullRequest(home=home)
        first = a_planted_bug_is_told_once(told)
        second = its_fix_is_told_in_the_same_place(told, first)
        a_job_that_is_run_again_changes_nothing(told, second)
        refused = {(one.path, one.status) for one in home.server.requests if one.status >= 400}
        assert refused == {("/user", 403)}, "the token of a job is nobody's"
