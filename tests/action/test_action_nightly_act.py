"""From night to pull request to release: the other workflows of `opsdebug init` in a real runner."""

from __future__ import annotations

from pathlib import Path

import pytest
from act_runs import Act, git
from github_server.records import Check
from pull_request_story import NUMBER, OPERATORS, PullRequest, report
from workflow_story import HOME, NEEDS_NPM, Repository, Run, repository

pytestmark = [pytest.mark.slow, NEEDS_NPM]

NIGHTLY, RELEASE = "opsdebug-nightly.yml", "opsdebug-release.yml"
SHARDS = 2
RIGHT, WRONG = "    return x + x\n", "    return x + x + 1.0\n"
"""Of a failure whose cause is found: one without is known by its cases, and the full stage has others than smoke."""


def night(home: Repository, run: Run) -> Act:
    return home.run("schedule", {"schedule": "17 2 * * *"}, NIGHTLY, run)


def push(home: Repository, run: Run) -> Act:
    return home.run("push", {"ref": "refs/heads/main", "after": home.tip}, NIGHTLY, run)


def check(home: Repository, name: str, head: str) -> Check:
    """The only one of its name at a commit, which is closed."""
    (found,) = [one for one in home.server.checks_of(HOME, head) if one.name == name]
    assert found.status == "completed"
    return found


def runs(home: Repository) -> list[tuple[object, ...]]:
    """Stage, commit and how many shards are stored of it, oldest first."""
    rows = home.stored('select stage, "commit", count(*) as shards from runs group by all order by min(started_at)')
    return [tuple(row.values()) for row in rows]


def nobody_is_told(home: Repository) -> None:
    assert home.server.asked("POST", "/repos/*/*/issues/**") == ()


def the_first_night_makes_the_record(home: Repository) -> None:
    ran = night(home, Run(id=101, number=1))
    assert ran.exit_code == 0, ran.text
    assert (set(home.remote.pushes), home.remote.refused) == ({f"{NIGHTLY} 101"}, [])
    assert " cases" not in ran.messages("baseline")
    assert runs(home) == [("full", home.tip, SHARDS)]
    assert check(home, "opsdebug full", home.tip).conclusion == "success"
    nobody_is_told(home)


def what_breaks_on_the_default_branch_is_told_at_its_commit(home: Repository) -> None:
    first = runs(home)
    home.change(RIGHT, WRONG)
    ran = push(home, Run(id=111, number=2))
    assert ran.exit_code == 1, ran.text
    told = check(home, "opsdebug smoke", home.tip)
    assert told.conclusion == "failure"
    assert {(one["path"], one["annotation_level"]) for one in told.annotations} == {("operators.py", "failure")}
    assert "doubled" in (told.summary or "")
    assert runs(home) == [*first, ("smoke", home.tip, SHARDS)], "a red run is part of the record"
    failed = home.stored("select distinct operator from accuracy where verdict = 'fail'")
    assert failed == [{"operator": "doubled"}]
    nobody_is_told(home)


def since(home: Repository) -> str:
    """The commit that the default branch's failure is known since."""
    return git(home.clone, "rev-parse", "HEAD~1").strip()[:7]


def the_next_commits_are_not_blamed_for_it(home: Repository) -> None:
    before = runs(home)
    home.change("    return torch.div(x, 2)\n", "    return torch.mul(x, 0.5)\n")
    ran = night(home, Run(id=121, number=3))
    assert ran.exit_code == 0, ran.text
    told = check(home, "opsdebug full", home.tip)
    assert told.conclusion == "success"
    assert "1 cause known already" in (told.summary or "")
    assert runs(home) == [*before, ("full", home.tip, SHARDS)]


def a_pull_request_is_not_blamed_for_it(home: Repository) -> PullRequest:
    told = PullRequest(home=home)
    told.push("    return x * 0.5\n", "    return x * 0.5 + 1.0\n")
    told.push(WRONG, "    return (x + x) + 1.0\n")
    run = Run(id=131, number=12)
    ran = told.smoke(run)
    assert ran.exit_code == 1, ran.text
    assert told.report(run).exit_code == 0
    (comment,) = home.server.comments_of(HOME, NUMBER)
    new, _, known = comment.body.partition("1 cause known already, not of this change")
    assert "halved" in new
    assert "doubled" not in new
    assert "doubled" in known
    assert f"known since `{since(home)}`" in known
    assert check(home, "opsdebug smoke", told.head).conclusion == "failure"
    return told


def a_merge_group_gets_a_check_alone(told: PullRequest) -> None:
    home = told.home
    comments = home.server.comments_of(HOME, NUMBER)
    queue = f"gh-readonly-queue/main/pr-{NUMBER}-{told.base}"
    git(told.fork, "checkout", "--quiet", "-b", queue, "origin/main")
    git(told.fork, "merge", "--quiet", "--no-ff", "--message=group", told.head)
    head = git(told.fork, "rev-parse", "HEAD").strip()
    group = {
        "head_sha": head,
        "head_ref": f"refs/heads/{queue}",
        "base_sha": told.base,
        "base_ref": "refs/heads/main",
    }
    payload = {"action": "checks_requested", "merge_group": group}
    run = Run(id=141, number=13)
    ran = home.run("merge_group", payload, OPERATORS, run, at=told.fork, head_branch=queue)
    assert ran.exit_code == 1, ran.text
    reported = report(home, run, "merge_group", head, {"head_branch": queue, "head_repository": HOME})
    assert reported.exit_code == 0, reported.text
    assert check(home, "opsdebug smoke", head).conclusion == "failure"
    assert home.server.comments_of(HOME, NUMBER) == comments


def a_release_meets_every_recorded_failure_again(home: Repository) -> None:
    before, requests = runs(home), len(home.server.requests)
    ran = home.run("release", {"action": "published", "release": {"tag_name": "v1"}}, RELEASE, Run(id=151, number=1))
    assert ran.exit_code == 1, ran.text
    assert "doubled" in ran.text
    assert runs(home) == before
    assert len(home.server.requests) == requests, "neither check nor comment"
    home.change(WRONG, RIGHT)
    ran = home.run("release", {"action": "published", "release": {"tag_name": "v2"}}, RELEASE, Run(id=161, number=2))
    assert ran.exit_code == 0, ran.text


@pytest.mark.timeout(3600)
def test_from_night_to_pull_request_to_release(tmp_path: Path) -> None:
    """One story, since each step needs the one before."""
    with repository(tmp_path, shards=SHARDS, project="nights") as home:
        the_first_night_makes_the_record(home)
        what_breaks_on_the_default_branch_is_told_at_its_commit(home)
        the_next_commits_are_not_blamed_for_it(home)
        told = a_pull_request_is_not_blamed_for_it(home)
        a_merge_group_gets_a_check_alone(told)
        a_release_meets_every_recorded_failure_again(home)
        assert home.remote.refused == []
